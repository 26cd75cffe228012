"""Texts with senses in both formats, and what is wrong in them."""

import gzip

import pytest

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes.first_sense import by_counts, read_sense_index
from elmo_plugin.probes.raganato import read_raganato
from elmo_plugin.probes.semcor import read_semcor
from elmo_plugin.probes.senses import joined, lemma_of, read_sense_texts, sense_counts, tokens_of
from tests.probes.texts import ACT, SPORT, STAGE, TRAIN, write_raganato, write_semcor


def test_semcor(tmp_path):
    text = read_semcor(write_semcor(tmp_path / "train.jsonl.gz", TRAIN))

    assert text.sentences[4] == ["not", "yet", '"', "play", '"']
    assert [(word.sentence, word.start, word.stop, word.lemma) for word in text.words[-2:]] == [
        (4, 0, 2, ("not_yet", "r")),
        (4, 3, 4, ("play", "v")),
    ]
    assert text.words[-1].senses == (ACT, "play%2:36:00::")
    assert len({word.name for word in text.words}) == len(text.words) == 8


def test_both_formats_hold_the_same(tmp_path):
    one = read_semcor(write_semcor(tmp_path / "train.jsonl.gz", TRAIN))
    other = read_raganato(write_raganato(tmp_path / "train.data.xml", TRAIN))

    assert one.sentences == other.sentences
    assert [word._replace(name="") for word in one.words] == [word._replace(name="") for word in other.words]


def test_files_are_joined_in_the_order_of_their_names(tmp_path):
    write_semcor(tmp_path / "a_1.jsonl.gz", TRAIN[3:])
    write_semcor(tmp_path / "a_0.jsonl.gz", TRAIN[:3])

    text = read_sense_texts([str(tmp_path / "a_*.jsonl.gz")])

    whole = read_semcor(write_semcor(tmp_path / "whole.jsonl.gz", TRAIN))
    assert text.sentences == whole.sentences
    assert [word[1:] for word in text.words] == [word[1:] for word in whole.words]
    with pytest.raises(FileNotFoundError, match="b_\\*: no such file"):
        read_sense_texts([str(tmp_path / "b_*")])


def test_counts_and_first_senses(tmp_path):
    text = read_semcor(write_semcor(tmp_path / "train.jsonl.gz", TRAIN))
    counts = sense_counts(joined([text, text]).words)

    assert list(counts[("play", "n")].items()) == [(SPORT, 4), (STAGE, 2)]
    assert by_counts(counts)[("play", "n")] == SPORT
    assert ("chess", "n") not in by_counts(counts)


def test_sense_index(tmp_path):
    path = tmp_path / "index.sense"
    path.write_text("play%1:04:00:: 00568234 2 0\nplay%1:10:01:: 07018931 1 5\nabloom%5:00:00:fresh:00 00 1 0\n")

    assert read_sense_index(path) == {("play", "n"): STAGE, ("abloom", "a"): "abloom%5:00:00:fresh:00"}
    path.write_text("play%1:04:00:: 00568234 2\n")
    with pytest.raises(FormatError, match="line 1: .*expected a sense key"):
        read_sense_index(path)


@pytest.mark.parametrize(
    "unit,tokens", [("a_b", ["a", "b"]), ("_", ["_"]), ("``", ['"']), ("New York", ["New", "York"])]
)
def test_tokens_of_units(unit, tokens):
    assert tokens_of(unit) == tokens


@pytest.mark.parametrize("sense", ["", "play", "%1:04:00::", "play%6:04:00::", "play%1:04", "play%"])
def test_what_is_no_sense_key(sense):
    with pytest.raises(FormatError, match="here: .*is no sense key"):
        lemma_of(sense, "here")


@pytest.mark.parametrize(
    "line,message",
    [
        ("{", "expected a JSON object"),
        ("[" * 100_000, "expected a JSON object"),
        ('{"doc": "a", "sent": "1", "tokens": ["a"]}', "KeyError.*expected a JSON object"),
        ('{"doc": "a", "sent": "1", "tokens": ["a"], "senses": []}', "not lists of the same length"),
        ('{"doc": "a", "sent": "1", "tokens": [1], "senses": [null]}', "not lists of the same length"),
        ('{"doc": "a", "sent": "1", "tokens": "ab", "senses": [null, null]}', "not lists of the same length"),
        ('{"doc": "a", "sent": "1", "tokens": ["a"], "senses": {"b": null}}', "not lists of the same length"),
        ('{"doc": "a", "sent": "1", "tokens": [" "], "senses": [null]}', "not lists of the same length"),
        ('{"doc": "a", "sent": "1", "tokens": ["\\ud800"], "senses": [null]}', "surrogates not allowed"),
        ('{"doc": "a", "sent": "1", "tokens": ["a"], "senses": [1]}', "a sense is 1"),
        ('{"doc": "a", "sent": "1", "tokens": ["a"], "senses": ["a%1"]}', "no sense key"),
    ],
    ids=range(11),
)
def test_semcor_that_is_wrong(tmp_path, line, message):
    path = tmp_path / "text.jsonl.gz"
    path.write_bytes(gzip.compress(("\n" + line + "\n").encode()))
    with pytest.raises(FormatError, match=f"line 2: .*{message}"):
        read_semcor(path)


