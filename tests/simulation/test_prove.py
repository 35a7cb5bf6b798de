"""`make prove` reads what its parts print, and a part that says something else is no success."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation import crash, seeds
from tests.simulation.crash import Count
from tests.simulation.explore.explorer import Result as Explored
from tests.simulation.explore.session import Session
from tests.simulation.mutants.__main__ import _said as mutants_said
from tests.simulation.mutants.catalogue import QUICK
from tests.simulation.mutants.runner import Report, Score, Verdict
from tests.simulation.prove import (
    Done,
    Numbers,
    Part,
    Unread,
    crashed,
    explored,
    mutated,
    parts,
    report,
    run,
    sown,
    table,
)
from tests.simulation.simulation import Result as Sown

Read = Callable[[str], Numbers]
Printed = pytest.CaptureFixture[str]


def explorer(capsys: Printed, *, violation: str | None = None, caught: bool = True) -> str:
    """What the explorer prints, by its own code."""
    fields = {"states": 1201, "steps": 3402, "depth": 12, "rounds": 900, "seconds": 1.0}
    session = Session(long=False, workers=1)
    session._models([Explored(model="keyed", violation=violation, **fields)])  # type: ignore[arg-type]
    session._wrongs([("503 is trusted", Explored(model="keyed", violation="I2" if caught else None, **fields))])  # type: ignore[arg-type]
    return capsys.readouterr().out


def crashes(capsys: Printed, failures: int = 0) -> str:
    failed = [crash.Failure("webhook", {1: "kill"}, ("kill",), "I2")] * failures
    for name in ("webhook", "all"):
        crash._print(Count(name, boundaries=81, kills=81, faults=40, pairs=300, asked=2, failures=failed))
    return capsys.readouterr().out


def sowing(violation: str | None = None) -> str:
    one = Sown(
        seed=1, violation=violation, jobs=9, numbers=(), struck=(), faults=33, invocations=120, crashes=7, ended=8,
        asking=1, charges=8, converged_s=60.0,
    )  # fmt: skip
    return seeds.report([one])


def mutants(verdict: Verdict = Verdict.KILLED) -> str:
    scores = tuple(Score(mutant=mutant, verdict=verdict, by="a test", seconds=1.0) for mutant in QUICK)
    return mutants_said(Report(scores=scores, whole=True))


def all_right(capsys: Printed) -> list[Done]:
    return [
        Done("explorer", 0, explored(explorer(capsys)), 2.0),
        Done("crashes", 0, crashed(crashes(capsys)), 12.0),
        Done("seeds", 0, sown(sowing()), 3.0),
        Done("mutants", 0, mutated(mutants()), 2.0),
    ]


def test_the_numbers_of_each_part_are_read_as_it_prints_them(capsys: Printed) -> None:
    done = all_right(capsys)
    told = report(done, long=False)
    assert (told["right"], told["seconds"]) == (True, 19)
    shown = table(done)
    for words in (
        "1,201 states, 3,402 steps, depth 12",
        "1 of 1 caught",
        "81 points: 81 crashes, 40 refused calls and lost answers",
        "300",
        "1 seeds, 9 jobs, 33 faults, 7 deaths of a process",
        "6 of 6 killed",
    ):
        assert words in shown, shown


def test_one_violation_anywhere_is_no_proof(capsys: Printed) -> None:
    for name, numbers in (
        ("explorer", explored(explorer(capsys, violation="I2 charged twice"))),
        ("explorer", explored(explorer(capsys, caught=False))),
        ("crashes", crashed(crashes(capsys, failures=2))),
        ("seeds", sown(sowing("I2 charged twice"))),
        ("mutants", mutated(mutants(Verdict.SURVIVED))),
        ("mutants", mutated(mutants(Verdict.BROKEN))),
    ):
        assert numbers["violations"] > 0, name
        done = Done(name, 0, numbers, 1.0)
        assert not done.right
        assert report([done], long=False)["right"] is False


def test_a_part_that_ends_with_a_fault_is_no_proof_whatever_it_printed() -> None:
    assert Done("seeds", 0, sown(sowing()), 1.0).right
    assert not Done("seeds", 1, sown(sowing()), 1.0).right


@pytest.mark.parametrize("read", [explored, crashed, sown, mutated])
def test_a_part_that_prints_something_else_is_told(read: Read) -> None:
    """Its numbers would be missing, and a table of zeros looks like proof."""
    with pytest.raises(Unread):
        read("all is well")


def test_a_part_that_cannot_be_read_or_started_fails_the_whole() -> None:
    lines: list[str] = []
    done = run(Part("seeds", ("tests.simulation.no_such_module",), sown), lines.append)
    assert not done.right
    assert any("No module named" in line for line in lines)
    assert "?" in table([done])


def test_the_long_form_is_longer_and_every_mutant_is_tried_in_both() -> None:
    short, long = parts(long=False), parts(long=True)
    assert [part.name for part in short] == [part.name for part in long] == ["explorer", "crashes", "seeds", "mutants"]
    *shorter, all_mutants = short
    assert all(one.command != other.command for one, other in zip(shorter, long, strict=False))
    assert all_mutants.command == long[-1].command
    assert "--long" in all_mutants.command
