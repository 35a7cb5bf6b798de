"""Virtual time: what happens next, in order, and the clock that everybody in the simulation reads."""

from __future__ import annotations

import heapq
from collections.abc import Callable

START = 1_800_000_000_000
MINUTE = 60_000


class Scheduler:
    """Runs what is due, one thing at a time; of two things at the same moment the one that was asked for first."""

    def __init__(self, start: int = START) -> None:
        self.now = start
        self.happened = 0
        self.after_each: Callable[[], None] = lambda: None
        self._heap: list[tuple[int, int, Callable[[], object]]] = []
        self._asked = 0

    def at(self, when: int, what: Callable[[], object]) -> None:
        """Let it happen then; at once where that is past."""
        self._asked += 1
        heapq.heappush(self._heap, (max(when, self.now), self._asked, what))

    def after(self, wait_ms: int, what: Callable[[], object]) -> None:
        """Let it happen in a while."""
        self.at(self.now + wait_ms, what)

    def run(self, until: int, enough: Callable[[], bool] = lambda: False) -> None:
        """Everything up to `until`, or until it is enough. What lies later stays."""
        while self._heap and self._heap[0][0] <= until and not enough():
            when, _, what = heapq.heappop(self._heap)
            self.now = max(self.now, when)
            self.happened += 1
            what()
            self.after_each()
        if not enough():
            self.now = max(self.now, until)
