"""Running the product's steps one outside call at a time, by playing back what their earlier calls were answered.

An invocation is (what it is, when it began, the answers so far). To go on it is run again from its start with those
answers; the first call that has none yet is what it waits for. So the steps are explored as they are, not a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from mediajobs.errors import InProgress, MediaJobsError, Retryable, Throttled, WriteConflict
from mediajobs.ports import World

Op = tuple[Any, ...]  # what an invocation asks of the outside: its kind, then what is needed to answer it
Answer = Any  # hashable


class Waits(BaseException):
    """The run has come to a call that has no answer yet."""


class Raise(NamedTuple):
    """The answer is this exception."""

    name: str


_ERRORS: dict[str, type[MediaJobsError]] = {
    error.__name__: error for error in (Retryable, WriteConflict, Throttled, InProgress)
}


class Tape:
    """The answers of one run, and the clock: the time at which the last of them came."""

    def __init__(self) -> None:
        self.op: Op | None = None
        self.now = 0
        self._log: tuple[tuple[Answer, int], ...] = ()
        self._at = 0

    def load(self, start: int, log: tuple[tuple[Answer, int], ...]) -> None:
        self.op, self.now, self._log, self._at = None, start, log, 0

    def ask(self, *op: Any) -> Answer:
        if self.op is not None:
            raise Waits  # a handler that cleans up while the run is being left
        if self._at == len(self._log):
            self.op = op
            raise Waits
        answer, self.now = self._log[self._at]
        self._at += 1
        if isinstance(answer, Raise):
            raise _ERRORS[answer.name]("played back")
        return answer


@dataclass(frozen=True, slots=True)
class Proc:
    """One invocation, stopped before a call."""

    kind: str
    args: tuple[Any, ...]
    born: int
    log: tuple[tuple[Answer, int], ...]
    op: Op
    token: str  # its own random token, once it has drawn one


Run = Callable[[World, tuple[Any, ...]], object]


class Machine:
    """Starts invocations and takes them on; equal ones have the same number, 0 is one that has ended."""

    def __init__(self, tape: Tape, world: World, runs: dict[str, Run]) -> None:
        self.procs: list[Proc | None] = [None]
        self.broken: str | None = None  # an exception that no design foresees
        self._tape, self._world, self._runs = tape, world, runs
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._next: dict[tuple[int, Answer, int], int] = {}

    def start(self, kind: str, args: tuple[Any, ...], now: int) -> int:
        return self._play(kind, args, now, ())

    def resume(self, number: int, answer: Answer, now: int) -> int:
        """Its number after this answer."""
        key = (number, answer, now)
        after = self._next.get(key)
        if after is None:
            proc = self.procs[number]
            assert proc is not None
            after = self._next[key] = self._play(proc.kind, proc.args, proc.born, (*proc.log, (answer, now)))
        return after

    def proc(self, number: int) -> Proc:
        proc = self.procs[number]
        assert proc is not None
        return proc

    def _play(self, kind: str, args: tuple[Any, ...], born: int, log: tuple[tuple[Answer, int], ...]) -> int:
        key = (kind, args, born, log)
        number = self._numbers.get(key)
        if number is not None:
            return number
        op = self._run(kind, args, born, log)
        if op is None:
            number = 0
        else:
            tokens = [answer[1] for answer, _ in log if type(answer) is tuple and answer and answer[0] == "token"]
            number = len(self.procs)
            self.procs.append(Proc(kind, args, born, log, op, tokens[0] if tokens else ""))
        self._numbers[key] = number
        return number

    def _run(self, kind: str, args: tuple[Any, ...], born: int, log: tuple[tuple[Answer, int], ...]) -> Op | None:
        self._tape.load(born, log)
        try:
            self._runs[kind](self._world, args)
        except Waits:
            return self._tape.op
        except MediaJobsError:
            return None  # told to the caller, or brought again by the queue: another invocation
        except Exception as error:  # noqa: BLE001 a fault of the product is what is looked for
            self.broken = f"{kind}: {type(error).__name__}: {error}"
        return None
