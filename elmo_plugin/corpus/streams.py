"""
Continuous batching as in bilm-tf: every row of the batch is an endless stream of sentences, cut every `steps` tokens.

A sentence `w1 .. wn` gives `n + 1` tokens in each direction: forward reads `<S> w1 .. wn` and predicts `w1 .. wn </S>`;
backward reads `</S> wn .. w1` and predicts `wn .. w1 <S>`. Both directions hold the same sentences at the same places.
"""

from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import torch

from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.engine.words import BEGIN_SENTENCE_WORD, END_SENTENCE_WORD

IGNORED = -100
"""Target of a place that holds no token."""

Segment = Tuple[int, int, int, int, int]
"""`(row, column, count, sentence, offset)`: `count` tokens of a sentence, from its `offset` on, go to this place."""


def schedule(lengths: Iterable[int], rows: int, steps: int) -> Iterator[List[Segment]]:
    """
    Decide where the tokens of sentences go: yields the segments of each batch until every token has its place.

    Each row takes the next sentence when its last one is used up. Once no sentence is left the rows run dry one by
    one, and the last batches are not full.

    # Parameters

    lengths : tokens of each sentence (words + 1), read lazily.
    """
    sentences = enumerate(lengths)
    current = [(0, 0, 0)] * rows  # sentence, offset, tokens left
    while True:
        batch: List[Segment] = []
        for row in range(rows):
            sentence, offset, left = current[row]
            column = 0
            while column < steps:
                if not left:
                    following = next(sentences, None)
                    if following is None:
                        break
                    sentence, left = following
                    offset = 0
                count = min(left, steps - column)
                batch.append((row, column, count, sentence, offset))
                column += count
                offset += count
                left -= count
            current[row] = (sentence, offset, left)
        if not batch:
            return
        yield batch


class StreamBatch(NamedTuple):
    """
    Rows of the word table, `(rows, steps)`; targets are `-1` where there is no token.

    `sentences` `(rows, steps)` numbers the sentences in the order in which they came, for the same places.
    """

    forward_inputs: np.ndarray
    forward_targets: np.ndarray
    backward_inputs: np.ndarray
    backward_targets: np.ndarray
    sentences: np.ndarray

    @classmethod
    def empty(cls, rows: int, steps: int) -> "StreamBatch":
        """Make a batch without a token."""
        inputs = [np.full((rows, steps), WordTable.END_ROW, np.int32) for _ in range(2)]
        targets = [np.full((rows, steps), -1, np.int32) for _ in range(2)]
        return cls(inputs[0], targets[0], inputs[1], targets[1], np.full((rows, steps), -1, np.int64))

    def put(self, row: int, column: int, number: int, sentence: np.ndarray, offset: int, count: int) -> None:
        """Write `count` tokens of a sentence, from its `offset` on, both directions, to a place of the batch."""
        place = slice(column, column + count)
        for words, inputs, targets in (
            (sentence, self.forward_inputs, self.forward_targets),
            (sentence[::-1], self.backward_inputs, self.backward_targets),
        ):
            inputs[row, place] = words[offset : offset + count]
            targets[row, place] = words[offset + 1 : offset + count + 1]
        self.sentences[row, place] = number

    def cut(self, steps: int) -> "StreamBatch":
        """Leave out the columns behind the first `steps`."""
        return StreamBatch(*(part[:, :steps] for part in self))


class LazyBlock:
    """
    The sentences of a block, turned into rows of the word table when the first of them is needed, and again when the
    table has forgotten its words.

    # Parameters

    block : lists of words.
    table : gives the rows.
    """

    def __init__(self, block: List[List[str]], table: WordTable) -> None:
        self._block = block
        self._table = table
        self._encoded: List[np.ndarray] = []
        self._generation: Optional[int] = None

    def sentences(self) -> Iterator["LazySentence"]:
        """Each sentence, in order."""
        return (LazySentence(self, place, len(words) + 1) for place, words in enumerate(self._block))

    def __getitem__(self, index: int) -> np.ndarray:
        if self._generation != self._table.generation:
            self._encoded = encode_block(self._block, self._table)
            self._generation = self._table.generation
        return self._encoded[index]

    def begin_batch(self) -> None:
        """Let the table forget its words if it is full. The rows of earlier batches are of no use any more."""
        self._table.forget_if_full()


class LazySentence(NamedTuple):
    """One sentence of a block, of which only the number of tokens is known yet: words + 1."""

    block: LazyBlock
    place: int
    tokens: int


def stream_batches(
    sentences: Iterable[LazySentence], rows: int, steps: int, is_skipped: Optional[Callable[[], bool]] = None
) -> Iterator[Optional[StreamBatch]]:
    """
    Fill batches with sentences. The rows of a batch are good until the next one is asked for.

    # Parameters

    is_skipped : asked before each batch: whether nobody will look at it. It is None then, which is much faster.
    """
    active: Dict[int, LazySentence] = {}

    def lengths() -> Iterator[int]:
        for number, sentence in enumerate(sentences):
            active[number] = sentence
            yield sentence.tokens

    for segments in schedule(lengths(), rows, steps):
        batch = None
        if is_skipped is None or not is_skipped():
            active[segments[0][3]].block.begin_batch()
            batch = StreamBatch.empty(rows, steps)
            for row, column, count, number, offset in segments:
                batch.put(row, column, number, active[number].block[active[number].place], offset, count)
            batch = batch.cut(max(column + count for _, column, count, _, _ in segments))
        for _, _, count, number, offset in segments:
            if offset + count == active[number].tokens:
                del active[number]
        yield batch


def to_tensors(batch: StreamBatch, table: WordTable) -> Dict[str, torch.Tensor]:
    """
    Turn a batch into the inputs of the language model.

    # Returns

    `words` : inputs of the distinct words of the batch, `(distinct, characters)` or `(distinct,)`.
    `forward_inputs`, `backward_inputs` : `(rows, steps)` indices into `words`.
    `forward_targets`, `backward_targets` : `(rows, steps)` indices into the vocabulary, `IGNORED` where no token is.
    """
    both = np.stack([batch.forward_inputs, batch.backward_inputs])
    distinct, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    # In the order of the text, so that a batch does not depend on the words that the table knows from others.
    order = np.argsort(first)
    distinct, inverse = distinct[order], np.argsort(order)[inverse]
    places = torch.from_numpy(inverse.reshape(both.shape))
    tensors = {"words": torch.from_numpy(table.inputs(distinct))}
    for index, name in enumerate(("forward", "backward")):
        rows = batch.forward_targets if index == 0 else batch.backward_targets
        targets = np.where(rows < 0, IGNORED, table.targets(rows))
        tensors[name + "_inputs"] = places[index]
        tensors[name + "_targets"] = torch.from_numpy(targets)
    return tensors


def encode_block(block: List[List[str]], table: WordTable) -> List[np.ndarray]:
    """Rows of the word table of every sentence, with both boundaries."""
    flat = [word for words in block for word in (BEGIN_SENTENCE_WORD, *words, END_SENTENCE_WORD)]
    rows = table.rows(flat)
    ends = np.cumsum([len(words) + 2 for words in block])
    return np.split(rows, ends[:-1]) if block else []
