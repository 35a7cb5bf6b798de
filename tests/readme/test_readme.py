"""README.md is short, whole, and true of the project beside it."""

from __future__ import annotations

import re
import tomllib

import pytest

from local.stack.template import Template
from tests.readme import reading

README = reading.README.read_text()


def test_it_is_short() -> None:
    """About 110 lines; what is longer belongs in docs/."""
    assert 90 <= len(README.splitlines()) <= 130


def test_the_smallest_working_example_comes_first() -> None:
    """Before the first heading: up, submit, read."""
    (first,) = reading.blocks(reading.section(README, ""), "console")
    commands = [each.command for each in reading.typed(first)]
    assert commands[0] == "make up"
    assert any("-d" in command and "/v1/jobs" in command for command in commands)
    assert "succeeded" in first


def test_the_two_commands_say_how_long_they_take() -> None:
    """Nobody waits without knowing for what."""
    rows = re.findall(r"^\| `make (demo|test)` \| .+ \| (.+) \|$", README, re.MULTILINE)
    assert [name for name, _ in rows] == ["demo", "test"]
    assert all(re.search(r"\d+ (s|min)", takes) for _, takes in rows)


def test_aws_takes_six_commands() -> None:
    """Configure, build, deploy, secret, key, submit; each with what it prints."""
    steps = reading.steps(reading.section(README, "Deploy to AWS"))
    assert [step.command.split()[:2] for step in steps] == [
        ["make", "providers"],
        ["make", "build"],
        ["make", "deploy"],
        ["aws", "secretsmanager"],
        ["PYTHONPATH=.:shared", ".venv/dev/bin/python"],
        ["curl", "-s"],
    ]
    assert all(step.prints for step in steps)


def test_the_quota_error_stands_there_in_its_own_words() -> None:
    """Whoever meets it searches for these."""
    deploy = reading.section(README, "Deploy to AWS")
    assert "Specified ReservedConcurrentExecutions" in deploy
    assert "decreases account's UnreservedConcurrentExecution below its minimum value" in deploy
    assert 'PARAMETERS="ReserveConcurrency=false"' in deploy


def test_removal_is_one_command() -> None:
    """And the README says what stays."""
    block = reading.blocks(reading.section(README, "Deploy to AWS"), "console")[-1]
    (removal,) = reading.typed(block)
    assert removal.command.startswith(".venv/sam/bin/sam delete --stack-name mediajobs-dev")


def test_stack_names_are_those_of_samconfig() -> None:
    """The dev section names the stack that steps 3 to 6 speak of."""
    samconfig = tomllib.loads((reading.ROOT / "samconfig.toml").read_text())
    name = samconfig["dev"]["global"]["parameters"]["stack_name"]
    assert set(re.findall(r"mediajobs-[a-z]+", README)) == {name}


def test_six_questions_are_answered() -> None:
    """What a careful person asks before they trust it with money."""
    questions = re.findall(r"^- \*\*(.+\?)\*\* \S", reading.section(README, "Questions"), re.MULTILINE)
    assert len(questions) == 6
    words = ("charged twice", "callbacks never come", "key protect me", "person do", "cost", "leave")
    assert all(word in question for word, question in zip(words, questions, strict=True))


def test_parameters_that_are_named_exist() -> None:
    """Name=value in PARAMETERS is a parameter of the template."""
    declared = Template.load(reading.ROOT / "template.yaml", {}).parameters
    named = set(re.findall(r"\b([A-Z][A-Za-z]+)=(?!value)", README)) - {"API", "KEY", "OPERATOR", "PROVIDER"}
    assert {name for name in named if name.upper() != name} <= set(declared)
    for name in ("MaxInFlight", "JobDays"):
        assert f"`{name}`" in README
        assert name in declared


@pytest.mark.parametrize(
    ("printed", "output", "absent"),
    [
        (("a … c",), "x a b c y", []),
        (("a", "b"), "a b", []),
        (("b", "a"), "a b", ["a"]),
        (("1.0",), "1x0", ["1.0"]),
    ],
)
def test_what_is_printed_is_compared_line_by_line(printed: tuple[str, ...], output: str, absent: list[str]) -> None:
    """… stands for anything, all else for itself, in this order."""
    assert reading.Typed("x", printed).missing(output) == absent


def test_a_placeholder_that_nobody_fills_is_an_error() -> None:
    """A command is run whole or not at all."""
    with pytest.raises(KeyError):
        reading.Typed("curl <address>", ()).filled({})
