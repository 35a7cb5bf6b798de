"""A failing seed made small: jobs and faults are left out as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tests.simulation.simulation import Result, simulate

T = TypeVar("T")
MOST_RUNS = 300


class Simulate(Protocol):
    """Runs a part of a seed."""

    def __call__(self, seed: int, *, jobs: Sequence[int], only: frozenset[str]) -> Result: ...


def shrunk(result: Result, *, simulate: Simulate = simulate, most_runs: int = MOST_RUNS) -> str:
    """What is left of it, and the command that runs just that."""
    kind = _kind(result)
    runs = 0

    def fails(jobs: Sequence[int], faults: Sequence[str]) -> bool:
        nonlocal runs
        runs += 1
        again = simulate(result.seed, jobs=jobs, only=frozenset(faults))
        return runs <= most_runs and _kind(again) == kind

    jobs, faults = list(result.numbers), list(result.struck)
    if not fails(jobs, faults):
        return f"again: python -m tests.simulation.seeds --seed {result.seed}"
    faults = least(faults, lambda fewer: fails(jobs, fewer))
    jobs = least(jobs, lambda fewer: bool(fewer) and fails(fewer, faults))
    faults = least(faults, lambda fewer: fails(jobs, fewer))
    command = f"python -m tests.simulation.seeds --seed {result.seed} --jobs {','.join(map(str, jobs))}"
    return (
        f"shrunk from {len(result.numbers)} jobs and {len(result.struck)} faults to {len(jobs)} and {len(faults)}"
        f"\nagain: {command} --faults {','.join(faults) or '-'}"
    )


def least(things: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A list from which nothing more can be left out: halves first, then smaller and smaller parts."""
    kept = list(things)
    part = max(1, len(kept) // 2)
    while kept:
        start, dropped = 0, False
        while start < len(kept):
            fewer = kept[:start] + kept[start + part :]
            if fails(fewer):
                kept, dropped = fewer, True
            else:
                start += part
        if part == 1 and not dropped:
            break
        part = max(1, part // 2)
    return kept


def _kind(result: Result) -> str:
    """The invariant that broke: the first word of what is told of it."""
    return (result.violation or "").partition(" ")[0]
