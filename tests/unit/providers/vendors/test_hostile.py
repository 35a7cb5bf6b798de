"""A short hostile run; `python -m tests.hostile_webhooks` is the long one."""

from __future__ import annotations

import pytest

from tests.hostile_webhooks import attack, main, target


def test_two_thousand_hostile_requests_get_documented_codes_only() -> None:
    """None is taken, none raises, none changes a job or makes us ask a provider."""
    report = attack(2000, seed=7)
    assert report.faults == []
    assert sum(report.codes.values()) == 2000
    assert set(report.codes) <= {400, 401, 404, 405, 503}
    assert report.codes[401] > 1000


def test_the_run_notices_a_function_that_lets_somebody_in() -> None:
    """Else it could not fail."""
    here = target()
    inner = here.handler

    def careless(event: dict[str, object], context: object) -> object:
        answer = inner(event, context)
        return {"statusCode": 200, "body": "{}"} if answer["statusCode"] == 401 else answer

    here.handler = careless
    assert len(attack(50, seed=7, here=here).faults) > 10


def test_the_command_prints_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """And ends with 0 where nothing was found."""
    assert main(["--count", "100", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "100 hostile requests" in shown
    assert "jobs changed: 0" in shown
