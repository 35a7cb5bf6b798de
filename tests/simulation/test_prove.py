"""`make prove` reads what its parts print, and a part that says something else is no success."""

from __future__ import annotations

import pytest

from tests.simulation.prove import Done, Part, Unread, crashed, explored, mutated, parts, report, run, sown, table

EXPLORER = """model            states       steps depth  recovery seconds  violations
keyed              1201        3402    12       900     1.0  0
all                1201        3402    12                    0
  trusting 503 [keyed, 44 states]: caught after 5 steps: I2 two charges
wrong readings caught: 1 of 1
explored in 2 s"""
CRASHES = """life                                 boundaries  crashes   faults     pairs  asked  violations
webhook                                      81       81       40       300      0           0
all                                          81       81       40       300      0           0
12 s, 0 violations"""
SEEDS = """2 seeds, 9 jobs, 120 invocations, 33 faults, 7 of them deaths of a process
8 jobs ended, 1 show attention, 8 charges
0 violations
3 s"""
MUTANTS = """  1/1 killed    a key lives for ever (2 s): tests/core/test_traces.py::test_h03
1 of 1 mutants killed
2 s"""


def all_right() -> list[Done]:
    return [
        Done("explorer", 0, explored(EXPLORER), 2.0),
        Done("crashes", 0, crashed(CRASHES), 12.0),
        Done("seeds", 0, sown(SEEDS), 3.0),
        Done("mutants", 0, mutated(MUTANTS), 2.0),
    ]


def test_the_numbers_of_each_part_are_read() -> None:
    told = report(all_right(), long=False)
    assert told["right"] is True
    assert told["seconds"] == 19
    shown = table(all_right())
    for words in (
        "1,201 states, 3,402 steps, depth 12",
        "1 of 1 caught",
        "81 points: 81 crashes, 40 refused calls and lost answers",
        "300",
        "2 seeds, 9 jobs, 33 faults, 7 of them deaths",
        "1 of 1 killed",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("name", "read", "text"),
    [
        ("explorer", explored, EXPLORER.replace("12                    0", "12                    1")),
        ("explorer", explored, EXPLORER.replace("1 of 1", "0 of 1")),
        ("crashes", crashed, CRASHES.replace("all                                          81       81       40       300      0           0", "all 81 81 40 300 0 2")),  # noqa: E501 a line as it is printed
        ("seeds", sown, SEEDS.replace("0 violations", "1 violations")),
        ("mutants", mutated, MUTANTS.replace("1 of 1", "0 of 1")),
    ],
)  # fmt: skip
def test_one_violation_anywhere_is_no_proof(name: str, read: object, text: str) -> None:
    numbers = read(text)  # type: ignore[operator]
    assert numbers["violations"] > 0
    assert not Done(name, 0, numbers, 1.0).right
    assert report([Done(name, 0, numbers, 1.0)], long=False)["right"] is False


def test_a_part_that_ends_with_a_fault_is_no_proof_whatever_it_printed() -> None:
    assert not Done("seeds", 1, sown(SEEDS), 1.0).right


@pytest.mark.parametrize("read", [explored, crashed, sown, mutated])
def test_a_part_that_prints_something_else_is_told(read: object) -> None:
    """Its numbers would be missing, and a table of zeros looks like proof."""
    with pytest.raises(Unread):
        read("all is well")  # type: ignore[operator]


def test_a_part_that_cannot_be_read_or_started_fails_the_whole() -> None:
    lines: list[str] = []
    done = run(Part("seeds", ("tests.simulation.no_such_module",), sown), lines.append)
    assert not done.right
    assert any("No module named" in line for line in lines)
    assert "?" in table([done])


def test_the_long_form_is_longer_in_every_part() -> None:
    short, long = parts(long=False), parts(long=True)
    assert [part.name for part in short] == [part.name for part in long] == ["explorer", "crashes", "seeds", "mutants"]
    assert all(one.command != other.command for one, other in zip(short, long, strict=True))
