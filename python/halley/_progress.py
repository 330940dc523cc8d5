"""Progress of long work, in a terminal or a notebook; never on standard output."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional, Union

from ._errors import Error
from ._native import Look


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _count(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (limit if letter != 'k' else 1e3):.1f}{letter}"
    return f"{value:.0f}"


class Bar:
    """One line that is written over: what, a bar or a count, rate and time left."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.shown = 0.0
        self.handle: Any = None
        self.notebook = _in_notebook()
        self.width = 0

    def line(self, what: str, done: int, total: float, noun: str) -> str:
        seconds = max(time.monotonic() - self.began, 1e-9)
        rate = done / seconds
        text = f"{what}: {_count(done)}"
        if total > 0:
            share = min(1.0, done / total)
            filled = int(20 * share)
            left = f", {(total - done) / rate:.0f} s left" if rate > 0 else ""
            text = (f"{what} [{'#' * filled}{'.' * (20 - filled)}] {100 * share:.0f} % of "
                    f"{_count(total)} {noun}, {_count(rate)}/s{left}")
        else:
            text += f" {noun}, {_count(rate)}/s"
        return text

    def __call__(self, what: str, done: int, total: float, noun: str) -> bool:
        now = time.monotonic()
        if now - self.shown < 0.1:
            return True
        self.shown = now
        self.show(self.line(what, done, total, noun))
        return True

    def show(self, text: str) -> None:
        if self.notebook:
            from IPython.display import display
            data = {"text/plain": text}
            if self.handle is None:
                self.handle = display(data, raw=True, display_id=True)
            else:
                self.handle.update(data, raw=True)
            return
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if not self.notebook and self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
        elif self.handle is not None:
            self.handle.update({"text/plain": ""}, raw=True)


Progress = Union[bool, Look, None]


def look_of(progress: Progress) -> Optional[Look]:
    """The function for a ``progress`` argument: True is a bar, a function is itself."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        raise Error(f"progress is True, or a function of (what, done, total, noun), not "
                    f"{progress!r}", "usage")
    return progress
