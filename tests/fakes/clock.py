"""Time and chance that tests decide."""

from __future__ import annotations

import base64
import random
import threading


class VirtualClock:
    """Stands still until it is moved; sleeping moves it. `slept` keeps every wait asked for."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self._now = now
        self._lock = threading.Lock()
        self.slept: list[float] = []

    def now(self) -> int:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self._now += max(0, round(seconds * 1000))

    def advance(self, seconds: float) -> int:
        """Let time pass; returns the new time."""
        with self._lock:
            self._now += round(seconds * 1000)
            return self._now


class SeededChance:
    """The same choices at every run with the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def token(self) -> str:
        with self._lock:
            return base64.b32encode(self._random.randbytes(8)).decode().rstrip("=").lower()

    def fraction(self) -> float:
        with self._lock:
            return self._random.random()

    def pick(self, names: tuple[str, ...]) -> str:
        with self._lock:
            return self._random.choice(names)
