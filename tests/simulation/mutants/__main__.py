"""Break the product on purpose, and see whether the tests say so.

    python -m tests.simulation.mutants                    the quick ones
    python -m tests.simulation.mutants --long             all of them
    python -m tests.simulation.mutants --only lease       those whose name or reason holds this
    python -m tests.simulation.mutants --list             what there is

Each is one replacement in one file of a copy of the tree; a few test files run there and must fail. One that survives
is printed, and the command ends with 1. Add a mutant with each rule: a guard without one is a guard that nobody misses.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.mutants.catalogue import MUTANTS, QUICK
from tests.simulation.mutants.mutant import Misfit, Mutant
from tests.simulation.mutants.runner import Report, Verdict, run


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="all of them, not the quick ones only")
    parser.add_argument("--only", metavar="WORD", help="those whose name, file or reason holds this")
    parser.add_argument("--list", action="store_true", help="name them and end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the score there")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    told = parser.parse_args(argv)
    chosen = _chosen(told.only, long=told.long or told.list)
    if not chosen:
        parser.error(f"no mutant has {told.only!r} in its name or file, or as its reason")
    if told.list:
        for mutant in chosen:
            _print(f"{mutant.why:12} {mutant.name}: {mutant.breaks}")
        return 0
    began = time.monotonic()
    try:
        report = run(chosen, workers=told.workers, tell=_print)
    except Misfit as misfit:
        _print(str(misfit))
        return 1
    if told.json is not None:
        told.json.write_text(json.dumps(summary(report), indent=2) + "\n")
    _print(f"{_said(report)}\n{time.monotonic() - began:.0f} s")
    return 0 if report.right else 1


def summary(report: Report) -> dict[str, object]:
    """The score, and each mutant with what noticed it."""
    return {
        "mutants": len(report.scores),
        "killed": report.killed,
        "whole": report.whole,
        "scores": [
            {
                "name": score.mutant.name,
                "why": score.mutant.why,
                "breaks": score.mutant.breaks,
                "file": str(score.mutant.path),
                "verdict": str(score.verdict),
                "by": score.by,
            }
            for score in report.scores
        ],
    }


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 a command prints


def _chosen(word: str | None, *, long: bool) -> tuple[Mutant, ...]:
    if word is None:
        return MUTANTS if long else QUICK
    return tuple(m for m in MUTANTS if word in m.name or word in m.file or word == m.why)


def _said(report: Report) -> str:
    lines = [] if report.whole else [f"the tests fail where nothing is broken: {report.said}"]
    for score in report.scores:
        if score.verdict is not Verdict.KILLED:
            told = f"{score.verdict}: {score.mutant.name} ({score.mutant.why}): {score.mutant.breaks}"
            lines.append(f"{told}\n  in {score.mutant.path}; ran {' '.join(score.mutant.tests)}; {score.by}")
    return "\n".join([*lines, f"{report.killed} of {len(report.scores)} mutants killed"])


if __name__ == "__main__":
    sys.exit(main())
