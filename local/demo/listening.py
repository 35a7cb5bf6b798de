"""Watching jobs as an application does: what is under way is heard of over sockets, by a client of examples/.

GET is asked for what waits, where a job begins and ends, where something needs its details, and where a socket fails.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import requests

from examples.live_progress import Follower
from local.demo.client import ApiError
from local.demo.watch import Job, Reader, Watch, ended, settled
from local.stack.places import StackError

MOST = 6  # listeners at a time: each is a thread, and its reads and questions are processes on this machine
UNDER_WAY = ("submitting", "generating", "storing")


class _Stopped(Exception):
    """Nobody wants to know any more."""


class Listening(Watch):
    """A watch that listens to jobs under way. `views` counts what it saw: heard on a socket, or read by GET."""

    def __init__(self, api: Reader, tick: object) -> None:
        super().__init__(api, tick)
        self.views: Counter[str] = Counter()
        self._read: dict[str, Job] = {}
        self._stop = threading.Event()
        self._followers: dict[str, threading.Thread] = {}

    def look(self, *, ended_too: bool = False) -> None:
        """Whoever follows a job brings its views; the others are read."""
        followed = {job_id for job_id, thread in self._followers.items() if thread.is_alive()}
        others = [
            job_id for job_id, job in self.jobs.items() if job_id not in followed and (ended_too or not ended(job))
        ]
        with ThreadPoolExecutor(4) as pool:
            for job_id, seen in zip(others, pool.map(self._got, others), strict=True):
                self.views["read"] += 1
                self.jobs[job_id] = seen
        begun = [job_id for job_id in others if self.jobs[job_id].get("stage") in UNDER_WAY]
        for job_id in [job_id for job_id in begun if not settled(self.jobs[job_id])][: max(MOST - len(followed), 0)]:
            self._followers[job_id] = threading.Thread(target=self._follow, args=(job_id,), daemon=True)
            self._followers[job_id].start()

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        for thread in self._followers.values():
            thread.join(10)

    def _follow(self, job_id: str) -> None:
        """Until the job has ended or asks a person, or cannot be read: then it is one of the others again."""

        def show(job: Job, how: str) -> None:
            self.views[how] += 1
            self.jobs[job_id] = job
            if self._stop.is_set() or (settled(job) and not ended(job)):
                raise _Stopped

        with suppress(_Stopped, ApiError, requests.RequestException, StackError):
            Follower(lambda: self._got(job_id), show).run()

    def _got(self, job_id: str) -> Job:
        """What GET says, checked against what it said before."""
        seen = self._api.get(job_id)
        self._compare(job_id, self._read.get(job_id, {}), seen)
        self._read[job_id] = seen
        return seen

    def _summary(self) -> str:
        return f"{super()._summary()} | heard {self.views['heard']}, read {self.views['read']}"
