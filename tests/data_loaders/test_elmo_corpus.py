import gzip
import re
import tracemalloc
from unittest import mock

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data.dataset_readers import SequenceTaggingDatasetReader  # noqa: E402

from elmo_plugin.corpus.vocabulary import write_vocabulary  # noqa: E402
from elmo_plugin.data_loaders import elmo_corpus  # noqa: E402
from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader  # noqa: E402
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: E402
from elmo_plugin.engine.errors import FormatError  # noqa: E402
from elmo_plugin.vocabularies.elmo_corpus import ElmoCorpusVocabulary  # noqa: E402

TEXT = [[f"w{i}"] * (1 + i % 4) for i in range(23)]
N_TOKENS = sum(len(words) + 1 for words in TEXT)
SENTENCES = {"batching": "sentences", "unroll_steps": None, "batch_size": 2}


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        part = TEXT[:9] if name == "a" else TEXT[9:]
        (tmp_path / name).write_text("".join(" ".join(words) + "\n" for words in part))
    return tmp_path


def make(folder, **parameters):
    loader = ElmoCorpusLoader(ElmoCorpusReader(), str(folder), **{"batch_size": 3, "unroll_steps": 4, **parameters})
    loader.index_with(ElmoCorpusVocabulary.from_corpus(corpus=str(folder)))
    return loader


def targets(batches):
    return [t for batch in batches for t in batch["forward_targets"].flatten().tolist() if t >= 0]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 4), (50, 20)])
def test_length_is_known_and_no_token_is_lost(folder, shuffle, sizes):
    loader = make(folder, shuffle=shuffle, batch_size=sizes[0], unroll_steps=sizes[1])
    for _ in range(3):
        expected = len(loader)
        batches = list(loader)
        assert len(batches) == expected
        assert len(targets(batches)) == N_TOKENS


def test_five_sentences_end(tmp_path):
    """Training on little text ends: epochs are counted from the text, not typed by hand."""
    (tmp_path / "text").write_text("a b\n" * 5)
    loader = make(tmp_path, batch_size=128, unroll_steps=20)

    assert len(loader) == len(list(loader)) == 1


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
def test_text_is_read_as_it_is_needed(tmp_path, parameters):
    """A text as large as one likes is trained on: its words are in memory a block at a time."""
    (tmp_path / "text").write_text(("a b c d e f g h i j " * 2 + "\n") * 3000)
    vocabulary = ElmoCorpusVocabulary.from_corpus(corpus=str(tmp_path / "text"))
    peaks = []
    for block_sentences in (20, 3000):
        reader = ElmoCorpusReader(block_sentences=block_sentences)
        tracemalloc.start()
        loader = ElmoCorpusLoader(reader, str(tmp_path / "text"), **{**parameters, "batch_size": 64})
        loader.index_with(vocabulary)
        assert sum(int((batch["forward_targets"] >= 0).sum()) for batch in loader) == 63_000
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[0] < peaks[1] / 3


def test_three_sentences_are_scored(tmp_path):
    """The last, partial batch is there."""
    (tmp_path / "text").write_text("a b c\nd e\nf\n")
    (batch,) = make(tmp_path, batch_size=256, unroll_steps=20, shuffle=False)

    assert int((batch["forward_targets"] >= 0).sum()) == int((batch["backward_targets"] >= 0).sum()) == 9


def test_epochs_are_shuffled_anew_and_by_seed(folder):
    loader, same, other = make(folder, seed=1), make(folder, seed=1), make(folder, seed=5)
    first, second = targets(loader), targets(loader)

    assert first != second
    assert sorted(first) == sorted(second)
    assert targets(same) == first
    assert targets(other) != first


def test_without_shuffling_every_epoch_is_the_text(folder):
    loader = make(folder, shuffle=False, batch_size=1)
    first = targets(loader)

    assert first == targets(loader)
    index = ElmoCorpusVocabulary.from_corpus(corpus=str(folder)).get_token_to_index_vocabulary("elmo_lm")
    assert first == [index[word] for words in TEXT for word in words + ["</S>"]]


def test_batches_per_epoch_go_on_where_the_last_epoch_stopped(folder):
    whole = make(folder, batches_per_epoch=100)
    pieces = make(folder, batches_per_epoch=10)

    assert len(pieces) == 10
    assert targets(batch for _ in range(10) for batch in pieces) == targets(whole)
    assert len(targets(whole)) == 100 * 12, "streams that run on are always full"


