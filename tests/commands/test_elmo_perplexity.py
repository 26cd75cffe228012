import json
import os
import sys
from dataclasses import replace

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402

from elmo_plugin.commands.elmo_perplexity import measure_perplexity  # noqa: E402
from elmo_plugin.formats import read_weights, write_weights  # noqa: E402
from tests import tiny  # noqa: E402

WORDS = ["<S>", "</S>", "<UNK>", "a", "b"]


@pytest.fixture
def weights(tmp_path):
    """A softmax of zeros with a bias: every word has the probability that the bias says."""
    tiny.write(tmp_path / "bilm")
    found = read_weights(tmp_path / "bilm")
    softmax = {
        "weight": torch.zeros(5, found.options.lstm.projection_dim),
        "bias": torch.tensor([0.1, 0.2, 0.1, 0.5, 0.1]).log(),
    }
    path = tmp_path / "weights.safetensors"
    write_weights(replace(found, softmax=softmax, vocabulary=WORDS), path)
    return str(path)


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("a a b\n\nx a\n")
    return str(tmp_path / "text")


@pytest.mark.parametrize("state", ["carried", "reset", "warm"])
def test_by_hand(weights, text, state):
    result = measure_perplexity(weights, [text], state=state, batch_size=2)
    forward = 0.5 * 0.5 * 0.1 * 0.2 * 0.1 * 0.5 * 0.2  # a a b </S> <UNK> a </S>
    backward = 0.1 * 0.5 * 0.5 * 0.1 * 0.5 * 0.1 * 0.1  # b a a <S> a <UNK> <S>

    assert result["perplexity"] == {
        "forward": pytest.approx(forward ** (-1 / 7), rel=1e-5),
        "backward": pytest.approx(backward ** (-1 / 7), rel=1e-5),
        "mean": pytest.approx((forward * backward) ** (-1 / 14), rel=1e-5),
    }
    counts = {name: result[name] for name in ("lines", "sentences", "words", "tokens", "unknown_words", "vocabulary")}
    assert counts == {"lines": 3, "sentences": 2, "words": 5, "tokens": 7, "unknown_words": 1, "vocabulary": 5}
    first, second = (0.5 * 0.5 * 0.1 * 0.2) ** (-1 / 4), (0.1 * 0.5 * 0.2) ** (-1 / 3)
    low, high = result["interval"]["forward"]  # a quarter of the texts are one of the sentences twice
    assert (low, high) == (pytest.approx(min(first, second), rel=1e-5), pytest.approx(max(first, second), rel=1e-5))


def test_seed_decides_about_the_intervals(weights, text, tmp_path):
    (tmp_path / "more").write_text("a b\nb b b\na\nx x\na a a a b\n" * 3)
    intervals = [
        measure_perplexity(weights, [str(tmp_path / "more")], samples=50, seed=seed)["interval"] for seed in (1, 1, 2)
    ]

    assert intervals[0] == intervals[1] != intervals[2]
    assert measure_perplexity(weights, [text], samples=0)["interval"] is None
    first = measure_perplexity(weights, [text], max_sentences=1)
    assert first["interval"] is None and first["lines"] == 2  # the blank line behind it was read


def test_prints_and_writes(weights, text, tmp_path, capsys, monkeypatch):
    command = ["allennlp", "elmo-perplexity", weights, text, "--state", "reset", "--output", str(tmp_path / "out.json")]
    monkeypatch.setattr(sys, "argv", command)
    _, args = parse_args("allennlp")
    args.func(args)
    printed = " ".join(capsys.readouterr().out.split())
    written = json.loads((tmp_path / "out.json").read_text())

    assert "sentences 2 words 5 unknown words 1 20.00 % of the words, not among the 5 of the softmax" in printed
    assert "predicted 7 words and sentence ends, in each direction state reset 32 rows perplexity forward" in printed
    assert f"mean {written['perplexity']['mean']:.2f} {written['interval']['mean'][0]:.2f} to" in printed


