"""How long each job takes to its true state once the faults have ended, and whether reconcile passes one over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.demo.watch import LATE_FOR_GOOD_S, TERMINAL
from mediajobs.jobs.states import RANK, State

Head = Mapping[str, Any]

# One reconcile interval, and what the emulator's scheduler, a cold start and our own look add to it.
INTERVAL_S, GRACE_S = 60, 30


def converged(head: Head, now: int) -> bool:
    """Ended and published; or a question is open, where lateness counts only once it has lasted a while."""
    if head["state"] in TERMINAL:
        return head["published_at"] is not None
    attention = head["attention"]
    if attention is None:
        return False
    return bool(attention["reason"] != "overdue") or now - attention["since"] > 1000 * LATE_FOR_GOOD_S


@dataclass
class Convergence:
    """Fed with every head of the table each few seconds. Times in milliseconds, as the table has them."""

    faults_ended: int | None = None
    violations: list[str] = field(default_factory=list)
    worst_past_due_s: float = 0.0
    _last: dict[str, Head] = field(default_factory=dict)
    # Jobs that were open at some look since the faults ended, and since when they are not, if so.
    _settled: dict[str, int | None] = field(default_factory=dict)

    def see(self, heads: Mapping[str, Head], now: int) -> None:
        for job_id, head in heads.items():
            self._compare(job_id, head)
            if self.faults_ended is not None:
                self._time(job_id, head, now, self.faults_ended)
        for job_id in self._last.keys() - heads.keys():
            self._violate(f"lost: the row of {job_id} is gone")
        self._last |= heads

    def open(self) -> list[str]:
        return [job_id for job_id, since in self._settled.items() if since is None]

    def seconds(self) -> list[float]:
        """For each job that was open when the faults ended: from then until it was in its true state for good."""
        ended = self.faults_ended or 0
        return [(since - ended) / 1000 for since in self._settled.values() if since is not None]

    def _compare(self, job_id: str, head: Head) -> None:
        before = self._last.get(job_id)
        if before is None:
            return
        if head["version"] < before["version"]:
            self._violate(f"invariant 1: {job_id} went from version {before['version']} to {head['version']}")
        fell = RANK[State(head["state"])] < RANK[State(before["state"])]
        if fell or (before["state"] in TERMINAL and head["state"] != before["state"]):
            self._violate(f"invariant 1: {job_id} left {before['state']} for {head['state']}")

    def _time(self, job_id: str, head: Head, now: int, ended: int) -> None:
        if not converged(head, now):
            self._settled[job_id] = None
        elif job_id in self._settled and self._settled[job_id] is None:
            self._settled[job_id] = now
        done = head["state"] in TERMINAL and head["published_at"] is not None
        if done or head["due_at"] is None:
            return
        past_s = (now - max(head["due_at"], ended)) / 1000
        self.worst_past_due_s = max(self.worst_past_due_s, past_s)
        if past_s > INTERVAL_S + GRACE_S:
            self._violate(f"invariant 6: {job_id} was passed over for more than {INTERVAL_S + GRACE_S} s after its due")

    def _violate(self, line: str) -> None:
        if line not in self.violations:
            self.violations.append(line)


def percentile(values: Iterable[float], share: float) -> float:
    """The least value that this share of all does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
