"""What the demo can be told, by environment (as `make demo JOBS=40` does) or by option."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from local.provider.settings import VENDORS
from local.stack.places import ROOT
from local.stack.start import FAULTS, LEAST_IN_FLIGHT, PROVIDERS
from local.told import told


@dataclass(frozen=True)
class Options:
    """The demo's settings."""

    jobs: int
    seed: int
    faults: str
    max_in_flight: int
    idempotent: bool
    wait_s: int
    people: bool
    name: str
    vendor: str = ""

    @property
    def provider(self) -> str:
        """The account the jobs go to: a vendor's double, one that honours keys, or one that does not."""
        return self.vendor or ("sim" if self.idempotent else "sim-nokey")

    @property
    def providers(self) -> Path:
        """The product's configuration."""
        return ROOT / "local" / "vendors" / f"{self.vendor}.toml" if self.vendor else PROVIDERS

    @property
    def told_all_by_webhook(self) -> bool:
        """Whether a webhook counts as this provider's word, so that without faults nothing has to be polled."""
        return self.vendor in ("", "fal", "replicate")


def parse(arguments: list[str] | None = None) -> Options:
    """The options, each from its variable unless given."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--jobs", type=int, default=0, help="JOBS: how many (40; 20 at a vendor)")
    parser.add_argument("--provider", choices=("", *VENDORS), default="", help="PROVIDER: the double of a vendor")
    parser.add_argument("--seed", type=int, default=1, help="SEED: of the faults (1)")
    parser.add_argument("--faults", choices=FAULTS, default="default")
    parser.add_argument("--max-in-flight", type=int, default=4)
    parser.add_argument("--idempotent", type=int, choices=(0, 1), default=1)
    parser.add_argument("--wait", type=int, help="seconds until what is not done counts as stuck (600 + 12 a job)")
    parser.add_argument("--name", default="demo", help="of the stack; it is taken down at the end")
    variables = told(os.environ, "JOBS", "PROVIDER", "SEED", "FAULTS", "MAX_IN_FLIGHT", "IDEMPOTENT")
    given = parser.parse_args([*variables, *(sys.argv[1:] if arguments is None else arguments)])
    jobs = given.jobs or (20 if given.provider else 40)
    if jobs < 1 or given.max_in_flight < LEAST_IN_FLIGHT:
        parser.error(f"JOBS is a whole number of 1 or more, MAX_IN_FLIGHT of {LEAST_IN_FLIGHT} or more")
    return Options(
        jobs=jobs,
        seed=given.seed,
        faults=given.faults,
        max_in_flight=given.max_in_flight,
        idempotent=bool(given.idempotent),
        wait_s=given.wait or 600 + 12 * jobs,
        people=given.faults != "none",
        name=given.name,
        vendor=given.provider,
    )
