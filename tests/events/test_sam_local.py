"""What `make sam-local` prints can be typed: every file that it names is there, every function is shown."""

from __future__ import annotations

import re

from local.sam_local import SHOWN, lines
from local.stack.places import ROOT
from tests.events.test_files import NAMES

INFO = {"endpoint_url": "http://127.0.0.1:4566", "region": "us-east-1", "stack_name": "mediajobs-local"}
TEXT = "\n".join(lines(INFO, ROOT / "build" / "local" / "env.json"))


def test_every_named_event_exists() -> None:
    """A command with a file that is not there is no command."""
    named = set(re.findall(r"events/[a-z-]+/[a-z0-9-]+\.json", TEXT))
    assert len(named) == len(SHOWN)
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_function_is_shown_both_ways() -> None:
    """Deployed, and in a container, with the environment that was written for it."""
    assert set(SHOWN) == set(NAMES)
    for name in NAMES:
        assert f"sam remote invoke {name.capitalize()} --stack-name mediajobs-local --event-file events/{name}/" in TEXT
        assert f"sam local invoke {name.capitalize()} --event events/{name}/" in TEXT
    assert TEXT.count("--env-vars build/local/env.json") == len(NAMES)


def test_it_says_what_was_not_tried() -> None:
    """Nobody is left to find out that containers are needed."""
    assert "This needs Docker, and was not run by those who wrote it" in TEXT