BEGIN = '<corpus><text id="d"><sentence id="s">'
END = "</sentence></text></corpus>"
INSTANCE = '<instance id="i" lemma="play" pos="NOUN">play</instance>'
BOMB = '<!DOCTYPE corpus [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12)
)


@pytest.mark.parametrize(
    "xml,message",
    [
        (BOMB + "]>" + BEGIN + "<wf>&m;</wf>" + INSTANCE + END, "document type declaration"),
        ('<!DOCTYPE corpus SYSTEM "file:///etc/passwd">' + BEGIN + INSTANCE + END, "document type declaration"),
        ('<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + BEGIN + "<wf>&x;</wf>" + END, "document type"),
        (BEGIN + "<wf>&x;</wf>" + INSTANCE + END, "undefined entity"),
        (BEGIN + INSTANCE, "expected XML. Was it copied whole"),
        ("", "expected XML"),
        ("<html></html>", "<html> in the document"),
        (BEGIN + "<wf><wf>a</wf></wf>" + END, "<wf> in <wf>"),
        ("<corpus>" * 50_000, "<corpus> in <corpus>"),
        (BEGIN + "words" + INSTANCE + END, "text in <sentence>"),
        (BEGIN + "<wf> </wf>" + INSTANCE + END, "an empty <wf>"),
        (BEGIN + INSTANCE + INSTANCE + END, "expected a new id"),
        (BEGIN + INSTANCE.replace("NOUN", "X") + END, "a pos of"),
        (BEGIN + INSTANCE.replace('"i"', '"j"') + END, "'j' has no key"),
        (BEGIN + "<wf>a</wf>" + END, "1 keys have no instance"),
        ('<?xml version="1.0" encoding="nonsense"?>' + BEGIN + INSTANCE + END, "unknown encoding.*expected XML"),
        ('<?xml version="1.0" encoding="gb2312"?>' + BEGIN + INSTANCE + END, "encoding.*expected XML"),
    ],
    ids=range(17),
)
def test_xml_that_is_hostile_or_wrong(tmp_path, xml, message):
    path = tmp_path / "set.data.xml"
    path.write_text(xml)
    (tmp_path / "set.gold.key.txt").write_text("i play%1:04:00::\n")
    with pytest.raises(FormatError, match=f"set.*{message}"):
        read_raganato(path)


@pytest.mark.parametrize("gold", ["i\n", "i play\n", "i a%1:04:00::\ni a%1:04:00::\n"])
def test_keys_that_are_wrong(tmp_path, gold):
    path = tmp_path / "set.data.xml"
    path.write_text(BEGIN + INSTANCE + END)
    (tmp_path / "set.gold.key.txt").write_text(gold)
    with pytest.raises(FormatError, match="set.gold.key.txt: line [12]"):
        read_raganato(path)


def test_name_without_keys(tmp_path):
    with pytest.raises(FormatError, match="expected a name like NAME.data.xml"):
        read_raganato(tmp_path / "set.xml")


def test_what_is_missing_is_named_with_what_it_is_for(tmp_path):
    path = write_raganato(tmp_path / "set.data.xml", TRAIN)
    (tmp_path / "set.gold.key.txt").unlink()
    with pytest.raises(FileNotFoundError, match="set.gold.key.txt: .*the sense keys of set.data.xml beside it"):
        read_raganato(path)
    with pytest.raises(FileNotFoundError, match="nothing: .*expected WordNet's index.sense"):
        read_sense_index(tmp_path / "nothing")


def test_a_name_may_look_like_a_pattern(tmp_path):
    path = write_semcor(tmp_path / "text[1].jsonl.gz", TRAIN)

    assert read_sense_texts([str(path)]) == read_semcor(path)


def test_long_text_comes_in_pieces(tmp_path):
    """The parser hands out the text of an element in several calls."""
    path = tmp_path / "set.data.xml"
    word = "x" * 300_000
    path.write_text(BEGIN + f"<wf>a&amp;{word}&lt;</wf>" + INSTANCE + END)
    (tmp_path / "set.gold.key.txt").write_text("i play%1:04:00::\n")

    assert read_raganato(path).sentences == [[f"a&{word}<", "play"]]
