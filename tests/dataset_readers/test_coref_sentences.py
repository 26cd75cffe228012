"""Documents with sentences, speakers and genres, and windows of long ones."""

import pytest

pytest.importorskip("allennlp_models.coref")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader

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
    assert about["genre"] == "nw"
    assert [str(field) for field in instance["spans"]] == [str(field) for field in theirs["spans"]]
    assert instance["span_labels"].labels == theirs["span_labels"].labels


def test_a_pattern_names_several_files(tmp_path):
    for part in ("train_00", "train_01", "dev_00"):
        write(tmp_path, f"{part}.gold_conll", task_data.conll(f"GUM_{part}_x"))

    found = list(reader(genre_pattern="^GUM_([a-z]+)_").read(str(tmp_path / "train_*.gold_conll")))

    assert [instance["metadata"]["genre"] for instance in found] == ["train", "train"]


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


def test_the_vocabulary_has_the_words_of_whole_documents_and_their_genres(tmp_path):
    """Later epochs have other windows: what the first one leaves out would stay unknown, though it has a vector."""
    others = ("NNP", "(TOP(NP*)", "-", "*", "-")
    sentences = [[(f"word{number}", *others), ("/.", ".", "*)", "-", "*", "-")] for number in range(30)]
    path = write(tmp_path, "a.gold_conll", task_data.conll("nw/a", sentences) + task_data.conll("bc/b"))
    whole = Vocabulary.from_instances(reader().read(path))

    cut = Vocabulary.from_instances(reader(max_sentences=2).read(path))

    tokens, genres = (cut.get_token_to_index_vocabulary(name) for name in ("tokens", "genre_tags"))
    assert tokens.keys() == whole.get_token_to_index_vocabulary("tokens").keys()
    assert {f"word{number}" for number in range(30)} < tokens.keys()
    assert set(genres) == {"nw", "bc"}


def test_a_copy_of_an_instance_shares_the_indexers(tmp_path):
    """They may hold a table of words; AllenNLP's interpreters copy an instance for each cluster."""
    path = write(tmp_path, "a.gold_conll", task_data.conll("nw/a", task_data.SENTENCES * 2))
    (instance,) = reader(max_sentences=1).read(path)
    field, copy = instance["metadata"], instance.duplicate()["metadata"]

    assert copy.metadata == field.metadata and copy.metadata is not field.metadata
    assert copy.left_out == field.left_out != []
    assert copy._token_indexers is field._token_indexers


def test_each_epoch_has_a_window_of_its_own(tmp_path):
    """As the experiments load documents: read anew, where no more are kept in memory than there are."""
    path = write(tmp_path, "a.gold_conll", task_data.conll("nw/a", task_data.SENTENCES * 10))
    loader = MultiProcessDataLoader(reader(max_sentences=1), path, batch_size=1, max_instances_in_memory=1)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))

    first = [batch["metadata"][0]["original_text"][0] for _ in range(20) for batch in loader]

    assert len(first) == 20 and set(first) == {"The", "It"}


def test_text_alone_is_enough_for_a_prediction():
    instance = reader().text_to_instance([["A", "cat"], [], ["It", "sat"]])

    assert instance["metadata"].metadata["sentence_lengths"] == [2, 2]
    assert instance["metadata"].metadata["speakers"] == [0] * 4
    assert instance["metadata"]["genre"] is None


def test_speakers_must_be_those_of_the_words():
    with pytest.raises(ConfigurationError, match="1 speakers for 2 words"):
        reader().text_to_instance([["A", "cat"]], speakers=["A"])


def test_a_file_that_ends_within_a_sentence_is_refused(tmp_path):
    """AllenNLP's parser would leave the sentence out."""
    lines = task_data.conll("nw/a").splitlines(keepends=True)
    assert lines[-2:] == ["\n", "#end document\n"]
    path = write(tmp_path, "a.gold_conll", "".join(lines[:-2]))

    with pytest.raises(ConfigurationError, match=r"a.gold_conll: the last line is 'nw/a .*', expected an empty one"):
        list(reader().read(path))


