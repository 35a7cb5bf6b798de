"""Everything that is offered as proof, in one run and one table; 1 where anything is violated, missed or survives.

    python -m tests.simulation.prove           about 8 minutes of two free cores
    python -m tests.simulation.prove --long    larger bounds, about 35 minutes

The explorer goes through every state of small models, with the product's own rules and then with wrong readings of
them, which it must catch; the simulation crashes every life at every point and at pairs of points, and runs seeds;
mutants break the product on purpose, and the tests must say so. The numbers are kept in build/prove/report.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "prove"
SEEDS, SEEDS_LONG = 300, 1500
PATIENCE_S = 30.0  # a part that says nothing for so long is told to be at work

Numbers = dict[str, int]


class Unread(Exception):
    """A part did not print what is read of it: its numbers would be missing, and nobody would see that."""


@dataclass(frozen=True, slots=True)
class Part:
    """One command, and how its numbers are read."""

    name: str
    command: tuple[str, ...]
    read: Callable[[str], Numbers]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a part."""

    name: str
    code: int
    numbers: Numbers
    seconds: float
    worked_s: float = 0.0  # of the processors, which does not depend on what else the machine does

    @property
    def right(self) -> bool:
        return self.code == 0 and self.numbers.get("violations") == 0


def explored(text: str) -> Numbers:
    """The explorer's sum, and how many wrong readings it has caught."""
    states, steps, depth, bad = _numbers(r"^all +(\d+) +(\d+) +(\d+) +(\d+)$", text)
    caught, wrong = _numbers(r"^wrong readings caught: (\d+) of (\d+)$", text)
    cut = len(re.findall(r" \(cut\) ", text))
    return {
        "states": states,
        "steps": steps,
        "depth": depth,
        "cut": cut,
        "wrong_readings": wrong,
        "caught": caught,
        "violations": bad + wrong - caught,
    }


def crashed(text: str) -> Numbers:
    """The crash points' sum: boundaries, crashes at each, refused calls and lost answers, pairs, runs that asked."""
    found = _numbers(r"^all +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", text)
    return dict(zip(("boundaries", "crashes", "faults", "pairs", "asked", "violations"), found, strict=True))


def sown(text: str) -> Numbers:
    """What the seeds came to."""
    seeds, jobs, runs, faults, deaths = _numbers(
        r"^(\d+) seeds, (\d+) jobs, (\d+) invocations, (\d+) faults, (\d+) deaths of a process$", text
    )
    (bad,) = _numbers(r"^(\d+) violations$", text)
    return {
        "seeds": seeds,
        "jobs": jobs,
        "invocations": runs,
        "faults": faults,
        "deaths": deaths,
        "violations": bad,
    }


def mutated(text: str) -> Numbers:
    """How many mutants were killed."""
    killed, mutants = _numbers(r"^(\d+) of (\d+) mutants killed$", text)
    return {"mutants": mutants, "killed": killed, "violations": mutants - killed}


def parts(*, long: bool) -> tuple[Part, ...]:
    """The commands, each by itself good for a person too."""
    more = ("--long",) if long else ()
    seeds = str(SEEDS_LONG if long else SEEDS)
    mutants = str(FOLDER / "mutants.json")
    return (
        Part("explorer", ("tests.simulation.explore", *more), explored),
        Part("crashes", ("tests.simulation.crash", *more), crashed),
        Part("seeds", ("tests.simulation.seeds", "--seeds", seeds), sown),
        Part("mutants", ("tests.simulation.mutants", "--long", "--json", mutants), mutated),
    )


