"""What goes wrong, where and when. Everything that can fail asks the weather first; a calm one lets all pass."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from tests.simulation.world.process import Process


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