@pytest.mark.parametrize("left_out", [["\n"], ["#end document\n"]])
def test_a_sentence_ends_with_an_empty_line_or_the_document(tmp_path, left_out):
    lines = task_data.conll("nw/a").splitlines(keepends=True)
    path = write(tmp_path, "a.gold_conll", "".join(lines[:-2] + [line for line in lines[-2:] if line not in left_out]))

    (instance,) = reader().read(path)

    assert instance["metadata"].metadata["sentence_lengths"] == [5, 4]


def test_another_encoding_is_named(tmp_path):
    (tmp_path / "a.gold_conll").write_bytes(task_data.conll("nw/a").replace("cat", "c\xe4t").encode("latin-1"))

    with pytest.raises(ConfigurationError, match="a.gold_conll: .* expected text in UTF-8"):
        list(reader().read(str(tmp_path / "a.gold_conll")))


@pytest.mark.parametrize(
    "right,wrong,named",
    [
        ("saw   VBD", "VBD", "the sentence that begins with the line 'nw/a   0   0   The"),
        ("(VP*   see   01   -   A   *   (V*)   -", "(VP*", "the line 'nw/a   0   2   saw   VBD   \\(VP\\*'"),
        ("0)", "cat)", "the sentence that begins with the line 'nw/a   0   0   The"),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path, right, wrong, named):
    text = task_data.conll("nw/a")
    assert right in text
    path = write(tmp_path, "a.gold_conll", text.replace(right, wrong, 1))

    with pytest.raises(ConfigurationError, match=rf"a.gold_conll: .* in {named}"):
        list(reader().read(path))


def test_a_mention_that_does_not_end_is_named(tmp_path):
    """AllenNLP's parser would leave it out."""
    text = task_data.conll("nw/a")
    assert "(0" in text and "0)" in text
    path = write(tmp_path, "a.gold_conll", text.replace("0)", "-", 1))

    with pytest.raises(ConfigurationError, match=r"a.gold_conll: \d mentions begin and \d end in the sentence that"):
        list(reader().read(path))


def test_documents_that_run_into_one_another_are_refused(tmp_path):
    """AllenNLP's parser would take entities of the same number for one."""
    first, second = task_data.conll("nw/a"), task_data.conll("nw/b")
    path = write(tmp_path, "a.gold_conll", first.replace("#end document\n", "") + second)

    with pytest.raises(ConfigurationError, match="a.gold_conll: 2 documents without .* nw/a, part .*; nw/b, part"):
        list(reader().read(path))


def test_a_file_without_a_document_is_named(tmp_path):
    """One among several, as a full disk leaves it."""
    write(tmp_path, "a.gold_conll", task_data.conll("nw/a"))
    write(tmp_path, "b.gold_conll", "")

    with pytest.raises(ConfigurationError, match="b.gold_conll: no document, expected at least one"):
        list(reader().read(str(tmp_path / "*.gold_conll")))


@pytest.mark.parametrize(
    "parameters,message",
    [
        ({"max_sentences": 0}, '"max_sentences" is 0, expected at least 1'),
        ({"max_span_width": -1}, '"max_span_width" is -1, expected at least 1'),
        ({"genre_pattern": "^GUM"}, "\"genre_pattern\" is '\\^GUM', expected a group"),
    ],
)
def test_parameters_without_a_meaning_are_refused(parameters, message):
    with pytest.raises(ConfigurationError, match=message):
        reader(**parameters)


def test_a_group_that_takes_no_part_is_no_genre(tmp_path):
    path = write(tmp_path, "a.gold_conll", task_data.conll("GUM_a"))

    (instance,) = reader(genre_pattern="^GUM(x)?").read(path)

    assert instance["metadata"]["genre"] == "-"


@pytest.mark.parametrize("sentences", [[], [[]]])
def test_a_document_without_a_word_is_refused(sentences):
    with pytest.raises(ConfigurationError, match="a document without a word, expected at least one"):
        reader().text_to_instance(sentences)
