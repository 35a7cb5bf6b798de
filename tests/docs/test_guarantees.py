"""docs/guarantees.md promises nothing that no test shows, and its numbers are those of the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from local.stack.template import Template
from mediajobs import uploads
from mediajobs.adapters.idempotency import EXPIRES_S
from mediajobs.callbacks import LIFE_MS
from mediajobs.jobs.due import KEY_MARGIN_MS, LEASE_MS, PUBLISH_MS, STORE_MS
from mediajobs.messages import Settings
from mediajobs.signatures.common import TOLERANCE_S
from mediajobs.steps.webhook import GRACE_MS
from mediajobs.steps.worker import RECEIVES_ENOUGH
from tests.docs import guarantees

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
GUARANTEES = {one.title: one for one in guarantees.read(PAGE)}
RESOURCES = Template.load(ROOT / "template.yaml", {}).document["Resources"]
DISPATCH_QUEUE, STORE_QUEUE = (RESOURCES[name]["Properties"] for name in ("DispatchQueue", "StoreQueue"))
SETTINGS = Settings(max_in_flight=1)

LIFETIMES = {
    "a job's row, and so its `Idempotency-Key` (`JobDays`)": f"{SETTINGS.job_days} days after publication",
    "input, progress, list of events": f"{SETTINGS.detail_days} days",
    "results (`ResultDays`)": f"{SETTINGS.result_days} days",
    "a link to a result": f"{SETTINGS.link_seconds // 60} minutes",
    "a form to post a file by": f"{uploads.FORM_S // 60} minutes",
    "an upload that new jobs may name": f"{uploads.NAMED_S // 3600} hours",
    "a job's own copy of it": f"{uploads.KEPT_DAYS} days",
    "our record of a publication": f"{EXPIRES_S['publish'] // 86_400} days",
    "our record of a webhook event": f"{EXPIRES_S['intake'] // 86_400} days",
    "our record of a tick": f"{EXPIRES_S['reconcile'] // 3600} hour",
    "SNS's own memory of a publication's id": "5 minutes",
    "a message in a queue": f"{DISPATCH_QUEUE['MessageRetentionPeriod'] // 86_400} days",
    "an event on its way to a tenant's receiver": f"{LIFE_MS // 86_400_000} days",
    "a provider's key, less than its `key_life_s`": f"{KEY_MARGIN_MS // 1000} seconds",
    "a claim's lease": f"{LEASE_MS // 1000} seconds",
    "a message of dispatch, hidden from others": f"{DISPATCH_QUEUE['VisibilityTimeout']} seconds",
    "a message of store, hidden from others": f"{STORE_QUEUE['VisibilityTimeout']} seconds",
    "an event of an unknown job is retryable": f"{GRACE_MS // 60_000} minutes",
    "a webhook's timestamp, either way": f"{TOLERANCE_S} seconds",
    "an API key that was revoked": "60 seconds",
}


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("title", SECTIONS)
def test_every_guarantee_names_tests_that_exist(title: str) -> None:
    """A promise without a test is no guarantee; a test that was renamed is found here."""
    named = GUARANTEES[title].tests
    assert named
    for file, tests in named.items():
        assert (ROOT / file).is_file(), file
        assert set(tests) <= names_in(file), f"{title}: {sorted(set(tests) - names_in(file))} in {file}"


def test_every_guarantee_has_a_command_of_its_own_that_runs_a_test_without_a_stack() -> None:
    """A word that no section has, or that two have, would run the wrong tests or none."""
    words = [one.word for one in GUARANTEES.values()]
    assert all(words)
    assert len(set(words)) == len(words) == len(SECTIONS)
    assert all(one.nodes(stack=False) for one in GUARANTEES.values())
    assert re.search(
        r"^guarantee: .*\n\t@\$\(RUN\) tests.docs.guarantees \$\(G\)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )


def test_the_command_lists_what_there_is_and_refuses_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarantees.main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SECTIONS)
    assert guarantees.main(["no such guarantee"]) == 2


def test_the_other_commands_of_the_page_exist() -> None:
    """Targets of make."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", PAGE))
    assert {"guarantee", "prove"} <= named <= targets


def test_nothing_else_follows_the_names() -> None:
    """A line that is not read as a name would be a promise beside the check."""
    for title, text in SECTIONS.items():
        _, _, named = text.partition("Shown by ")
        lines = [line for line in named.split("\n\n")[0].splitlines()[1:] if line]
        assert len(lines) == len(GUARANTEES[title].tests), title


def test_lifetimes_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", SECTIONS["Lifetimes"], re.MULTILINE)[1:]
    assert dict(rows) == LIFETIMES


def test_bounds_are_those_of_the_code() -> None:
    """The numbers in the sentences, which nobody would think of when a constant changes."""
    dispatch = DISPATCH_QUEUE["VisibilityTimeout"]
    for words in (
        f"less {KEY_MARGIN_MS // 1000} s (lease {LEASE_MS // 1000} s",
        f"more than {TOLERANCE_S} s old or ahead",
        f"503 for {GRACE_MS // 60_000} minutes",
        f"one dispatch timeout, {RESOURCES['Dispatch']['Properties']['Timeout']} s",
        f"ten receives, about {RECEIVES_ENOUGH * dispatch // 60} minutes",
        f"| {dispatch} s |",
        f"| {STORE_MS // 60_000} minutes after the provider's success",
        f"{SETTINGS.job_days} days (`JobDays`)",
        f"kept for {SETTINGS.detail_days} days from the submit",
        f"kept for {SETTINGS.result_days} days (`ResultDays`), links to them for {SETTINGS.link_seconds // 60} minutes",
        f"our own record for {EXPIRES_S['publish'] // 86_400} days",
    ):
        assert words in PAGE, words
    assert RECEIVES_ENOUGH == 10
    assert PUBLISH_MS == 60_000


def test_the_readme_quotes_the_four_tests() -> None:
    """Drop, repeat, delay, expire: each with the test that shows it."""
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", readme))
    assert named <= names_in("tests/simulation/test_four_tests.py")
    for word in ("drop", "repeat", "delay", "expire"):
        assert any(name.startswith(f"test_{word}_") for name in named), word
