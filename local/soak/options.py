"""What the soak can be told, by environment (as `make soak MINUTES=2` does) or by option."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from local.stack.start import LEAST_IN_FLIGHT
from local.told import told

# What two cores get through beside the kills; what is over waits in the waiting room and converges later.
JOBS_A_MINUTE = 12


@dataclass(frozen=True)
class Options:
    """The soak's settings."""

    jobs: int
    seed: int
    minutes: float
    max_in_flight: int
    wait_s: float
    name: str


def parse(arguments: list[str] | None = None) -> Options:
    """The options, each from its variable unless given."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="MINUTES: of load (5)")
    parser.add_argument("--jobs", type=int, default=0, help="JOBS: how many (12 a minute)")
    parser.add_argument("--seed", type=int, default=1, help="SEED: of faults and trouble (1)")
    parser.add_argument("--max-in-flight", type=int, default=4)
    parser.add_argument(
        "--wait", type=float, help="seconds for convergence until a job counts as stuck (300 + 8 a job)"
    )
    parser.add_argument("--name", default="soak", help="of the stack; it is taken down at the end")
    variables = told(os.environ, "MINUTES", "JOBS", "SEED", "MAX_IN_FLIGHT")
    given = parser.parse_args([*variables, *(sys.argv[1:] if arguments is None else arguments)])
    jobs = given.jobs or round(JOBS_A_MINUTE * given.minutes)
    if jobs < 1 or given.max_in_flight < LEAST_IN_FLIGHT or not 1 <= given.minutes <= 60:
        parser.error(f"JOBS is 1 or more, MAX_IN_FLIGHT {LEAST_IN_FLIGHT} or more, MINUTES is 1 to 60")
    return Options(
        jobs=jobs,
        seed=given.seed,
        minutes=given.minutes,
        max_in_flight=given.max_in_flight,
        wait_s=given.wait or 300 + 8 * jobs,
        name=given.name,
    )
