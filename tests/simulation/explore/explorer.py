"""Breadth first through every state of a model; the first violation is told as the shortest way to it."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass
from typing import Any

from tests.simulation.explore.engine import Engine
from tests.simulation.explore.recovery import Recovery
from tests.simulation.explore.state import State
from tests.simulation.explore.words import told

Frontier = list[tuple[State, int]]


@dataclass(frozen=True, slots=True)
class Result:
    """What an exploration came to. `cut`: the states were not all seen."""

    model: str
    states: int
    steps: int
    depth: int
    rounds: int
    seconds: float
    cut: bool = False
    violation: str | None = None
    trace: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()  # rows of the table that have spoken
    spent: frozenset[str] = frozenset()  # kinds of what may happen that have happened


class Explorer:
    """Keeps a hash of each state seen, and for each the step that led to it first."""

    def __init__(self, engine: Engine, *, most_states: int = 10**9) -> None:
        self._engine = engine
        self._recovery = Recovery(engine) if engine.model.recovers else None
        self._most_states = most_states
        self._seen: set[int] = set()
        self._parents, self._labels = array("q"), array("q")
        self._label_numbers: dict[tuple[Any, ...], int] = {}
        self._steps = 0
        self._found: str | None = None

    def run(self) -> Result:
        started = time.monotonic()
        frontier, depth = self._first(), 0
        while frontier and self._found is None and len(self._seen) < self._most_states:
            depth += 1
            frontier = self._next(frontier)
        self._found = self._found or self._broken()
        return Result(
            model=self._engine.model.name,
            states=len(self._seen),
            steps=self._steps,
            depth=depth,
            rounds=self._recovery.rounds if self._recovery else 0,
            seconds=time.monotonic() - started,
            cut=self._found is None and bool(frontier),
            violation=self._found,
            trace=self._told(len(self._parents) - 1) if self._found else (),
            spent=frozenset(self._engine.spent),
        )

    def _first(self) -> Frontier:
        state = self._engine.first()
        self._seen.add(hash(state))
        self._found = self._wrong(state)
        return [(state, self._note(-1, ("first",)))]

    def _next(self, frontier: Frontier) -> Frontier:
        """All states one step further that were not seen before; ends early at a violation, which is then the last."""
        following: Frontier = []
        for state, at in frontier:
            for move in self._engine.moves(state):
                self._steps += 1
                key = hash(move.after)
                if key in self._seen and not move.bad:
                    continue
                self._seen.add(key)
                number = self._note(at, move.label)
                following.append((move.after, number))
                self._found = move.bad or self._wrong(move.after)
                if self._found:
                    return following
            if len(self._seen) >= self._most_states:
                return following
        return following

    def _broken(self) -> str | None:
        broken = self._engine.machine.broken or self._engine.watch.broken
        return f"crash: {broken}" if broken else None

    def _wrong(self, state: State) -> str | None:
        why = self._broken() or self._engine.invariants.state(state)
        return why or (self._recovery.why_not(state) if self._recovery else None)

    def _note(self, parent: int, label: tuple[Any, ...]) -> int:
        self._parents.append(parent)
        self._labels.append(self._label_numbers.setdefault(label, len(self._label_numbers)))
        return len(self._parents) - 1

    def _told(self, number: int) -> tuple[str, ...]:
        labels = list(self._label_numbers)
        way: list[str] = []
        while number > 0:
            way.append(told(self._engine, labels[self._labels[number]]))
            number = self._parents[number]
        return tuple(reversed(way))
