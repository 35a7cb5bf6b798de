"""When reconcile runs next, told from its own last line in the log."""

from __future__ import annotations

import time
from typing import Any

EVERY_S = 60
LOOK_EVERY_S = 5


class Tick:
    """Reads reconcile's log group every few seconds."""

    def __init__(self, logs: Any, group: str) -> None:
        self._logs, self._group = logs, group
        self._looked = 0.0
        self._last: float | None = None

    def countdown(self) -> str:
        now = time.time()
        if now - self._looked > LOOK_EVERY_S:
            self._looked = now
            self._last = self._started() or self._last
        if self._last is None:
            return "first reconcile within a minute"
        return f"next reconcile in {max(0, EVERY_S - int(now - self._last) % (EVERY_S + 1))} s"

    def _started(self) -> float | None:
        since = int((time.time() - 2 * EVERY_S) * 1000)
        try:
            found = self._logs.filter_log_events(logGroupName=self._group, startTime=since)["events"]
        except self._logs.exceptions.ResourceNotFoundException:
            return None
        starts = [event["timestamp"] / 1000 for event in found if "START RequestId" in event["message"]]
        lines = [event["timestamp"] / 1000 for event in found]
        return max(starts or lines, default=None)
