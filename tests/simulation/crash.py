"""Every crash point, and every pair of them, of every life a job can have.

    python -m tests.simulation.crash                       every point, and some pairs
    python -m tests.simulation.crash --long                every point, and every pair
    python -m tests.simulation.crash --only poll --at 12   one run again, with what happened in it

A boundary lies before and after each call that a function makes to AWS, a provider or S3, and a third one while a
submit is on the wire. At each the process is killed; beside that each call is refused once, and the answer of each call
is lost once. After every crash the system recovers by itself: redelivery, the stream, reconcile. Then all invariants
are asserted against the provider's ledger.

A process killed after one call leaves the same world behind as one killed before its next: of these twins only one is
taken for the pairs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation.lifecycles import LIFECYCLES, Lifecycle
from tests.simulation.world.functions import Fleet
from tests.simulation.world.watch import Violation
from tests.simulation.world.weather import Boundaries, Boundary

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is tried: crash points with or without their twins, each n-th failing call, each n-th of the pairs."""

    twins: bool = True
    faults: int = 1
    pairs: int = 1


SHORT, USUAL, LONG = Depth(twins=False, faults=4, pairs=80), Depth(pairs=7), Depth()

Faults = dict[int, str]
_fleet = Fleet()


@dataclass(frozen=True, slots=True)
class Failure:
    """A run in which an invariant did not hold."""

    name: str
    faults: Faults
    where: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        at = ",".join(f"{number}:{kind}" for number, kind in self.faults.items())
        again = f"python -m tests.simulation.crash --only {self.name!r} --at {at}"
        return f"{self.name}: {' and '.join(self.where)}\n  {self.text}\n  again: {again}"


@dataclass
class Count:
    """What was tried of one life."""

    name: str
    boundaries: int = 0
    kills: int = 0
    faults: int = 0  # refused calls and lost answers
    pairs: int = 0
    asked: int = 0  # runs in which a person had to decide
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Count) -> None:
        self.kills += other.kills
        self.faults += other.faults
        self.pairs += other.pairs
        self.asked += other.asked
        self.failures += other.failures


def boundaries(name: str) -> list[Boundary]:
    """The boundaries of a life in which nothing crashes."""
    weather = Boundaries({})
    _life(name).live(weather, _fleet)
    return weather.passed


def run(count: Count, faults: Faults) -> list[Boundary]:
    """One run with these faults; what it passed."""
    weather = Boundaries(faults)
    try:
        count.asked += bool(_life(count.name).live(weather, _fleet).asked)
    except Violation as violation:
        where = tuple(f"{kind} {weather.passed[number - 1]}" for number, kind in faults.items())
        count.failures.append(Failure(count.name, faults, where, str(violation)))
    return weather.passed


def single(name: str, first: int, last: int, depth: Depth) -> Count:
    """The points of this stretch: killed there; and the call refused, or its answer lost."""
    count = Count(name)
    passed = boundaries(name)
    points = set(range(1, len(passed) + 1) if depth.twins else distinct(passed))
    for number in range(first, min(last, len(passed)) + 1):
        if number in points:
            run(count, {number: "kill"})
            count.kills += 1
        fault = {"before": "refuse", "after": "lose"}.get(passed[number - 1].side)
        if fault is not None and number % depth.faults == 0:
            run(count, {number: fault})
            count.faults += 1
    return count


def pairs(name: str, first: int, every: int) -> Count:
    """Killed at `first`, and once more at each later point of the recovery (or at every n-th)."""
    count = Count(name)
    passed = run(Count(name), {first: "kill"})
    later = [number for number in distinct(passed) if number > first]
    for number in later[first % every :: every]:
        run(count, {first: "kill", number: "kill"})
        count.pairs += 1
    return count


def distinct(passed: Sequence[Boundary]) -> list[int]:
    """Points that leave different worlds behind."""
    numbers = []
    for number, here in enumerate(passed, start=1):
        before = passed[number - 2] if number > 1 else None
        same = before is not None and here.side == "before" and before.invocation == here.invocation
        if not same:
            numbers.append(number)
    return numbers


def explore(names: Sequence[str], pool: Executor, depth: Depth) -> Iterator[Count]:
    """All of these lives; the pool's processes share the work."""
    under_way: list[tuple[Count, list[Future[Count]]]] = []
    for name in names:
        passed = boundaries(name)
        parts = [pool.submit(single, name, start, start + 19, depth) for start in range(1, len(passed) + 1, 20)]
        parts += [pool.submit(pairs, name, first, depth.pairs) for first in distinct(passed)]
        under_way.append((Count(name, boundaries=len(passed)), parts))
    for whole, parts in under_way:
        for part in parts:
            whole.add(part.result())
        yield whole


def _life(name: str) -> Lifecycle:
    return next(life for life in LIFECYCLES if life.name == name)


def _again(name: str, at: str) -> int:
    """One run, with all that was logged in it."""
    parts = (part.partition(":") for part in at.split(",") if part)
    faults = {int(number): kind or "kill" for number, _, kind in parts}
    weather = Boundaries(faults)
    towns = []
    life = _life(name)
    try:
        towns.append(life.live(weather, _fleet).town)
        print("no violation")  # noqa: T201 a command prints
    except Violation as violation:
        print(violation)  # noqa: T201
    for number, boundary in enumerate(weather.passed, start=1):
        print(f"{number:5d} {boundary}{'   <-- ' + faults[number] if number in faults else ''}")  # noqa: T201
    for town in towns:
        print(town.log.text())  # noqa: T201
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.crash", description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="every pair, not some of them")
    parser.add_argument("--only", choices=[life.name for life in LIFECYCLES], help="one life")
    parser.add_argument("--at", metavar="N[:KIND][,N…]", help="one run with these faults (kill, refuse, lose)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    told = parser.parse_args(argv)
    names = [told.only] if told.only else [life.name for life in LIFECYCLES]
    if told.at is not None:
        return _again(names[0], told.at)
    return _explored(names, told.workers, LONG if told.long else USUAL)


def _explored(names: Sequence[str], workers: int, depth: Depth) -> int:
    began, total = time.monotonic(), Count("all")
    print(f"{'life':36} boundaries  crashes   faults     pairs  asked  violations")  # noqa: T201
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for count in explore(names, pool, depth):
            total.boundaries += count.boundaries
            total.add(count)
            _print(count)
    _print(total)
    for failure in total.failures[:SHOWN]:
        print(failure)  # noqa: T201
    print(f"{time.monotonic() - began:.0f} s, {len(total.failures)} violations")  # noqa: T201
    return 1 if total.failures else 0


def _print(count: Count) -> None:
    print(  # noqa: T201
        f"{count.name:36} {count.boundaries:10d} {count.kills:8d} {count.faults:8d} {count.pairs:9d} {count.asked:6d}"
        f" {len(count.failures):11d}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