def test_workers_read_disjoint_text(folder, monkeypatch):
    from elmo_plugin.dataset_readers import elmo_corpus as reader

    seen = []
    monkeypatch.setattr(reader, "is_distributed", lambda: True)
    monkeypatch.setattr(reader.distributed, "get_world_size", lambda: 2)
    for rank in range(2):
        monkeypatch.setattr(reader.distributed, "get_rank", lambda rank=rank: rank)
        seen.append(targets(make(folder)))

    assert len(seen[0]) + len(seen[1]) == N_TOKENS
    assert min(map(len, seen)) > 0


def test_whole_sentences_of_about_equal_length(folder):
    loader = make(folder, batching="sentences", unroll_steps=None, batch_size=4)
    for _ in range(2):
        expected = len(loader)
        batches = list(loader)
        assert len(batches) == expected
        assert len(targets(batches)) == N_TOKENS
        assert all(batch["forward_targets"].shape[0] == 4 for batch in batches), "a state has as many rows each time"
        lengths = [(batch["forward_targets"] >= 0).sum(1) for batch in batches]
    assert sum(int((row > 0).sum()) for row in lengths) == len(TEXT)
    assert sum(int(row.max() - row[row > 0].min()) for row in lengths) <= 2 * 3, "per file, lengths rise by one in all"

    unshuffled = [int(batch["forward_targets"].shape[1]) for batch in make(folder, **SENTENCES, shuffle=False)]
    shuffled = [int(batch["forward_targets"].shape[1]) for batch in make(folder, **SENTENCES, seed=3)]
    assert sorted(shuffled) == sorted(unshuffled) != shuffled


def test_sentences_go_on_where_the_last_epoch_stopped(folder):
    whole = make(folder, **SENTENCES, batches_per_epoch=30)
    pieces = make(folder, **SENTENCES, batches_per_epoch=10)

    assert targets(batch for _ in range(3) for batch in pieces) == targets(whole)


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
def test_empty_shards_are_skipped_with_a_warning(folder, caplog, parameters):
    (folder / "aa").write_text("")
    (folder / "ab.gz").write_bytes(gzip.compress(b"\n \n"))
    for batches_per_epoch in (None, 40):
        loader = make(folder, **parameters, batches_per_epoch=batches_per_epoch)
        caplog.clear()
        assert len(targets(loader)) >= N_TOKENS
        assert sorted(re.findall(r"(\S+) holds no sentence; skipped", caplog.text)) == [
            str(folder / "aa"),
            str(folder / "ab.gz"),
        ]


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
def test_text_without_a_sentence_is_refused(tmp_path, parameters):
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "text").write_text("a b c\n")
    vocabulary = ElmoCorpusVocabulary.from_corpus(corpus=str(tmp_path / "text"))
    for batches_per_epoch in (None, 3):
        loader = ElmoCorpusLoader(
            ElmoCorpusReader(), str(tmp_path / "empty"), **parameters, batches_per_epoch=batches_per_epoch
        )
        loader.index_with(vocabulary)
        with pytest.raises(FormatError, match="empty.*all 1 files are empty"):
            len(loader), next(iter(loader))


@pytest.mark.parametrize("batch_size", [100, 3])
def test_a_vocabulary_in_another_order_is_noticed(tmp_path, caplog, batch_size):
    """The log-uniform sampler would hardly ever draw the frequent words. Small batches are looked at together."""
    numbers = torch.randint(0, 2000, (500, 10), generator=torch.Generator().manual_seed(0)).double()
    numbers = (2001 ** (numbers / 2000)).long()  # Zipf's law
    (tmp_path / "text").write_text("".join(" ".join(f"w{i}" for i in line) + "\n" for line in numbers.tolist()))
    words = ["<S>", "</S>", "<UNK>"] + [f"w{i}" for i in range(2001)]
    for order, is_warned in ((words, False), (words[:3] + words[:2:-1], True)):
        write_vocabulary(order, tmp_path / "vocabulary")
        caplog.clear()
        loader = ElmoCorpusLoader(ElmoCorpusReader(), str(tmp_path / "text"), batch_size=batch_size, unroll_steps=20)
        loader.index_with(ElmoCorpusVocabulary.from_corpus(file=str(tmp_path / "vocabulary")))
        list(loader)
        assert caplog.text.count("sorted by falling frequency") == is_warned


