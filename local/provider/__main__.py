"""`python -m local.provider`: serve until told to stop."""

from __future__ import annotations

import argparse
import signal
import threading
from dataclasses import replace
from pathlib import Path

from local.provider.faults import PROFILES
from local.provider.server import SimulatedProvider
from local.provider.settings import Settings


def _arguments() -> argparse.Namespace:
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="python -m local.provider", description="The simulated media provider.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--seed", type=int, default=1, help="decides which job meets which fault")
    parser.add_argument("--faults", choices=sorted(PROFILES), default="none")
    parser.add_argument("--state", type=Path, help="keeps keys and ledger there, so that a restart goes on")
    parser.add_argument("--idempotent", type=int, choices=(0, 1), default=1, help="0: sim ignores Idempotency-Key")
    for name in ("expected_s", "max_run_s", "progress_per_s", "url_life_s", "key_life_s", "block_s"):
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=float, default=getattr(defaults, name), help="default %(default)s")
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    settings = replace(
        Settings(),
        expected_s=given.expected_s,
        max_run_s=given.max_run_s,
        progress_per_s=given.progress_per_s,
        url_life_s=given.url_life_s,
        key_life_s=given.key_life_s,
        block_s=given.block_s,
    )
    provider = SimulatedProvider(
        port=given.port,
        seed=given.seed,
        faults=given.faults,
        state=given.state,
        idempotent=bool(given.idempotent),
        settings=settings,
    )
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    provider.start()
    print(f"listening {provider.base_url}", flush=True)
    stop.wait()
    provider.stop()


if __name__ == "__main__":
    main()
