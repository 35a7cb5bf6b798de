"""The world as one hashable value, and the tables that keep it small: rows of jobs stand in it as numbers."""

from __future__ import annotations

from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from mediajobs.jobs.model import Job, request_id
from mediajobs.pauses import Pause

BASE = 1_800_000_000_000  # every model begins here
IDS = tuple(request_id("a", f"key {number}") for number in range(6))

LIVE, SUCCEEDED, FAILED, CANCELED = range(4)
STATUS = ("running", "succeeded", "failed", "canceled")


class Paid(NamedTuple):
    """One job at the provider: one charge. Its id is `p<place in the list>`."""

    job: int
    incarnation: str
    submission: int
    digest: str  # of the request that made it
    status: int
    born: int
    known: bool = True  # False: it answers 404


class Wired(NamedTuple):
    """One request that left and has not been handled, whoever sent it lives or not."""

    job: int
    incarnation: str
    submission: int
    digest: str
    sent: int
    token: str


class Memory(NamedTuple):
    """What is kept beside the jobs: some of it by the product, some by the observer."""

    sent: tuple[tuple[str, int], ...] = ()  # (deduplication id, generation of the job)
    objects: tuple[tuple[str, str], ...] = ()  # (key, digest of the content)
    once: tuple[tuple[tuple[str, ...], str, int], ...] = ()  # (key, "run" or "done", since)
    bound: tuple[tuple[str, int], ...] = ()  # provider job id -> job
    asked: tuple[tuple[int, str, int], ...] = ()  # decisions sent: (job, word, attention version)
    generation: tuple[int, ...] = ()  # how often each job's key was put anew
    images: tuple[int, ...] = ()  # rows that the stream may still bring
    fault: str = ""  # a write that should not have been made
    invalid: bool = False  # a link has served what is no media
    copy: tuple[Any, ...] = ()  # of the table, at an earlier moment


class State(NamedTuple):
    """One state of the world. `procs` are running invocations, `left` is what may still happen, by kind."""

    now: int
    jobs: tuple[int, ...]
    slots: tuple[tuple[str, int], ...]
    pause: int
    room: tuple[int, tuple[int, ...]]
    paid: tuple[Paid, ...]
    wire: tuple[Wired, ...]
    procs: tuple[int, ...]
    left: tuple[int, ...]
    memory: Memory


_values = attrgetter(*(field.name for field in fields(Job) if field.name != "extra"))


def plain(job: Job) -> Job:
    """The row without what no rule reads: history, texts, the words for relay."""
    attention, error = job.attention, job.error
    return replace(
        job,
        history=(),
        history_count=0,
        out=None,
        written_by="",
        attention=replace(attention, evidence="") if attention else None,
        error=replace(error, message="") if error else None,
    )


class Table:
    """Rows and pauses by number; 0 is a row that is not there, and a healthy provider's pause."""

    def __init__(self) -> None:
        self.rows: list[Job] = [None]  # type: ignore[list-item]
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._objects: dict[int, tuple[Job, int]] = {}  # kept, so that an id stays one object's own
        self.pauses: list[Pause] = [Pause()]
        self._pauses: dict[Pause, int] = {Pause(): 0}

    def row(self, job: Job) -> int:
        """The number of this row; the same for the same fields."""
        known = self._objects.get(id(job))
        if known is not None:
            return known[1]
        shown = plain(job)
        key = _values(shown)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rows)
            self.rows.append(shown)
        self._objects[id(job)] = (job, number)
        self._objects[id(self.rows[number])] = (self.rows[number], number)
        return number

    def pause(self, pause: Pause) -> int:
        number = self._pauses.get(pause)
        if number is None:
            number = self._pauses[pause] = len(self.pauses)
            self.pauses.append(pause)
        return number
