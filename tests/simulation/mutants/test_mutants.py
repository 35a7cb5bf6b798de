"""The catalogue fits the code, and the quick mutants are killed. `python -m tests.simulation.mutants --long`: all."""

from __future__ import annotations

import ast
import re

import pytest

from tests.simulation.mutants.catalogue import MUTANTS, QUICK
from tests.simulation.mutants.mutant import ROOT, Misfit, Mutant, applied
from tests.simulation.mutants.runner import Verdict, run


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_fits_the_code(mutant: Mutant) -> None:
    """Its text stands there once, what comes of it is a program, and its tests are there."""
    broken = applied(mutant)
    assert broken != (ROOT / mutant.path).read_text()
    ast.parse(broken)
    assert all((ROOT / test).exists() for test in mutant.tests)


def test_each_is_named_once() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.path, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


def test_every_reason_of_the_protocol_is_broken_at_least_once() -> None:
    """H1 to H24, and what needs no number: the rank, conditions, acknowledging, the limit."""
    reasons = {mutant.why for mutant in MUTANTS}
    assert {f"H{number}" for number in range(1, 25)} <= reasons
    assert {"rank", "condition", "acknowledge", "limit", "pause", "http", "size", "tenants"} <= reasons
    assert len(MUTANTS) >= 100


def test_every_part_of_the_product_that_decides_is_broken() -> None:
    """A step or a module of rules without a mutant is one whose tests nobody has tried."""
    broken = {mutant.path for mutant in MUTANTS}
    product = ROOT / "shared" / "mediajobs"
    rules = product.glob("jobs/rules*.py")
    steps = [path for path in product.glob("steps/*.py") if path.stem not in {"__init__", "authorize"}]
    assert {path.relative_to(ROOT) for path in (*rules, *steps)} <= broken


def test_the_quick_mutants_are_killed() -> None:
    """Six breakages, one of each kind, in a copy of the tree."""
    assert len(QUICK) == 6
    report = run(QUICK, tell=lambda _: None)
    assert report.whole, report.said
    assert {score.mutant.name: score.verdict for score in report.scores} == dict.fromkeys(
        (mutant.name for mutant in QUICK), Verdict.KILLED
    )


def test_a_mutant_that_no_test_notices_survives_and_one_that_does_not_run_is_told_apart() -> None:
    """A runner that called everything killed would prove nothing."""
    quiet = Mutant(
        name="a comment", why="none", breaks="nothing", file="backoff.py",
        old="JITTER = 0.2\n", new="JITTER = 0.2  # spread\n", tests=("tests/core/test_backoff.py",),
    )  # fmt: skip
    wreck = Mutant(
        name="a wreck", why="none", breaks="everything", file="backoff.py",
        old="JITTER = 0.2\n", new="JITTER = 0.2 / 0\n", tests=("tests/core/test_backoff.py",),
    )  # fmt: skip
    before = (ROOT / quiet.path).read_text()
    report = run((quiet, wreck), tell=lambda _: None)
    assert [score.verdict for score in report.scores] == [Verdict.SURVIVED, Verdict.BROKEN]
    assert not report.right
    assert (ROOT / quiet.path).read_text() == before


def test_a_mutant_whose_text_has_moved_is_an_error() -> None:
    """It would test nothing, and nobody would see it."""
    for old in ("no such text", "return"):
        lost = Mutant(name="lost", why="none", breaks="nothing", file="backoff.py", old=old, new="")
        with pytest.raises(Misfit, match=re.escape("'lost'")):
            applied(lost)
