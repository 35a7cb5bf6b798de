"""One invocation of a function: it can be killed before and after each of its calls, and it can run out of time.

Two kinds. `Inline` runs to its end at once: for runs in which only the place of a crash matters. `Threaded` gives the
baton back to the scheduler at each call, so that everything else happens meanwhile; only one thread runs at a time, so
the same seed is the same run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from tests.simulation.world.scheduler import Scheduler

Ended = Callable[[object], None]  # what the invocation answered, or the exception (Killed too) it died of


class Killed(BaseException):
    """The process is gone. Not an Exception, since nothing of a killed process runs any more."""


class Process(Protocol):
    """What the ports see of the invocation that calls them."""

    function: str
    number: int
    started: int
    deadline: int
    dead: bool

    def pause(self, wait_ms: int) -> None:
        """Let time pass; raises Killed where the function's timeout is over meanwhile."""
        ...

    def kill(self) -> None:
        """Be gone from the next call on."""
        ...

    def run(self, work: Callable[[], object], ended: Ended) -> None:
        """Carry out the invocation and tell what came of it."""
        ...

    def stop(self) -> None:
        """Leave no thread behind."""
        ...


class _Mortal:
    def __init__(self, scheduler: Scheduler, function: str, number: int, timeout_ms: int) -> None:
        self.function, self.number = function, number
        self.started, self.deadline = scheduler.now, scheduler.now + timeout_ms
        self.dead = False
        self._scheduler = scheduler

    def kill(self) -> None:
        self.dead = True

    def _go_on(self) -> None:
        if self._scheduler.now >= self.deadline:
            self.kill()
        if self.dead:
            raise Killed


class Inline(_Mortal):
    """Runs to its end at once; pausing moves the clock."""

    def pause(self, wait_ms: int) -> None:
        self._scheduler.now = min(self._scheduler.now + wait_ms, self.deadline)
        self._go_on()

    def run(self, work: Callable[[], object], ended: Ended) -> None:
        ended(outcome(work))

    def stop(self) -> None:
        """It has ended."""


class Threaded(_Mortal):
    """Runs in a thread of its own that waits for its turn at each pause."""

    def __init__(self, scheduler: Scheduler, function: str, number: int, timeout_ms: int) -> None:
        super().__init__(scheduler, function, number, timeout_ms)
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._over = False

    def pause(self, wait_ms: int) -> None:
        until = min(self._scheduler.now + wait_ms, self.deadline)
        if not self.dead:
            self._scheduler.at(until, self._resume)
            self._back.release()
            self._go.acquire()
        self._go_on()

    def run(self, work: Callable[[], object], ended: Ended) -> None:
        def main() -> None:
            self._go.acquire()
            answer = outcome(work)
            self._over = True
            self._scheduler.at(self._scheduler.now, lambda: ended(answer))
            self._back.release()

        threading.Thread(target=main, daemon=True).start()
        self._scheduler.at(self._scheduler.now, self._resume)

    def stop(self) -> None:
        self.kill()
        if not self._over:
            self._resume()

    def _resume(self) -> None:
        self._go.release()
        self._back.acquire()


def outcome(work: Callable[[], object]) -> object:
    """What the work answered, or what it died of."""
    try:
        return work()
    except Killed as killed:
        return killed
    except Exception as error:  # noqa: BLE001 the runtime reports it, whatever it is
        return error