def test_all_processes_have_as_many_batches(folder, monkeypatch):
    """Those whose text ends first go on without tokens, so that none of the others' is left out."""
    monkeypatch.setattr(elmo_corpus, "is_distributed", lambda: True)
    monkeypatch.setattr(elmo_corpus, "distributed", mock.Mock())
    calls, batches = [], []
    elmo_corpus.distributed.all_reduce = lambda tensor, operation: calls.append(len(batches)) or tensor.add_(2)
    loader = make(folder)
    for batch in loader:
        batches.append(batch)

    assert len(loader) == len(batches)
    assert len(targets(batches)) == N_TOKENS
    assert [int((batch["forward_targets"] >= 0).sum()) for batch in batches[-2:]] == [0, 0]
    assert len(batches[-1]["words"]) == 1
    assert calls == [0, 0], "later, one process would be in the middle of something else"


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
@pytest.mark.parametrize("batches_per_epoch", [None, 6])
def test_skipped_batches_are_empty_and_the_others_the_same(folder, parameters, batches_per_epoch):
    parameters = {**parameters, "batches_per_epoch": batches_per_epoch}
    whole, loader, seen = make(folder, **parameters), make(folder, **parameters), []
    expected = [batch for _ in range(2) for batch in whole]
    loader.skip_while(lambda: len(seen) < 7)
    for _ in range(2):
        for batch in loader:
            seen.append(batch)

    assert seen[:7] == [{}] * 7 and len(seen) == len(expected) > 9
    for one, two in zip(seen[7:], expected[7:]):
        assert all(one[name].equal(two[name]) for name in two)


def test_device(folder):
    loader = make(folder)
    loader.set_target_device(torch.device("meta"))

    assert next(iter(loader))["words"].device.type == "meta"


def test_mistakes_are_named(folder):
    with pytest.raises(ConfigurationError, match="SequenceTaggingDatasetReader, expected 'elmo_corpus'"):
        ElmoCorpusLoader(SequenceTaggingDatasetReader(), str(folder))
    with pytest.raises(ConfigurationError, match="unroll_steps is 0"):
        make(folder, unroll_steps=0)
    with pytest.raises(ConfigurationError, match="batching is 'words'; choose one of"):
        make(folder, batching="words")
    with pytest.raises(ConfigurationError, match="unroll_steps is 4, but whole sentences are not cut"):
        make(folder, batching="sentences")
    with pytest.raises(ConfigurationError, match="batches_per_epoch is 0"):
        make(folder, batches_per_epoch=0)
    with pytest.raises(ValueError, match="index_with"):
        next(iter(ElmoCorpusLoader(ElmoCorpusReader(), str(folder))))
    with pytest.raises(FileNotFoundError, match="missing-"):
        make(folder / "missing-*")


def test_instances_are_sentences(folder):
    assert [instance["words"].metadata for instance in make(folder).iter_instances()] == TEXT


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
def test_batches_are_counted_once_an_epoch(folder, parameters):
    """Progress asks for the length again and again, and to count goes through all sentences."""
    loader = make(folder, **parameters)
    for _ in range(2):
        with mock.patch.object(loader._corpus, "lengths", wraps=loader._corpus.lengths) as lengths:
            assert len(loader) == len(loader)
            list(loader)
        assert lengths.call_count == 1


@pytest.mark.parametrize("batches_per_epoch", [None, 2])
def test_a_process_without_a_sentence(tmp_path, monkeypatch, batches_per_epoch):
    """A held-out text of one sentence is scored by two processes; streams that never end cannot be made of none."""
    from elmo_plugin.dataset_readers import elmo_corpus as reader

    (tmp_path / "text").write_text("a b c\n")
    for module in (elmo_corpus, reader):
        monkeypatch.setattr(module, "is_distributed", lambda: True)
        monkeypatch.setattr(module, "distributed", mock.Mock())
    elmo_corpus.distributed.all_reduce = lambda tensor, operation: tensor.clamp_(min=1)
    reader.distributed.get_world_size.return_value = 2
    reader.distributed.get_rank.return_value = 1
    loader = make(tmp_path, batches_per_epoch=batches_per_epoch)
    if batches_per_epoch is None:
        assert len(loader) == 1 and [int((batch["forward_targets"] >= 0).sum()) for batch in loader] == [0]
    else:
        with pytest.raises(FormatError, match="no sentence for process 2 of 2.*Use fewer processes"):
            list(loader)


@pytest.mark.parametrize("parameters", [{}, SENTENCES])
def test_epochs_that_nobody_looks_at_are_not_read(folder, parameters):
    """A training that goes on in its tenth epoch does not read nine epochs of text first."""
    whole, loader = make(folder, **parameters), make(folder, **parameters)
    expected = [list(whole) for _ in range(3)]
    seen = []
    loader.skip_while(lambda: False, epochs=2)
    for number in range(3):
        with mock.patch.object(loader._corpus, "blocks", wraps=loader._corpus.blocks) as blocks:
            seen.append(list(loader))
        assert blocks.call_count == (number == 2)

    assert seen[:2] == [[{}] * len(batches) for batches in expected[:2]]
    for one, two in zip(seen[2], expected[2]):
        assert all(one[name].equal(two[name]) for name in two)
