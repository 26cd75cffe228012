from unittest import mock

import pytest
from torch import distributed

pytest.importorskip("allennlp")

from allennlp.data import DatasetReader  # noqa: E402

from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: E402


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("a b\n\nc\nd e f\n")
    return tmp_path / "text"


def test_reads_sentences(text):
    reader = DatasetReader.by_name("elmo_corpus")()

    assert [instance["words"].metadata for instance in reader.read(text)] == [["a", "b"], ["c"], ["d", "e", "f"]]


def test_cut(text):
    assert ElmoCorpusReader(max_sentences=2).corpus(text).counts().tokens == 3


def test_each_process_reads_its_share_once(text, tmp_path):
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        sentences = []
        for rank in range(2):
            with mock.patch.multiple(distributed, get_rank=lambda rank=rank: rank, get_world_size=lambda: 2):
                sentences.append([instance["words"].metadata for instance in ElmoCorpusReader().read(text)])
    finally:
        distributed.destroy_process_group()

    assert sentences == [[["a", "b"], ["d", "e", "f"]], [["c"]]]


def test_word_table_follows_the_parameters():
    vocabulary = {"<S>": 0, "</S>": 1, "<UNK>": 2}

    assert ElmoCorpusReader(max_characters_per_token=7).word_table(vocabulary).inputs([0]).shape == (1, 7)
    assert ElmoCorpusReader(word_level=True).word_table(vocabulary).inputs([0, 1]).tolist() == [1, 2]
