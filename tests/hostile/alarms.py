"""Alarms that ring when a test says so: what ends because its time is over ends at a moment that the test knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Alarms:
    """Implements `sockets.SetAlarm`, and is the alarm that it sets."""

    lengths: list[float] = field(default_factory=list)  # seconds, of each alarm that was set
    canceled: int = 0
    _rings: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self, seconds: float, ring: Callable[[], None]) -> Alarms:
        self.lengths.append(seconds)
        self._rings.append(ring)
        return self

    def cancel(self) -> None:
        self.canceled += 1

    def ring(self, _: object = None) -> None:
        """The time of the last one that was set is over. Fits among a server's behaviours."""
        self._rings[-1]()
