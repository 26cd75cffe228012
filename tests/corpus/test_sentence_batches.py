import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.corpus.sentence_batches import count_batches, sentence_batches
from elmo_plugin.corpus.streams import LazyBlock
from elmo_plugin.corpus.word_table import WordTable

VOCABULARY = {word: index for index, word in enumerate(["<S>", "</S>", "<UNK>", "a", "b", "c"])}
BLOCK = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), min_size=1, max_size=9)


@given(blocks=st.lists(BLOCK, max_size=4), rows=st.integers(1, 5), seed=st.sampled_from([None, 0, 1]))
def test_each_sentence_is_one_row(blocks, rows, seed):
    table = WordTable(VOCABULARY)
    batches = list(sentence_batches((list(LazyBlock(block, table).sentences()) for block in blocks), rows, seed))
    words = list(table._rows)
    sentences = [sentence for block in blocks for sentence in block]
    found = {}
    for batch in batches:
        assert batch.forward_targets.shape[0] == rows
        for row in range(rows):
            (numbers,) = {tuple(np.unique(batch.sentences[row][batch.sentences[row] >= 0]).tolist())}
            if numbers:
                length = len(sentences[numbers[0]]) + 1
                assert (batch.sentences[row] >= 0).tolist() == [i < length for i in range(batch.sentences.shape[1])]
                found[numbers[0]] = [
                    [words[i] for i in part[row, :length]]
                    for part in (batch.forward_inputs, batch.forward_targets, batch.backward_inputs)
                ]

    assert len(batches) == count_batches(iter(len(block) for block in blocks), rows)
    assert found == {
        number: [["<S>", *sentence], [*sentence, "</S>"], ["</S>", *sentence[::-1]]]
        for number, sentence in enumerate(sentences)
    }


def test_rows_of_a_batch_are_of_about_equal_length():
    table = WordTable(VOCABULARY)
    block = list(LazyBlock([["a"] * length for length in (5, 1, 3, 1, 4, 5, 2)], table).sentences())
    lengths = [(batch.forward_targets >= 0).sum(1).tolist() for batch in sentence_batches(iter([block]), 3)]

    assert lengths == [[2, 2, 3], [4, 5, 6], [6, 0, 0]]
