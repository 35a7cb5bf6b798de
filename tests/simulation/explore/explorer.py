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


class Explorer:
    """Keeps a hash of each state seen, and for each the step that led to it first."""

    def __init__(self, engine: Engine, *, most_states: int = 10**9, most_seconds: float = 1e9) -> None:
        self._engine = engine
        self._recovery = Recovery(engine) if engine.model.recovers else None
        self._most_states, self._most_seconds = most_states, most_seconds
        self._parents, self._labels = array("q"), array("q")
        self._label_numbers: dict[tuple[Any, ...], int] = {}

    def run(self) -> Result:
        started = time.monotonic()
        first = self._engine.first()
        seen = {hash(first)}
        self._note(-1, ("first",))
        frontier, steps, depth, cut = [(first, 0)], 0, 0, False
        found = self._wrong(first)
        trace = 0
        while frontier and not found and not cut:
            depth += 1
            following: list[tuple[State, int]] = []
            for state, at in frontier:
                for move in self._engine.moves(state):
                    steps += 1
                    key = hash(move.after)
                    if key in seen and not move.bad:
                        continue
                    seen.add(key)
                    number = self._note(at, move.label)
                    following.append((move.after, number))
                    found = move.bad or self._wrong(move.after)
                    if found:
                        trace = number
                        break
                if found:
                    break
                if len(seen) >= self._most_states or time.monotonic() - started > self._most_seconds:
                    cut = True
                    break
            frontier = following
        return Result(
            model=self._engine.model.name,
            states=len(seen),
            steps=steps,
            depth=depth,
            rounds=self._recovery.rounds if self._recovery else 0,
            seconds=time.monotonic() - started,
            cut=cut,
            violation=found,
            trace=self._told(trace) if found else (),
        )

    def _wrong(self, state: State) -> str | None:
        engine = self._engine
        broken = engine.machine.broken or engine.watch.broken
        if broken:
            return f"crash: {broken}"
        return engine.invariants.state(state) or (self._recovery.why_not(state) if self._recovery else None)

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