@pytest.mark.parametrize("name", ["text", "folder/text", "weights.safetensors", "config.json", "words", "bilm", "pipe"])
def test_what_is_read_is_not_overwritten(name, weights, text, tmp_path, monkeypatch):
    """Nor is anything computed that could not be written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "elmo_plugin.commands.elmo_perplexity.measure_perplexity", lambda *_, **__: pytest.fail("began")
    )
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "text").write_text("a\n")
    (tmp_path / "words").write_text("a\n")
    (tmp_path / "config.json").write_text(
        json.dumps({"dataset_reader": {"type": "elmo_corpus"}, "validation_data_path": ["tex*", "folder"]})
    )
    os.mkfifo(tmp_path / "pipe")
    command = ["elmo-perplexity", weights, "--like", "config.json", "--vocabulary", "words", "--output", name]
    monkeypatch.setattr(sys, "argv", ["allennlp", *command])
    _, args = parse_args("allennlp")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    with pytest.raises(ConfigurationError, match="expected another file to write|expected the file to write"):
        args.func(args)
    assert {path: path.read_bytes() for path in before} == before


def test_text_of_a_task(weights, tmp_path):
    (tmp_path / "trees").write_text("(3 (2 a) (2 (2 a) (2 b)))\n")
    for reader in ("sst_phrases", '{"type": "sst_phrases", "min_phrase_tokens": 2}'):
        result = measure_perplexity(weights, [str(tmp_path / "trees")], reader=reader, fields=["tokens"])
        assert result["sentences"] == (1 if reader == "sst_phrases" else 2)


def test_held_out_text_of_a_configuration(weights, tmp_path):
    """What table 7 shows: the same text before and after the biLM is tuned on it."""
    (tmp_path / "trees").write_text("(3 (2 a) (2 (2 a) (2 b)))\n")
    task = {"type": "elmo_corpus", "task_reader": {"type": "sst_phrases"}, "max_characters_per_token": 7}
    (tmp_path / "config.json").write_text(
        json.dumps({"dataset_reader": task, "validation_data_path": str(tmp_path / "trees")})
    )
    result = measure_perplexity(weights, [], like=str(tmp_path / "config.json"))
    other = measure_perplexity(weights, [str(tmp_path / "trees")], like=str(tmp_path / "config.json"))

    assert result["words"] == 3 and result["text"] == [str(tmp_path / "trees")]
    assert other == result
    task["type"] = "sst_phrases"
    (tmp_path / "config.json").write_text(json.dumps({"dataset_reader": task}))
    with pytest.raises(ConfigurationError, match="--like .*: expected the dataset reader 'elmo_corpus'"):
        measure_perplexity(weights, [], like=str(tmp_path / "config.json"))
    with pytest.raises(ConfigurationError, match="no text; give files, or --like CONFIG"):
        measure_perplexity(weights, [])


def test_a_configuration_says_how_much_is_read(weights, text, tmp_path):
    """The first sentences, as in a pre-training, unless others are asked for."""
    config = tmp_path / "config.json"
    reader = {"type": "elmo_corpus", "max_sentences": 1}
    config.write_text(json.dumps({"dataset_reader": reader, "validation_data_path": text}))

    assert measure_perplexity(weights, [], like=str(config))["sentences"] == 1
    assert measure_perplexity(weights, [], like=str(config), max_sentences=2)["sentences"] == 2


def test_arguments_that_contradict_each_other_are_named(weights, text, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"dataset_reader": {"type": "elmo_corpus"}}))
    for arguments in ({"reader": "sst_phrases"}, {"fields": ["tokens"]}):
        with pytest.raises(ConfigurationError, match="--like .* says how the text is read, and so do"):
            measure_perplexity(weights, [text], like=str(config), **arguments)
    with pytest.raises(ConfigurationError, match="no text; give files"):
        measure_perplexity(weights, [], like=str(config))
    with pytest.raises(ConfigurationError, match="--reader {bad: no JSON object"):
        measure_perplexity(weights, [text], reader="{bad")
    config.write_text("{}")
    with pytest.raises(ConfigurationError, match="--like .*: expected the dataset reader 'elmo_corpus'"):
        measure_perplexity(weights, [text], like=str(config))


def test_a_file_that_is_given_twice_is_scored_twice(weights, text):
    once, twice = (measure_perplexity(weights, [text] * times, state="reset") for times in (1, 2))

    assert (twice["files"], twice["tokens"]) == (2, 2 * once["tokens"])
    assert twice["perplexity"] == pytest.approx(once["perplexity"])


def test_what_is_missing_is_named(weights, text, tmp_path):
    with pytest.raises(ConfigurationError, match="bilm comes without a softmax"):
        measure_perplexity(str(tmp_path / "bilm"), [text])
    found = read_weights(weights)
    write_weights(replace(found, vocabulary=None), tmp_path / "other.safetensors")
    with pytest.raises(ConfigurationError, match="over 5 words, found no vocabulary.*--vocabulary FILE"):
        measure_perplexity(str(tmp_path / "other.safetensors"), [text])
    (tmp_path / "words").write_text("\n".join(WORDS) + "\n")
    given = measure_perplexity(str(tmp_path / "other.safetensors"), [text], vocabulary=tmp_path / "words")
    assert given["perplexity"] == measure_perplexity(weights, [text])["perplexity"]
    (tmp_path / "words").write_text("\n".join(WORDS + ["c"]) + "\n")
    with pytest.raises(ConfigurationError, match="over 5 words, found 6"):
        measure_perplexity(weights, [text], vocabulary=tmp_path / "words")
    with pytest.raises(ConfigurationError, match="batch size 0, 1000 samples"):
        measure_perplexity(weights, [text], batch_size=0)
