"""What make is told by variables is checked as options are, before anything is started."""

from __future__ import annotations

import pytest

from local.demo import options as demo
from local.soak import options as soak
from local.stack import __main__ as stack
from local.stack.start import LEAST_IN_FLIGHT, PROVIDERS
from local.stack.template import Template
from local.told import told
from tests.readme.reading import ROOT


def test_variables_that_are_set_become_options() -> None:
    """An empty one is as if it were not there."""
    assert told({"JOBS": "3", "MAX_IN_FLIGHT": "5", "SEED": ""}, "JOBS", "SEED", "MAX_IN_FLIGHT", "FAULTS") == [
        "--jobs=3",
        "--max-in-flight=5",
    ]


def test_an_argument_wins_over_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBS", "3")
    assert (demo.parse([]).jobs, demo.parse(["--jobs", "4"]).jobs) == (3, 4)
    assert (soak.parse([]).jobs, soak.parse(["--jobs", "4"]).jobs) == (3, 4)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("JOBS", "abc", "--jobs: invalid int value: 'abc'"),
        ("JOBS", "-1", "JOBS is"),
        ("FAULTS", "some", "--faults: invalid choice: 'some'"),
        ("PROVIDER", "nobody", "--provider: invalid choice: 'nobody'"),
        ("IDEMPOTENT", "2", "--idempotent: invalid choice: 2"),
        ("MAX_IN_FLIGHT", "1", "MAX_IN_FLIGHT"),
    ],
)
def test_a_wrong_variable_of_the_demo_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        demo.parse([])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("name", "value"), [("JOBS", "abc"), ("MINUTES", "long"), ("MAX_IN_FLIGHT", "1")])
def test_a_wrong_variable_of_the_soak_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        soak.parse([])
    assert "make soak: error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"), [("MAX_IN_FLIGHT", "1"), ("MAX_IN_FLIGHT", "x"), ("SEED", "x"), ("FAULTS", "some")]
)
def test_a_wrong_variable_of_up_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        stack.parse(["up"])
    assert "make up: error: " in capsys.readouterr().err


def test_only_up_is_told_by_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever exported a wrong one can still take the stack down."""
    monkeypatch.setenv("SEED", "x")
    assert stack.parse(["down"]).command == "down"
    monkeypatch.setenv("SEED", "7")
    up = stack.parse(["up"])
    assert (up.seed, up.faults, up.max_in_flight, up.providers) == (7, "none", 4, PROVIDERS)


def test_the_least_in_flight_is_the_templates() -> None:
    declared = Template.load(ROOT / "template.yaml", {}).parameters
    assert declared["MaxInFlight"]["MinValue"] == LEAST_IN_FLIGHT
