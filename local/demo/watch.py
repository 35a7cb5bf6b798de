"""Watching jobs to their end: what a caller sees through GET, drawn, and checked for anything that goes backwards."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Protocol

Job = dict[str, Any]
TERMINAL = ("succeeded", "failed", "canceled")
RANK = {"pending": 0, "running": 1, "succeeded": 2, "failed": 2, "canceled": 2}
LATE_FOR_GOOD_S = 240


class Reader(Protocol):
    """Whoever may read the jobs that are watched."""

    def get(self, job_id: str) -> Job: ...


class Watch:
    """The last view of each job, and every violation seen on the way."""

    def __init__(self, api: Reader, tick: Any) -> None:
        self._api = api
        self._tick = tick
        self._tty = sys.stdout.isatty()
        self._lines = 0
        self._last_plain = 0.0
        self.jobs: dict[str, Job] = {}
        self.violations: list[str] = []

    def add(self, ids: Iterable[str]) -> None:
        for job_id in ids:
            self.jobs.setdefault(job_id, {})

    def until_settled(self, seconds: float) -> bool:
        """Look until every job has ended or asks a person something that time will not answer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            self.draw()
            if all(settled(job) for job in self.jobs.values()):
                self.draw(last=True)
                return True
            time.sleep(1)
        self.draw(last=True)
        return False

    def look(self, *, ended_too: bool = False) -> None:
        open_ones = [job_id for job_id, job in self.jobs.items() if ended_too or not ended(job)]
        with ThreadPoolExecutor(4) as pool:
            for job_id, seen in zip(open_ones, pool.map(self._api.get, open_ones), strict=True):
                self._compare(job_id, self.jobs[job_id], seen)
                self.jobs[job_id] = seen

    def _compare(self, job_id: str, before: Job, now: Job) -> None:
        if not before:
            return
        if ended(before) and before["status"] != now["status"]:
            self.violations.append(f"invariant 1: {job_id} left {before['status']} for {now['status']}")
        if RANK[now["status"]] < RANK[before["status"]]:
            self.violations.append(f"invariant 1: {job_id} fell from {before['status']} to {now['status']}")
        if (now.get("progress") or 0) < (before.get("progress") or 0) and now["status"] != "failed":
            self.violations.append(f"progress of {job_id} fell from {before['progress']} to {now['progress']}")

    def draw(self, *, last: bool = False) -> None:
        """A screen that is redrawn, or a line every ten seconds where the output is no terminal."""
        if not self._tty:
            if last or time.monotonic() - self._last_plain > 10:
                self._last_plain = time.monotonic()
                print(f"  {self._summary()}", flush=True)
            return
        lines = [self._summary(), *self._bars()]
        if self._lines:
            sys.stdout.write(f"\x1b[{self._lines}A\x1b[J")
        self._lines = len(lines)
        print("\n".join(lines), flush=True)

    def _summary(self) -> str:
        count = Counter(word(job) for job in self.jobs.values())
        done = sum(1 for job in self.jobs.values() if settled(job))
        text = ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
        return f"{done}/{len(self.jobs)} settled: {text} | {self._tick.countdown()}"

    def _bars(self) -> list[str]:
        running = [job for job in self.jobs.values() if job.get("stage") in ("submitting", "generating", "storing")]
        return [
            f"  {job['request_id'][:10]} {job['model']:8} [{'#' * ((job.get('progress') or 0) // 5):20}] {word(job)}"
            for job in running[:12]
        ]


def ended(job: Job) -> bool:
    return job.get("status") in TERMINAL


def settled(job: Job) -> bool:
    """Ended, or a question is open that only a person answers. Late becomes that only after a while: such a job is
    still polled, and most of them end.
    """
    attention = job.get("attention")
    if ended(job) or not attention:
        return ended(job)
    if attention["reason"] != "overdue":
        return True
    since = datetime.fromisoformat(attention["since"])
    return (datetime.now(UTC) - since).total_seconds() > LATE_FOR_GOOD_S


def word(job: Job) -> str:
    if job.get("attention"):
        return f"attention {job['attention']['reason']}"
    return str(job.get("stage") or job.get("status") or "submitted")
