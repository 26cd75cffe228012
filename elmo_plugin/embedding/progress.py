"""How far a run is, on standard error: a bar on a terminal, else a line now and then."""

import logging
import sys
import time
from types import TracebackType
from typing import Any, Optional, Type

from elmo_plugin.embedding.run import Progress

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0


class ProgressDisplay:
    """
    Shows lines, tokens per second and the time left. Used as a context; call it with each `Progress`.

    # Parameters

    as_lines : write lines also where there is a terminal.
    """

    def __init__(self, as_lines: bool = False) -> None:
        self._bar: Any = None if as_lines or not sys.stderr.isatty() else _bar()
        self._task: Any = None
        self._start = self._last = time.monotonic()
        self._first: Optional[float] = None

    def __enter__(self) -> "ProgressDisplay":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("embedding", total=None, lines=0, rate="")
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._first is None:  # what a resumed run found was not this run's work
            self._first = progress.fraction
        rate = progress.computed / max(now - self._start, 1e-9)
        if self._bar is not None:
            total = None if progress.fraction is None else 1.0
            shown = {"lines": progress.lines, "rate": f"{rate:,.0f} tokens/s"}
            self._bar.update(self._task, total=total, completed=progress.fraction or 0.0, **shown)
        elif now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            logger.info(
                "%s lines, %s tokens, %.0f tokens/s%s",
                f"{progress.lines:,}",
                f"{progress.tokens:,}",
                rate,
                self._left(progress.fraction, now - self._start),
            )

    def _left(self, fraction: Optional[float], seconds: float) -> str:
        done = 0.0 if fraction is None else fraction - (self._first or 0.0)
        if fraction is None or done <= 0:
            return ""
        left = seconds * (1 - fraction) / done
        return f", {100 * fraction:.1f}%, {time.strftime('%H:%M:%S', time.gmtime(left % 86400))} left" + (
            f" and {int(left // 86400)} days" if left >= 86400 else ""
        )


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[lines]:,} lines"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
