"""Senses found again by their sentences, and the sentences alone."""

import pytest

pytest.importorskip("faiss")

from elmo_plugin.probes import sentences
from elmo_plugin.probes.known_senses import KnownSenses
from elmo_plugin.probes.senses import read_sense_texts
from tests.probes.texts import ACT, SPORT, TRAIN, write_semcor


@pytest.fixture
def path(tmp_path):
    return write_semcor(tmp_path / "train.jsonl.gz", TRAIN)


def test_senses_are_those_of_the_sentence(path):
    text = read_sense_texts([str(path)])
    known = KnownSenses(text)

    assert known.find(["They", "play", "on", "the", "field"], 1) == ACT
    assert known.find(["A", "good", "play", "won", "the", "game"], 2) == SPORT
    assert known.find(["A", "good", "play", "won", "the", "game"], 0) is None
    assert known.find(["They", "play"], 1) is None
    for word in text.words:  # every token of a multiword unit too
        sentence = text.sentences[word.sentence]
        assert {known.find(sentence, place) for place in range(word.start, word.stop)} == {word.senses[0]}


def test_of_equal_sentences_the_first_that_knows_answers(tmp_path):
    path = write_semcor(tmp_path / "x.jsonl.gz", [[("play", None)], [("play", ACT)], [("play", SPORT)]])

    assert KnownSenses(read_sense_texts([str(path)])).find(["play"], 0) == ACT


def test_sentences_are_lines_of_tokens(path, capfdbinary):
    sentences.main([str(path)])

    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split() for line in lines] == read_sense_texts([str(path)]).sentences
    assert lines[-1] == 'not yet " play "'


def test_what_cannot_be_read_is_named(tmp_path, capsys):
    (tmp_path / "bad.jsonl").write_text("{}\n")
    for name, message in (("nothing", "nothing: no such file"), ("bad.jsonl", "line 1")):
        with pytest.raises(SystemExit) as caught:
            sentences.main([str(tmp_path / name)])
        assert caught.value.code == 2 and message in capsys.readouterr().err
