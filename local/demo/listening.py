"""Watching jobs as an application does that listens: each by a client of examples/, over the socket while there is one.

GET is asked where a job begins and ends, where something needs its details, and where the socket fails.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import requests

from examples.live_progress import Follower
from local.demo.client import ApiError
from local.demo.watch import Job, Reader, Watch, ended
from local.stack.places import StackError


class _Stopped(Exception):
    """Nobody wants to know any more."""


class Listening(Watch):
    """A watch whose views come from sockets. `views` counts them: heard there, or read by GET."""

    def __init__(self, api: Reader, tick: object) -> None:
        super().__init__(api, tick)
        self.views: Counter[str] = Counter()
        self._read: dict[str, Job] = {}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, ids: Iterable[str]) -> None:
        for job_id in ids:
            if job_id not in self.jobs:
                self.jobs[job_id] = {}
                thread = threading.Thread(target=self._follow, args=(job_id,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def look(self, *, ended_too: bool = False) -> None:
        """Whoever follows a job brings its views; only jobs that have ended are read here, where that is asked."""
        if ended_too:
            for job_id in [job_id for job_id, job in self.jobs.items() if ended(job)]:
                self._got(job_id)

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    def _follow(self, job_id: str) -> None:
        def show(job: Job, how: str) -> None:
            self.views[how] += 1
            self.jobs[job_id] = job
            if self._stop.is_set():
                raise _Stopped

        with suppress(_Stopped):
            while not self._stop.is_set():
                try:
                    Follower(lambda: self._got(job_id), show).run()
                except (ApiError, requests.RequestException, StackError):
                    time.sleep(1)
                else:
                    return

    def _got(self, job_id: str) -> Job:
        """What GET says, checked against what it said before."""
        seen = self._api.get(job_id)
        self._compare(job_id, self._read.get(job_id, {}), seen)
        self._read[job_id] = seen
        return seen

    def _summary(self) -> str:
        return f"{super()._summary()} | heard {self.views['heard']}, read {self.views['read']}"
