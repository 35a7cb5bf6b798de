"""Running the product's steps one outside call at a time, by playing back what their earlier calls were answered.

An invocation is (what it is, when it began, the answers so far). To go on it is run again from its start with those
answers; the first call that has none yet is what it waits for. So the steps are explored as they are, not a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, NamedTuple

from mediajobs.errors import InProgress, MediaJobsError, Retryable, Throttled, WriteConflict
from mediajobs.ports import World
from tests.simulation.explore.frames import Frames

Op = tuple[Any, ...]  # what an invocation asks of the outside: its kind, then what is needed to answer it
Answer = Any  # hashable
Log = tuple[tuple[Answer, int], ...]  # each answer, and when it came


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
        self.stands: Any = None  # where the run has stopped
        self.now = 0
        self.reads: Callable[[FrameType, Op], Any] = lambda frame, op: None
        self.log: Log = ()
        self._at = 0

    def load(self, start: int, log: Log) -> None:
        self.op, self.now, self.log, self._at = None, start, log, 0

    def ask(self, *op: Any) -> Answer:
        if self.op is not None:
            raise Waits  # a handler that cleans up while the run is being left
        if self._at == len(self.log):
            self.op = op
            self.stands = self.reads(sys._getframe(1), op)
            raise Waits
        answer, self.now = self.log[self._at]
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
    log: Log
    op: Op
    token: str  # its own random token, once it has drawn one


Run = Callable[[World, tuple[Any, ...]], object]


class Machine:
    """Starts invocations and takes them on; equal ones have the same number, 0 is one that has ended."""

    def __init__(self, tape: Tape, world: World, runs: dict[str, Run], frames: Frames) -> None:
        self.procs: list[Proc | None] = [None]
        self.broken: str | None = None  # an exception that no design foresees
        self._tape, self._world, self._runs, self._frames = tape, world, runs, frames
        tape.reads = self._reads
        self._numbers: dict[tuple[Any, ...], int] = {}  # by history
        self._stands: dict[Any, int] = {}  # by where it stands
        self._twins: dict[int, Proc] = {}  # for each of these one that was taken as alike
        self._refused: dict[int, Any] = {}
        self._next: dict[tuple[int, Answer, int], int] = {}

    def start(self, kind: str, args: tuple[Any, ...], now: int) -> int:
        return self._play(kind, args, now, ())

    def resume(self, number: int, answer: Answer, now: int) -> int:
        """Its number after this answer."""
        key = (number, answer, now)
        after = self._next.get(key)
        if after is None:
            proc = self.proc(number)
            after = self._next[key] = self._go_on(proc, answer, now)
            twin = self._twins.get(number)
            if twin is not None:
                self._compare(proc, after, self._go_on(twin, answer, now))
        return after

    def _compare(self, proc: Proc, after: int, other: int) -> None:
        """What was taken as alike has to ask the same, now and from here on."""
        if after == other or self.broken:
            return
        one, two = self.procs[after], self.procs[other]
        if one is None or two is None or one.op != two.op:
            self.broken = f"{proc.kind} {proc.op[:2]}: taken as alike, went on to {one} and to {two}"
        else:
            self._twins.setdefault(after, two)

    def refused(self, number: int) -> int:
        """The same invocation, once it is certain that the write it is about to make will be lost."""
        proc = self.proc(number)
        if proc.op[0] != "write":
            return number
        lost = replace(proc, op=("lost", proc.op[1]))
        return self._number((self._refused[number], proc.kind, proc.args, proc.born, proc.token, "lost"), lost)

    def proc(self, number: int) -> Proc:
        proc = self.procs[number]
        assert proc is not None
        return proc

    def _go_on(self, proc: Proc, answer: Answer, now: int) -> int:
        return self._play(proc.kind, proc.args, proc.born, (*proc.log, (answer, now)))

    def _play(self, kind: str, args: tuple[Any, ...], born: int, log: Log) -> int:
        key = (kind, args, born, log)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._played(kind, args, born, log)
        return number

    def _played(self, kind: str, args: tuple[Any, ...], born: int, log: Log) -> int:
        op = self._run(kind, args, born, log)
        if op is None:
            return 0
        tokens = [answer[1] for answer, _ in log if type(answer) is tuple and answer and answer[0] == "token"]
        proc = Proc(kind, args, born, log, op, tokens[0] if tokens else "")
        stands, refused = self._tape.stands
        number = self._number((stands, op, kind, args, born, proc.token), proc)
        self._refused.setdefault(number, refused)
        return number

    def _number(self, key: Any, proc: Proc) -> int:
        number = self._stands.get(key)
        if number is None:
            number = self._stands[key] = len(self.procs)
            self.procs.append(proc)
        elif number not in self._twins and self.procs[number] != proc:
            self._twins[number] = proc
        return number

    def _reads(self, frame: FrameType, op: Op) -> Any:
        """Where it stands; for a write also where it stands if that is lost."""
        code = Machine._run.__code__
        log = self._tape.log
        stands = self._frames.read(frame, code, log)
        return stands, self._frames.read(frame, code, log, refused=True) if op[0] == "write" else None

    def _run(self, kind: str, args: tuple[Any, ...], born: int, log: Log) -> Op | None:
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
