import argparse

import pytest

from elmo_plugin.benchmark.arguments import FULL, QUICK, add_arguments, fill_in, recorded


def parse(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return fill_in(parser.parse_args(words))


@pytest.mark.parametrize("words,defaults", [([], FULL), (["--quick"], QUICK)])
def test_defaults(words, defaults):
    arguments = parse(*words)

    assert {name: getattr(arguments, name) for name in defaults} == defaults


def test_what_is_chosen_goes_before_the_quick_form():
    arguments = parse("--quick", "--sizes", "builtin", "--rounds", "9")

    assert (arguments.sizes, arguments.rounds, arguments.batches) == (["builtin"], 9, QUICK["batches"])


def test_published_batches_and_threads():
    assert FULL["batches"] == [1, 8, 32, 64, 128, 512]
    assert FULL["threads"] == [1, 2]


@pytest.mark.parametrize("words", [["--batches", "0"], ["--threads", "x"], ["--orders", "random"], ["--parts", "all"]])
def test_refused(words, capsys):
    with pytest.raises(SystemExit):
        parse(*words)
    assert words[0] in capsys.readouterr().err


def test_what_decides_the_results_is_recorded():
    arguments = parse("--text", "/home/somebody/text.txt", "--bilm-tf", "/home/somebody/python", "-o", "/tmp/x")

    assert set(recorded(arguments)) == {*FULL, "quick", "precisions", "peers", "device", "seed", "text"}
