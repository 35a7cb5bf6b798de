"""One thread that calls things at a time: the whole simulated future hangs on it."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import traceback
from collections.abc import Callable

Call = Callable[[], None]


class Timers:
    """Calls functions at absolute times, in time order. They must be short: they share one thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._heap: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="timers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def at(self, when: float, call: Call) -> None:
        """Call at that time, or as soon as possible when it has passed."""
        with self._changed:
            if self._stopped:
                return
            heapq.heappush(self._heap, (when, next(self._order), call))
            if self._heap[0][2] is call:
                self._changed.notify()

    def wake(self) -> None:
        """Look at the clock again: it has been moved."""
        with self._changed:
            self._changed.notify()

    def _run(self) -> None:
        while (call := self._next()) is not None:
            try:
                call()
            except Exception:  # noqa: BLE001 - one bad callback must not stop every other job's life
                traceback.print_exc(file=sys.stderr)

    def _next(self) -> Call | None:
        with self._changed:
            while not self._stopped:
                if not self._heap:
                    self._changed.wait()
                    continue
                wait = self._heap[0][0] - self._now()
                if wait <= 0:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(wait)
            return None
