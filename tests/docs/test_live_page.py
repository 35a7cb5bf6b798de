"""docs/live.md describes the events as they are."""

from __future__ import annotations

import re
from pathlib import Path

from mediajobs.adapters import live as adapter
from mediajobs.api import answers
from mediajobs.steps.live import LIFE_S

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "live.md").read_text()


def test_every_field_of_an_event_has_its_row_and_no_other() -> None:
    """In the table under "What is told"."""
    (table,) = re.findall(r"## What is told\n(.*?)\n## ", PAGE, re.DOTALL)
    named = {name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == set(answers.LiveEvent.model_fields)


def test_what_a_reader_is_given_is_shown_whole() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert set(re.findall(r'^ +"(\w+)"', shown, re.MULTILINE)) == set(answers.Live.model_fields)


def test_numbers_are_those_of_the_code() -> None:
    assert LIFE_S == 3600
    assert "for one hour" in PAGE
    assert (adapter.TRIES, adapter.LAST_TRIES, adapter.QUIET_MS) == (2, 3, 5000)
    assert (
        "Ticks are tried twice, an end three times, 1.5 seconds each; then the API is left alone for 5 seconds" in PAGE
    )
