"""The one place where time and randomness enter the product; everywhere else they are parameters.

Times are integer milliseconds since the epoch, UTC.
"""

from __future__ import annotations

import base64
import random
import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """Tells and passes time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after about `seconds`."""
        ...


class Chance(Protocol):
    """Random choices; tests pass a seeded one."""

    def token(self) -> str:
        """Thirteen unguessable characters of [a-z2-7] (64 bits), new at every call."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...

    def pick(self, names: tuple[str, ...]) -> str:
        """One of `names`, which is not empty."""
        ...


class SystemClock:
    """Wall time. It refuses stubbing: tests pass a clock of their own."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class SystemChance:
    """The operating system's randomness."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def token(self) -> str:
        return base64.b32encode(secrets.token_bytes(8)).decode().rstrip("=").lower()

    def fraction(self) -> float:
        return self._random.random()

    def pick(self, names: tuple[str, ...]) -> str:
        return self._random.choice(names)
