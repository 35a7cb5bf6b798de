"""Idempotency in memory, with the same answers as the Powertools adapter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from mediajobs.errors import InProgress


class MemoryOnce:
    """Implements `ports.Once`. Nothing expires; `abandon` plays a run that was killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: dict[tuple[str, ...], str] = {}
        self._running: set[tuple[str, ...]] = set()
        self.replays = 0

    def __call__(self, name: str, key: Sequence[str], function: Callable[[], str]) -> str:
        if not key or not all(key):
            raise ValueError(f"the key of {name!r} has an empty part: {list(key)!r}")
        record = (name, *key)
        with self._lock:
            if record in self._done:
                self.replays += 1
                return self._done[record]
            if record in self._running:
                raise InProgress(f"{name} is running for {list(key)!r}")
            self._running.add(record)
        try:
            answer = function()
        except Exception:
            with self._lock:
                self._running.discard(record)
            raise
        with self._lock:
            self._running.discard(record)
            self._done[record] = answer
        return answer

    def abandon(self, name: str, key: Sequence[str]) -> None:
        """As if a run had been killed: in progress until `expire`."""
        self._running.add((name, *key))

    def expire(self) -> None:
        """The time of every killed run is over."""
        self._running.clear()
