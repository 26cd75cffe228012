import sys

import pytest

pytest.importorskip("allennlp")

from allennlp.commands import parse_args  # noqa: E402

import elmo_plugin.commands.elmo_benchmark  # noqa: E402, F401
from elmo_plugin.benchmark import runner  # noqa: E402


@pytest.mark.parametrize("code", [0, 1])
def test_command(monkeypatch, code):
    seen = []
    monkeypatch.setattr(runner, "main", lambda arguments: seen.append(arguments) or code)
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-benchmark", "--quick", "--sizes", "tiny"])

    _, args = parse_args("allennlp")
    with pytest.raises(SystemExit) as left:
        args.func(args)

    assert left.value.code == code
    assert seen[0].quick and seen[0].sizes == ["tiny"]
