"""The files of events/ are complete, made by the generator, and named as the template names functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from events.__main__ import FOLDER, cases, files, found
from events.env import TEMPLATE, functions
from local.stack.template import Template

NAMES = [name.lower() for name in functions(Template.load(TEMPLATE, {}))]


def test_files_are_what_the_generator_makes() -> None:
    """`python -m events --write` was run since the code changed."""
    made, standing = files(), found()
    assert {name for name in made.keys() | standing.keys() if made.get(name) != standing.get(name)} == set()


def test_every_function_has_a_folder_and_every_folder_a_function() -> None:
    """The names are the template's."""
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == set(NAMES)


@pytest.mark.parametrize("function", NAMES)
def test_each_function_has_good_and_bad_cases(function: str) -> None:
    """A happy one alone shows little."""
    assert len(list((FOLDER / function).glob("*.json"))) >= 5


def test_every_case_says_what_comes_of_it() -> None:
    """No event without an outcome, no outcome without an event, no name twice."""
    names = [case.path for case in cases()]
    assert len(set(names)) == len(names)
    expected = json.loads((FOLDER / "expected.json").read_text())
    assert set(expected) == set(names) == {name[:-5] for name in found() if "/" in name}
    for told in expected.values():
        assert told["says"].endswith(".")
        assert "answer" in told or "raises" in told


def test_no_secret_of_anybody_stands_in_the_files() -> None:
    """What is signed with is known to the generator alone."""
    for name, text in found().items():
        assert "whsec_" not in text, name
        assert str(Path.home()) not in text or str(Path.home()) == "/", name
