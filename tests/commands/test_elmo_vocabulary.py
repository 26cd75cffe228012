import sys

import pytest

pytest.importorskip("allennlp")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402

import elmo_plugin.commands.elmo_vocabulary  # noqa: E402, F401


def test_writes_and_reports(tmp_path, capsys, monkeypatch):
    (tmp_path / "one").write_text("a b a\n")
    (tmp_path / "two").write_text("a c\n\nd d\n")
    output = tmp_path / "new" / "vocabulary.txt"
    text = [str(tmp_path / "one"), str(tmp_path / "t*")]
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-vocabulary", *text, "-o", str(output), "--min-count", "2"])
    _, args = parse_args("allennlp")
    args.func(args)

    assert output.read_text() == "<S>\n</S>\n<UNK>\na\nd\n"
    report = " ".join(capsys.readouterr().out.replace(str(output), "FILE").split())
    expected = "lines 4 sentences 3 tokens 7 distinct words 4 vocabulary 5 in FILE, with <S>, </S>, <UNK>"
    assert report == expected + " coverage 71.43% 2 tokens are unknown words"


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-vocabulary", *map(str, arguments)])
    _, args = parse_args("allennlp")
    args.func(args)


def test_text_is_not_overwritten(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("a b a\n")
    (tmp_path / "link").symlink_to(tmp_path / "text")
    for output in (tmp_path / "text", tmp_path / "link"):
        with pytest.raises(ConfigurationError, match="is read .*, expected another file"):
            run(monkeypatch, tmp_path / "text", "-o", output)

    assert (tmp_path / "text").read_text() == "a b a\n"


def test_a_folder_as_output_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "text").write_bytes(b"\xff")  # an error of its own, as soon as it is read
    with pytest.raises(ConfigurationError, match="is a folder, expected the file to write"):
        run(monkeypatch, tmp_path / "text", "-o", tmp_path)
