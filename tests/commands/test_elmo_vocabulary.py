import sys

import pytest

pytest.importorskip("allennlp")

from allennlp.commands import parse_args  # noqa: E402

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
    expected = "sentences 3 tokens 7 distinct words 4 vocabulary 5 in FILE, with <S>, </S>, <UNK> coverage 71.43%"
    assert report == expected + " 2 tokens are unknown words"
