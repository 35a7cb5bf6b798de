"""Count what a job costs, on a bare emulator: python -m bench.

Prints the tables, writes build/bench/report.json and docs/budgets.md, and ends with 1 where a budget is exceeded.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench import packages
from bench.bed import Bed
from bench.budgets import budgets
from bench.line import LineError
from bench.measure import Report, measure
from bench.report import markdown, text
from local.stack import emulator
from local.stack.places import ROOT, Place, StackError, write_json
from local.stack.processes import Processes, exclusive, free_port

DOCS = ROOT / "docs" / "budgets.md"


@contextmanager
def bed() -> Iterator[Bed]:
    """A bed on an emulator of its own, which ends with it."""
    place = Place("bench")
    processes = Processes(place)
    with exclusive(place):
        processes.stop()
        folders = (place.emulator, place.home / "bed")
        try:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
            port = free_port()
            emulator.start(place, processes, port)
            with Bed(f"http://127.0.0.1:{port}", place.home / "bed") as made:
                yield made
        finally:
            processes.stop()
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)


def layer_size() -> dict[str, object]:
    """The layer as sam build last made it here; where it has not, what it would be made of is not weighed."""
    built = packages.built()
    return {"layer_mb": None if built is None else round(packages.megabytes(built), 1)}


def _told(report: Report) -> int:
    print(text(report))
    size = report["layer_mb"]
    print(f"\nLayer: {size} MB unpacked" if size else "\nLayer: not built here yet (make up builds it)")
    write_json(ROOT / "build" / "bench" / "report.json", report)
    over = [each for each in budgets(report) if not each.kept]
    for each in over:
        print(f"over budget: {each.name}: {each.found:g}, at most {each.limit:g}", file=sys.stderr)
    return 1 if over else 0


def main() -> int:
    try:
        with bed() as made:
            report = measure(made) | layer_size()
    except (StackError, LineError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    DOCS.write_text(markdown(report), encoding="utf-8")
    return _told(report)


if __name__ == "__main__":
    sys.exit(main())
