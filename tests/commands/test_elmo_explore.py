"""`allennlp elmo-explore`: the whole command in a process of its own."""

import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("allennlp")
pytest.importorskip("dash")
pytest.importorskip("faiss")
pytest.importorskip("waitress")

from allennlp.commands import parse_args

import elmo_plugin.commands.elmo_explore  # noqa: F401
from elmo_plugin.engine.errors import BackendUnavailableError


def test_it_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "elmo_plugin", "elmo-explore", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            address = re.match(r"http://127\.0\.0\.1:\d+/", process.stdout.readline()).group()
            page = urllib.request.urlopen(address).read().decode()
            # A process that a shell has put into the background may have been told to ignore this.
            process.send_signal(signal.SIGINT)
            if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                process.wait(60)
        finally:
            process.kill()

    assert "<title>ELMo explorer</title>" in page


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-explore"])
    _, args = parse_args("allennlp")
    monkeypatch.setitem(sys.modules, "elmo_plugin.explorer._page.server", None)

    with pytest.raises(BackendUnavailableError, match=r'pip install "elmo_plugin\[explorer\]"'):
        args.func(args)
