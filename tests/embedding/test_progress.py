import io
import sys

import pytest

from elmo_plugin.embedding.progress import ProgressDisplay
from elmo_plugin.embedding.run import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressDisplay() as show:
        show(Progress(0, 0, 0, 0.0))
        show(Progress(1234, 20_000, 20_000, 0.5))

    assert "50%" in terminal.getvalue() and "1,234 lines" in terminal.getvalue() and "tokens/s" in terminal.getvalue()


def test_no_bar_where_nobody_looks(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("elmo_plugin.embedding.progress.SECONDS_BETWEEN_LINES", 0.0)
    with caplog.at_level("INFO"), ProgressDisplay() as show:
        show(Progress(10, 100, 0, 0.5))
        show(Progress(20, 200, 100, 0.75))
        show(Progress(30, 300, 200, None))

    first, second, third = (record.getMessage() for record in caplog.records)
    assert first.startswith("10 lines, 100 tokens, 0 tokens/s")
    assert "75.0%" in second and second.endswith(" left")
    assert third.startswith("30 lines, 300 tokens") and "left" not in third
