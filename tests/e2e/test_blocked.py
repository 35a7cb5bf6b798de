"""The account is refused: nobody's job fails, and an operator sees why nothing goes."""

from __future__ import annotations

from typing import Any

from tests.e2e.client import Api, is_problem
from tests.e2e.truth import Provider, until


def test_pause_is_shown_with_its_reason(blocked: list[str], operator: Api, caller: Api) -> None:
    """GET /v1/providers/{name} tells an operator what is wrong and when the next look is; a caller may not ask."""
    shown = until(lambda: _paused(operator), 60)
    assert shown["pause"]["reason"] == "blocked"
    assert shown["pause"]["until"]
    assert "402" in shown["pause"]["note"] or "balance" in shown["pause"]["note"]
    assert (shown["in_flight"], shown["limit"]) == (0, 4)
    assert is_problem(caller.call("GET", "/v1/providers/sim"), 403, "forbidden")


def _paused(operator: Api) -> dict[str, Any]:
    shown = operator.call("GET", "/v1/providers/sim").json
    return dict(shown) if shown["pause"] else {}


def test_no_job_fails_for_the_accounts_fault(blocked: list[str], operator: Api, provider: Provider) -> None:
    """The jobs wait, whoever met the refusal; the refusals are not repeated while the pause stands."""
    until(lambda: _paused(operator), 60)
    jobs = [operator.job(job_id) for job_id in blocked]
    assert {(job["status"], job["attention"]) for job in jobs} == {("pending", None)}
    refused = [line for job_id in blocked for line in provider.submits(job_id)]
    assert {line["fault"] for line in refused} == {"blocked"}
    assert len(refused) <= len(blocked)
