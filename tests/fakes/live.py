"""AppSync Events in memory: what was published, in order, by channel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mediajobs.errors import Retryable


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One event that the channel took."""

    channel: str
    event: dict[str, Any]
    last: bool


@dataclass
class MemoryLive:
    """Implements `ports.Live`. `fail` makes that many next events be refused; `during` runs before each."""

    told: list[Told] = field(default_factory=list)
    fail: int = 0
    during: Callable[[], None] | None = None

    def publish(self, channel: str, event: str, *, last: bool) -> None:
        if self.during is not None:
            self.during()
        if self.fail:
            self.fail -= 1
            raise Retryable("the channel did not take it")
        self.told.append(Told(channel=channel, event=json.loads(event), last=last))

    def on(self, channel: str) -> list[dict[str, Any]]:
        """What a subscriber of the channel got."""
        return [told.event for told in self.told if told.channel == channel]
