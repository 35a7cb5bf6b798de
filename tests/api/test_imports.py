"""Cold starts: what each function loads before its first request, and what its edge alone needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EVENT_HANDLER = "aws_lambda_powertools.event_handler"


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has after `code`."""
    probe = f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'shared')!r}]\n{code}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("function", ["authorize", "submit", "jobs", "webhook"])
def test_importing_a_handler_builds_nothing(function: str) -> None:
    """No SDK, no configuration, no model: tests import it without an environment."""
    modules = loaded(f"import functions.{function}.app as app\nassert callable(app.handler)")
    assert not modules & {"boto3", "pydantic", "requests", EVENT_HANDLER}


@pytest.mark.parametrize(
    ("edge", "needed", "never"),
    [
        ("authorizer", set(), {"boto3", "pydantic", "requests", EVENT_HANDLER}),
        ("webhook", {EVENT_HANDLER}, {"boto3", "pydantic", "requests"}),
        ("submit", {EVENT_HANDLER, "pydantic"}, {"boto3", "requests"}),
        ("jobs", {EVENT_HANDLER, "pydantic"}, {"boto3", "requests"}),
    ],
)
def test_an_edge_loads_what_it_needs(edge: str, needed: set[str], never: set[str]) -> None:
    """Models where requests have fields, the resolver where there are routes, the answers' schemas nowhere."""
    modules = loaded(f"import mediajobs.api.{edge}, mediajobs.log")
    assert needed <= modules
    assert not modules & {*never, "mediajobs.api.answers"}
