"""All models and all wrong readings, over the cores, and what is printed of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from mediajobs.jobs.decide import TABLE
from tests.simulation.explore.engine import Engine
from tests.simulation.explore.explorer import Explorer, Result
from tests.simulation.explore.model import Model
from tests.simulation.explore.models import MODELS
from tests.simulation.explore.twist import deciding
from tests.simulation.explore.wrongs import WRONGS, Wrong

MOST_WRONG = 250_000  # states after which a wrong reading counts as not caught
MOST_LONG = 1_000_000  # states after which a model of the long form is cut, which its line says


def named(name: str) -> Model:
    return next(model for model in MODELS if model.name == name)


def explore(name: str, *, long: bool = False, most_states: int = 10**9) -> Result:
    """One model, all of it."""
    model = named(name)
    with deciding() as rules:
        result = Explorer(Engine(model.longer() if long else model), most_states=most_states).run()
    return replace(result, rules=frozenset(rules))


def explore_wrong(name: str) -> Result:
    """The model in which a wrong reading does harm, with it."""
    wrong = next(each for each in WRONGS if each.name == name)
    model = _of(wrong)
    with deciding(wrong.decide):
        return Explorer(Engine(model, wrong=wrong.flags, runs=wrong.runs), most_states=MOST_WRONG).run()


def _of(wrong: Wrong) -> Model:
    model = named(wrong.model)
    left = {**model.left, **wrong.left}
    return replace(model, people=(*model.people, *wrong.people), left=left, grid=wrong.grid or model.grid)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Session:
    """Runs and prints; `run` returns the exit code."""

    def __init__(self, *, long: bool, workers: int) -> None:
        self._long, self._workers = long, workers

    def run(self, models: list[str] | None, wrong: str | None) -> int:
        started = time.monotonic()
        names = models or ([] if wrong else [model.name for model in MODELS])
        wrongs = [each.name for each in WRONGS if not models and (wrong is None or wrong in each.name)]
        with ProcessPoolExecutor(self._workers, mp_context=get_context("spawn")) as pool:
            results = pool.map(_explore_long if self._long else explore, names)
            readings = zip(wrongs, pool.map(explore_wrong, wrongs), strict=True)
            fine = not names or self._models(results)
            caught = not wrongs or self._wrongs(readings)
        _say(f"explored in {time.monotonic() - started:.0f} s")
        return 0 if fine and caught else 1

    def _models(self, results: Iterable[Result]) -> bool:
        _say(f"{'model':12} {'states':>10} {'steps':>11} {'depth':>5} {'recovery':>9} {'seconds':>7}  violations")
        states = steps = depth = bad = 0
        seen = []
        for result in results:
            seen.append(result)
            states, steps, depth = states + result.states, steps + result.steps, max(depth, result.depth)
            bad += result.violation is not None
            _say(f"{_line(result)}  {result.violation or 0}")
            for number, line in enumerate(result.trace, 1):
                _say(f"    {number:3}. {line}")
        _say(f"{'all':12} {states:10} {steps:11} {depth:5}                    {bad}")
        if len(seen) == len(MODELS):
            quiet = silent(seen)
            _say(
                f"rows of the table that have spoken: {len(TABLE) - len(quiet)} of {len(TABLE)} ({' '.join(quiet)} not)"
            )
        return not bad

    def _wrongs(self, results: Iterable[tuple[str, Result]]) -> bool:
        caught = count = 0
        for name, result in results:
            count += 1
            caught += result.violation is not None
            verdict = f"caught after {result.depth} steps: {result.violation}" if result.violation else "NOT CAUGHT"
            _say(f"  {name} [{result.model}, {result.states} states]: {verdict}")
        _say(f"wrong readings caught: {caught} of {count}")
        return caught == count


def silent(results: Iterable[Result]) -> list[str]:
    """Rows of the table that have not spoken in any model."""
    spoken = frozenset[str]().union(*(result.rules for result in results))
    return [rule.row for rule in TABLE if rule.row not in spoken]


def _line(result: Result) -> str:
    cells = f"{result.states:10} {result.steps:11} {result.depth:5} {result.rounds:9} {result.seconds:7.1f}"
    return f"{result.model:12} {cells}{' (cut)' if result.cut else ''}"


def _explore_long(name: str) -> Result:
    return explore(name, long=True, most_states=MOST_LONG)
