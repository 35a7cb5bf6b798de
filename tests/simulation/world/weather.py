"""What goes wrong, where and when. Everything that can fail asks the weather first; a calm one lets all pass."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from mediajobs.errors import NoAnswer, NotSent, Retryable, Throttled
from tests.simulation.world.process import Killed, Process


@dataclass(frozen=True, slots=True)
class Wire:
    """How one submit travels. A request that is slow arrives although its sender has given up or died."""

    arrives_ms: int = 0
    answers_ms: int = 0
    lost: bool = False  # the answer never comes


class Weather:
    """Calm. `reach` is asked before a call takes effect, `leave` after; either may raise what its port raises."""

    def reach(self, process: Process, call: str) -> None:
        """Before the call took effect."""

    def leave(self, process: Process, call: str) -> None:
        """After it took effect and before its answer is there."""

    def wire(self, process: Process, reference: str) -> Wire:
        """How a submit of this reference travels. Raises Killed for a sender that dies while it is on the wire."""
        return Wire()

    def happens(self, kind: str) -> bool:
        """Whether the next fault of this kind strikes."""
        return False

    def pick(self, kind: str, least: int, most: int) -> int:
        """A size for the fault of this kind that has just struck."""
        return least


def refused(call: str) -> Exception:
    """What a call raises that had no effect."""
    if call.startswith("http."):
        return NotSent(f"{call}: connection refused")
    return Throttled(f"{call}: ThrottlingException") if call.startswith("store.") else Retryable(f"{call}: 500")


def lost(call: str) -> Exception:
    """What a call raises that had its effect, when its answer was lost."""
    return NoAnswer(f"{call}: reset") if call.startswith("http.") else Retryable(f"{call}: ReadTimeoutError")


@dataclass(frozen=True, slots=True)
class Boundary:
    """One side of one call of one invocation."""

    invocation: int
    function: str
    side: str  # before | on the wire | after
    call: str

    def __str__(self) -> str:
        return f"{self.function}: {self.side} {self.call}"


class Boundaries(Weather):
    """Counts every boundary of every function and lets the named ones fail: "kill", "refuse" (before a call) or
    "lose" (the answer of a call that took effect).
    """

    def __init__(self, faults: dict[int, str]) -> None:
        self.faults = faults
        self.passed: list[Boundary] = []
        self.struck = 0

    def reach(self, process: Process, call: str) -> None:
        self._at(process, call, "before")

    def leave(self, process: Process, call: str) -> None:
        self._at(process, call, "after")

    def wire(self, process: Process, reference: str) -> Wire:
        self._at(process, "http.submit", "on the wire")
        return Wire()

    def _at(self, process: Process, call: str, side: str) -> None:
        self.passed.append(Boundary(process.number, process.function, side, call))
        fault = self.faults.get(len(self.passed))
        if fault is None:
            return
        self.struck += 1
        if fault == "kill":
            process.kill()
            raise Killed
        raise refused(call) if fault == "refuse" else lost(call)


class Seeded(Weather):
    """The n-th opportunity of each kind of fault strikes or does not by the seed alone, so that one fault can be left
    out without moving the others: that is how a failing seed is shrunk. `only` names the faults that may strike.
    """

    def __init__(self, seed: int, rates: dict[str, float], *, only: frozenset[str] | None = None) -> None:
        self.seed, self.rates, self.only = seed, rates, only
        self.over = False  # the faults have stopped
        self.struck: list[str] = []
        self._count: dict[str, int] = {}
        self._order = random.Random(f"{seed} order")

    def happens(self, kind: str) -> bool:
        rate = self.rates.get(kind, 0.0) or self.rates.get(kind.partition(" ")[0], 0.0)
        if self.over or not rate:
            return False
        number = self._count[kind] = self._count.get(kind, 0) + 1
        name = f"{kind}#{number}".replace(" ", "_")
        if self._fraction(kind, number) >= rate or (self.only is not None and name not in self.only):
            return False
        self.struck.append(name)
        return True

    def pick(self, kind: str, least: int, most: int) -> int:
        fraction = self._fraction(f"{kind} size", self._count.get(kind, 0))
        return least + int(fraction * (most - least + 1))

    def latency(self, least: int, most: int) -> int:
        """How long something ordinary takes: the order of things, no fault."""
        return self._order.randint(least, most)

    def _fraction(self, kind: str, number: int) -> float:
        digest = hashlib.blake2b(f"{self.seed}|{kind}|{number}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "big") / 2**56
