"""How far something is, in a line."""

from __future__ import annotations

import sys
import time

WIDTH = 30
"""Characters of the bar."""

INTERVAL_S = 0.2
"""Least time between two looks of the line."""


class Bar:
    """A bar on the standard error, which is written again in its line."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._first: int | None = None
        self._shown = 0.0
        self._is_open = False

    def __call__(self, finished: int, total: int) -> None:
        """Shows that so much of all is finished."""
        now = time.monotonic()
        if self._first is None:
            self._first = finished
        if finished < total and now - self._shown < INTERVAL_S:
            return
        self._shown = now
        self._is_open = True
        print(
            f"\r{self._line(finished, total, now - self._start)}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def _line(self, finished: int, total: int, seconds: float) -> str:
        filled = WIDTH if total == 0 else WIDTH * finished // total
        bar = "#" * filled + "-" * (WIDTH - filled)
        # What an earlier run finished took no time.
        done = finished - (self._first or 0)
        left = (
            f", {seconds / done * (total - finished):.0f} s left"
            if 0 < done and finished < total
            else ""
        )
        return f"{self._what} [{bar}] {finished} of {total}, {seconds:.0f} s{left:<12}"

    def close(self) -> None:
        """Ends the line."""
        if self._is_open:
            print(file=sys.stderr)
            self._is_open = False
