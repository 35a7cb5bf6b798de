"""Explore, and print states, steps, depth and violations; exit 1 where there is one, or one too few."""

from __future__ import annotations

import argparse
import sys

from tests.simulation.explore.models import MODELS
from tests.simulation.explore.session import Session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.explore", description=__doc__)
    parser.add_argument(
        "--long", action="store_true", help="more of everything, about twenty minutes of two free cores"
    )
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS], help="only this model")
    parser.add_argument("--wrong", metavar="WORDS", help="only wrong readings whose name has these words")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    return Session(long=arguments.long, workers=arguments.workers).run(arguments.model, arguments.wrong)


if __name__ == "__main__":
    sys.exit(main())
