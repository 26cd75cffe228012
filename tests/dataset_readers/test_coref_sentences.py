"""Documents with sentences, speakers and genres, and windows of long ones."""

import pytest

pytest.importorskip("allennlp_models.coref")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tests import task_data


def reader(**parameters):
    return DatasetReader.from_params(Params({"type": "coref_sentences", "max_span_width": 3, **parameters}))


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_what_a_document_says_beside_allennlp_s_reader(tmp_path):
    path = write(tmp_path, "a.gold_conll", task_data.conll("nw/wsj/24/wsj_2415"))
    (instance,) = reader().read(path)
    (theirs,) = DatasetReader.from_params(Params({"type": "coref", "max_span_width": 3})).read(path)

    about = instance["metadata"].metadata
    assert about["sentence_lengths"] == [5, 4]
    assert about["speakers"] == [0] * 5 + [1] * 4
    assert instance["genre"].label == "nw"
    assert [str(field) for field in instance["spans"]] == [str(field) for field in theirs["spans"]]
    assert instance["span_labels"].labels == theirs["span_labels"].labels


def test_a_pattern_names_several_files(tmp_path):
    for part in ("train_00", "train_01", "dev_00"):
        write(tmp_path, f"{part}.gold_conll", task_data.conll(f"GUM_{part}_x"))

    found = list(reader(genre_pattern="^GUM_([a-z]+)_").read(str(tmp_path / "train_*.gold_conll")))

    assert [instance["genre"].label for instance in found] == ["train", "train"]


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing_"):
        list(reader().read(str(tmp_path / "nothing_*.gold_conll")))


def test_a_long_document_gives_a_window_with_mentions_where_they_are(tmp_path):
    path = write(tmp_path, "a.gold_conll", task_data.conll("nw/a", task_data.SENTENCES * 10))
    starts = set()
    for _ in range(20):
        (instance,) = reader(max_sentences=2).read(path)
        about = instance["metadata"].metadata
        words = about["original_text"]
        starts.add(words[0])
        assert about["sentence_lengths"] in ([5, 4], [4, 5])
        assert len(about["speakers"]) == len(words) == 9
        mentions = {words[first : last + 1][-1] for cluster in about["clusters"] for first, last in cluster}
        assert mentions == {"cat", "It", "Bonn", "it"}
    assert starts == {"The", "It"}


def test_text_alone_is_enough_for_a_prediction():
    instance = reader().text_to_instance([["A", "cat"], [], ["It", "sat"]])

    assert instance["metadata"].metadata["sentence_lengths"] == [2, 2]
    assert instance["metadata"].metadata["speakers"] == [0] * 4
    assert "genre" not in instance.fields


def test_speakers_must_be_those_of_the_words():
    with pytest.raises(ConfigurationError, match="1 speakers for 2 words"):
        reader().text_to_instance([["A", "cat"]], speakers=["A"])