def run(part: Part, tell: Callable[[str], None]) -> Done:
    """The part, its lines told as they come, its numbers read at the end."""
    began, worked = time.monotonic(), _worked()
    tell(f"prove: {part.name}: python -m {' '.join(part.command)}")
    with subprocess.Popen(
        [sys.executable, "-u", "-m", *part.command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared")))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines = _followed(process, tell, began)
        code = process.wait()
    text = "\n".join(lines)
    try:
        numbers = part.read(text)
    except Unread as unread:
        tell(f"prove: {part.name}: {unread}")
        numbers = {}
    return Done(part.name, code, numbers, time.monotonic() - began, _worked() - worked)


def _worked() -> float:
    """Seconds that the processors have worked for commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(done: Sequence[Done]) -> str:
    """One line for each kind of evidence, violations last."""
    rows = [row for one in done for row in _rows(one)]
    width = max(len(tried) for _, tried, _ in rows)
    lines = [f"{'evidence':18} {'tried':{width}}  violations"]
    lines += [f"{name:18} {tried:{width}}  {bad:>10}" for name, tried, bad in rows]
    return "\n".join(lines)


def report(done: Sequence[Done], *, long: bool) -> dict[str, object]:
    """The same for machines."""
    return {
        "long": long,
        "right": all(one.right for one in done),
        "seconds": round(sum(one.seconds for one in done)),
        "processor_seconds": round(sum(one.worked_s for one in done)),
        **{
            one.name: {
                **one.numbers,
                "exit": one.code,
                "seconds": round(one.seconds),
                "processor_seconds": round(one.worked_s),
            }
            for one in done
        },
    }


def _rows(one: Done) -> list[tuple[str, str, str]]:
    n = one.numbers
    if not n:
        return [(one.name, f"said nothing that could be read; it ended with {one.code}", "?")]
    if one.name == "explorer":
        cut = f", {n['cut']} models cut" if n["cut"] else ""
        missed = n["wrong_readings"] - n["caught"]
        return [
            (
                "explorer",
                f"{n['states']:,} states, {n['steps']:,} steps, depth {n['depth']}{cut}",
                str(n["violations"] - missed),
            ),
            ("wrong readings", f"{n['caught']} of {n['wrong_readings']} caught", str(missed)),
        ]
    if one.name == "crashes":
        return [
            (
                "crash points",
                f"{n['boundaries']:,} points: {n['crashes']:,} crashes, {n['faults']:,} refused calls and lost answers",
                str(n["violations"]),
            ),
            ("pairs of crashes", f"{n['pairs']:,}", "above"),
        ]
    if one.name == "seeds":
        tried = f"{n['seeds']:,} seeds, {n['jobs']:,} jobs, {n['faults']:,} faults, {n['deaths']:,} deaths of a process"
        return [("seeds", tried, str(n["violations"]))]
    return [("mutants", f"{n['killed']} of {n['mutants']} killed", str(n["violations"]))]


def _numbers(pattern: str, text: str) -> list[int]:
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise Unread(f"it printed {len(found)} lines like {pattern!r}, not one")
    cells = found[0] if isinstance(found[0], tuple) else (found[0],)
    return [int(cell) for cell in cells]


def _followed(process: subprocess.Popen[str], tell: Callable[[str], None], began: float) -> list[str]:
    """Every line, as it comes; and a sign of life where none comes."""
    assert process.stdout is not None
    heard: Queue[str | None] = Queue()

    def listen() -> None:
        for line in process.stdout or ():
            heard.put(line.rstrip("\n"))
        heard.put(None)

    threading.Thread(target=listen, daemon=True).start()
    lines: list[str] = []
    while True:
        try:
            line = heard.get(timeout=PATIENCE_S)
        except Empty:
            tell(f"prove: at work for {time.monotonic() - began:.0f} s")
            continue
        if line is None:
            return lines
        lines.append(line)
        tell(line)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 a command prints


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.prove", description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="all of it")
    told = parser.parse_args(argv)
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = [run(part, _print) for part in parts(long=told.long)]
    summary = report(done, long=told.long)
    (FOLDER / "report.json").write_text(json.dumps(summary, indent=2) + "\n")
    time_taken = f"{summary['seconds']} s, {summary['processor_seconds']} s of the processors"
    _print(f"\n{table(done)}\n{time_taken}; build/prove/report.json")
    return 0 if summary["right"] else 1


if __name__ == "__main__":
    sys.exit(main())
