"""Deterministic simulation: the real steps under a seeded scheduler, a virtual clock and every kind of fault.

    python -m tests.simulation.seeds --seeds 500 --from 1    five hundred seeds
    python -m tests.simulation.seeds --seed 42               one of them again, with what happened in it

Each seed runs jobs of two tenants at two providers through up to 25 minutes of faults; then these stop, and every job
has to end and be published, or show attention. All seven invariants are asserted after every write, every acceptance
at the provider, and at the end against its ledger. A seed that fails is shrunk: jobs and faults are left out as long as
it still fails, and the command that runs what is left is printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.shrink import shrunk
from tests.simulation.simulation import Result, Simulation, simulate

CHUNK = 4


def _several(seeds: Sequence[int]) -> list[Result]:
    return [simulate(seed) for seed in seeds]


def run(seeds: Sequence[int], workers: int) -> tuple[list[Result], bool]:
    """All of these seeds, in the order given; whether none failed."""
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = [result for part in pool.map(_several, chunks) for result in part]
    return results, not any(result.violation for result in results)


def report(results: Sequence[Result]) -> str:
    """What was tried, in a few lines."""
    waits = sorted(result.converged_s for result in results if result.converged_s is not None)
    lines = [
        (
            f"{len(results)} seeds, {sum(r.jobs for r in results)} jobs,"
            f" {sum(r.invocations for r in results)} invocations, {sum(r.faults for r in results)} faults,"
            f" {sum(r.crashes for r in results)} deaths of a process"
        ),
        (
            f"{sum(r.ended for r in results)} jobs ended, {sum(r.asking for r in results)} show attention,"
            f" {sum(r.charges for r in results)} charges"
        ),
    ]
    if waits:
        middle, most = waits[len(waits) // 2], waits[-1]
        lines.append(f"after the last fault all was settled within {middle:.0f} s (median), {most:.0f} s (longest)")
    lines.append(f"{sum(bool(r.violation) for r in results)} violations")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.seeds", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one, with its log")
    parser.add_argument("--jobs", help="only these of its jobs: 0,3")
    parser.add_argument("--faults", help="only these of its faults, as a shrunk seed names them; none: -")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    told = parser.parse_args(argv)
    if told.seed is not None:
        return _one(told.seed, told.jobs, told.faults)
    began = time.monotonic()
    results, right = run(range(told.first, told.first + told.seeds), told.workers)
    print(report(results))  # noqa: T201 a command prints
    print(f"{time.monotonic() - began:.0f} s")  # noqa: T201
    for result in [result for result in results if result.violation][:3]:
        print(f"\nseed {result.seed}: {result.violation}")  # noqa: T201
        print(shrunk(result))  # noqa: T201
    return 0 if right else 1


def _one(seed: int, jobs: str | None, faults: str | None) -> int:
    numbers = None if jobs is None else [int(number) for number in jobs.split(",")]
    only = None if faults is None else frozenset(faults.split(","))
    simulation = Simulation(seed, jobs=numbers, only=only)
    result = simulation.run()
    print(simulation.town.log.text())  # noqa: T201
    print(report([result]))  # noqa: T201
    print(f"faults: {','.join(result.struck) or '-'}")  # noqa: T201
    print(result.violation or "no violation")  # noqa: T201
    return 1 if result.violation else 0


if __name__ == "__main__":
    sys.exit(main())
