"""Who may not, and what is not there: the right 4xx with a stable type, and nothing written."""

from __future__ import annotations

import pytest

from tests.e2e.client import Api, Header, is_problem, send
from tests.e2e.crowd import Crowd

pytestmark = pytest.mark.usefixtures("untouched")

ROUTES = [
    ("POST", "/v1/jobs"),
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ("POST", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/cancel"),
    ("POST", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/resolve"),
    ("GET", "/v1/providers/sim"),
    ("POST", "/v1/providers/sim"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_without_a_key(caller: Api, method: str, path: str) -> None:
    """401 without a key, with one that nobody has, and with two."""
    good: Header = ("X-API-Key", caller.key or "")
    tries: list[list[Header]] = [
        [], [("X-API-Key", "")], [("X-API-Key", "mj_" + "x" * 43)], [("X-API-Key", "k" * 5000)], [good, good],
        [("Authorization", f"Bearer {caller.key}")], [("X-API-Key", f"{caller.key} ,")],
    ]  # fmt: skip
    for headers in tries:
        assert is_problem(send(caller.url, method, path, headers, b"{}"), 401, "unauthorized"), headers


@pytest.mark.parametrize("action", ["", "/cancel", "/resolve"])
def test_another_tenants_job_is_not_there(crowd: Crowd, stranger: Api, action: str) -> None:
    """404, the same as for a job that never was; a decision needs another scope before all else."""
    document = {"decision": "fail", "attention_version": 1} if action == "/resolve" else None
    method = "POST" if action else "GET"
    answer = stranger.call(method, f"/v1/jobs/{crowd['mp4']}{action}", document)
    never = stranger.call(method, f"/v1/jobs/{'a' * 26}{action}", document)
    expected = (403, "forbidden") if action == "/resolve" else (404, "not-found")
    assert is_problem(answer, *expected)
    assert is_problem(never, *expected)
    assert answer.json["detail"] == never.json["detail"]
    assert crowd["mp4"] not in answer.body.decode()


def test_operator_routes_need_the_scope(crowd: Crowd, caller: Api) -> None:
    """A caller's key decides nothing, pauses nothing and lists nobody's questions, not even on jobs of its own."""
    decision = {"decision": "fail", "attention_version": 3}
    for answer in (
        caller.call("POST", f"/v1/jobs/{crowd['never-finishes']}/resolve", decision),
        caller.call("GET", "/v1/providers/sim"),
        caller.call("POST", "/v1/providers/sim", {"pause": True}),
        caller.call("GET", "/v1/jobs?attention=true"),
    ):
        assert is_problem(answer, 403, "forbidden"), answer


@pytest.mark.parametrize(
    "job_id", ["x", "A" * 26, "a" * 25, "a" * 27, "..%2F..", "%00", "a" * 26 + "%20", "%F0%9F%98%80", "'--", "1" * 300]
)
def test_id_that_is_none(caller: Api, job_id: str) -> None:
    """404, whatever stands there."""
    assert is_problem(caller.call("GET", f"/v1/jobs/{job_id}"), 404, "not-found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/nothing"), ("DELETE", "/v1/jobs"), ("PUT", "/v1/jobs"),
        ("PATCH", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa"), ("GET", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/cancel"),
        ("GET", "/v1/webhooks/sim"), ("POST", "/v2/jobs"),
    ],
)  # fmt: skip
def test_route_or_method_that_is_none(caller: Api, method: str, path: str) -> None:
    """404: there is no such route, or it does not take this method."""
    assert is_problem(caller.call(method, path), 404, "not-found")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "attention=maybe", "cursor=%FF"])
def test_query_that_is_wrong(caller: Api, query: str) -> None:
    """422 or 400, never a page of something else."""
    answer = caller.call("GET", f"/v1/jobs?{query}")
    assert is_problem(answer, 422, "unprocessable") or is_problem(answer, 400, "bad-request"), answer


DECISIONS = {
    "no decision": {},
    "another word": {"decision": "forget", "attention_version": 1},
    "no version": {"decision": "fail"},
    "version of another kind": {"decision": "fail", "attention_version": "one"},
    "adopt without an id": {"decision": "adopt", "attention_version": 1},
    "acknowledge without an id": {"decision": "acknowledge"},
    "an id with a blank": {"decision": "adopt", "attention_version": 1, "provider_job_id": "a b"},
    "a field too many": {"decision": "fail", "attention_version": 1, "force": True},
}


@pytest.mark.parametrize("name", DECISIONS)
def test_decision_that_is_none(crowd: Crowd, operator: Api, name: str) -> None:
    """422 that says what is missing."""
    answer = operator.call("POST", f"/v1/jobs/{crowd['mp4']}/resolve", DECISIONS[name])
    assert is_problem(answer, 422, "unprocessable"), answer


def test_decision_where_nothing_is_asked(crowd: Crowd, operator: Api) -> None:
    """409 with the job as it is."""
    answer = operator.resolve(crowd["mp4"], "fail", 1)
    assert is_problem(answer, 409, "conflict")
    assert answer.json["job"]["request_id"] == crowd["mp4"]


def test_provider_that_is_none(operator: Api) -> None:
    """404 for a provider that is not configured, 422 for a limit that is none."""
    assert is_problem(operator.call("GET", "/v1/providers/nobody"), 404, "not-found")
    assert is_problem(operator.call("POST", "/v1/providers/nobody", {"pause": True}), 404, "not-found")
    assert is_problem(operator.call("POST", "/v1/providers/sim", {"limit": -1}), 422, "unprocessable")
    assert is_problem(operator.call("POST", "/v1/providers/sim", {"pause": "yes"}), 422, "unprocessable")
