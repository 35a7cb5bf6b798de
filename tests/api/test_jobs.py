"""Reading, canceling and resolving through the handler, with the real steps over a table in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mediajobs.api import answers
from mediajobs.api import jobs as edge
from mediajobs.jobs.model import Attempt, Attention, Finding, Job, Output
from mediajobs.jobs.states import FindingKind, Outcome, Reason, State
from mediajobs.messages import Progress
from mediajobs.steps import jobs as steps
from tests.api.events import OPERATOR, OTHER, context, document, header, problem, proxy
from tests.api.stubs import JOB_ID, NOW, Scene, job, scene

OUTPUT = Output(key="results/x/1", content_type="video/mp4", size=1234, sha256="ab" * 32)


def call(here: Scene, method: str, path: str, **more: Any) -> dict[str, Any]:
    return edge.build(here.world, steps)(proxy(method, path, **more), context())


def keep(here: Scene, kept: Job, metadata: bytes = b"{}") -> Job:
    here.store.jobs[kept.id] = kept
    here.store.inputs[kept.id, kept.payload_digest[:8]] = b'{"input":{"prompt":"a lamp"},"metadata":' + metadata + b"}"
    return kept


def asked(reason: Reason, **fields: Any) -> Job:
    """A submitting or running job with that question open, raised at version 4."""
    attempt = Attempt(
        no=1, outcome=Outcome.AMBIGUOUS, token="t", started=NOW - 900_000, lease_until=NOW - 800_000, digest="d"
    )
    attention = Attention(reason=reason, since=NOW - 700_000, version=4, evidence="the answer was cut")
    return job(version=5, attempt=attempt, attention=attention, slot="001", unsettled=True, **fields)


def test_a_job_is_shown_whole_to_its_tenant() -> None:
    """With URLs, progress and the caller's metadata, and without the prompt."""
    here = scene()
    keep(here, job(state=State.SUCCEEDED, outputs=(OUTPUT,), final_version=5), b'{"order":"7"}')
    answer = call(here, "GET", f"/v1/jobs/{JOB_ID}")
    assert answer["statusCode"] == 200
    shown = document(answer)
    answers.Job.model_validate(shown)
    assert (shown["status"], shown["stage"], shown["progress"]) == ("succeeded", None, 100)
    assert shown["metadata"] == {"order": "7"}
    assert shown["outputs"][0]["url"].startswith("https://bucket.example/results/x/1")
    assert shown["outputs"][0]["url_expires_at"] == "2027-01-15T08:15:00.000Z"
    assert "lamp" not in answer["body"]
    assert "tenant" not in shown


def test_another_tenants_job_looks_like_none() -> None:
    """Same status, same text, for every route of a job; an operator sees it."""
    here = scene()
    keep(here, job())
    absent = problem(call(here, "GET", "/v1/jobs/" + "a" * 26, caller=OTHER), 404, "not-found")
    for method, path in (("GET", ""), ("POST", "/cancel")):
        told = problem(call(here, method, f"/v1/jobs/{JOB_ID}{path}", caller=OTHER), 404, "not-found")
        assert told["detail"] == absent["detail"]
    assert here.store.jobs[JOB_ID] == job()
    shown = document(call(here, "GET", f"/v1/jobs/{JOB_ID}", caller=OPERATOR))
    assert shown["tenant"] == "acme"


@pytest.mark.parametrize(
    "job_id", ["x", "A" * 26, "1" * 26, "a" * 25, "a" * 27, "..", "%2e%2e", "a" * 25 + "\n", "é" * 26]
)
def test_what_cannot_be_an_id_is_not_looked_up(job_id: str) -> None:
    """404 without a read of the table."""
    here = scene()
    event = proxy("GET", f"/v1/jobs/{JOB_ID}")
    event["pathParameters"] = {"id": job_id}

    class Untouched:
        def get(self, *_: object) -> Any:
            raise AssertionError("nothing is to be read")

    untouched: Any = Untouched()
    problem(edge.build(here.world, untouched)(event, context()), 404, "not-found")


def test_progress_is_the_last_one_kept() -> None:
    """Never 100 while the job is not stored."""
    here = scene()
    keep(here, job(state=State.RUNNING, version=3, provider_word="RENDERING"))
    shown = document(call(here, "GET", f"/v1/jobs/{JOB_ID}"))
    assert (shown["progress"], shown["provider_stage"]) == (0, "RENDERING")
    here.store.progresses[JOB_ID] = Progress(percent=100, at=NOW, stage="upscaling")
    shown = document(call(here, "GET", f"/v1/jobs/{JOB_ID}"))
    assert (shown["progress"], shown["provider_stage"], shown["stage"]) == (99, "upscaling", "generating")


def test_a_list_is_the_tenants_own_page_by_page() -> None:
    """Newest first, with a cursor until the last page."""
    here = scene()
    ids = [letter * 26 for letter in "abcde"]
    for age, job_id in enumerate(ids):
        keep(here, job(id=job_id, created_at=NOW - age))
    keep(here, job(id="f" * 26, tenant="rival"))
    seen: list[str] = []
    query: dict[str, str] | None = {"limit": "2"}
    for _ in range(4):
        page = document(call(here, "GET", "/v1/jobs", query=query))
        answers.JobList.model_validate(page)
        seen += [one["request_id"] for one in page["jobs"]]
        if page["cursor"] is None:
            break
        query = {"limit": "2", "cursor": page["cursor"]}
    assert seen == ids


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"limit": "1" * 9}, "limit"),
        ({"limit": "１"}, "limit"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "x" * 3000}, "cursor"),
        ({"attention": "yes"}, "attention"),
        ({"attention": "True"}, "attention"),
    ],
)
def test_a_wrong_word_in_the_query_is_named(query: dict[str, str], field: str) -> None:
    """422, as for a field of a body."""
    told = problem(call(scene(), "GET", "/v1/jobs", query=query), 422, "unprocessable")
    assert [error["field"] for error in told["errors"]] == [field]


def test_a_cursor_of_nobodys_making_is_a_400() -> None:
    """And never a look into another tenant's list."""
    for cursor in ("never one of ours", "!", "%00", "é"):
        problem(call(scene(), "GET", "/v1/jobs", query={"cursor": cursor}), 400, "bad-request")


def test_open_questions_are_listed_for_operators_only() -> None:
    """All tenants', with what may be decided."""
    here = scene()
    keep(here, asked(Reason.OVERDUE, state=State.RUNNING))
    problem(call(here, "GET", "/v1/jobs", query={"attention": "true"}), 403, "forbidden")
    page = document(call(here, "GET", "/v1/jobs", query={"attention": "true"}, caller=OPERATOR))
    [shown] = page["jobs"]
    assert shown["tenant"] == "acme"
    assert shown["attention"]["decisions"] == ["wait", "fail"]


def test_a_cancel_is_answered_with_the_job() -> None:
    """At once where nothing was submitted; again is the same; 409 with the fresh job once it has ended otherwise."""
    here = scene()
    keep(here, job())
    for _ in range(2):
        answer = call(here, "POST", f"/v1/jobs/{JOB_ID}/cancel")
        assert answer["statusCode"] == 202
        assert document(answer)["status"] == "canceled"
    keep(here, job(state=State.SUCCEEDED, version=9, final_version=9))
    told = problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/cancel"), 409, "conflict")
    answers.Problem.model_validate(told)
    assert told["job"]["status"] == "succeeded"


def test_a_decision_is_carried_out_once() -> None:
    """Sent again it finds no question open at that version: 409 with the fresh job, which an operator sees whole."""
    here = scene()
    keep(here, asked(Reason.AMBIGUOUS_SUBMISSION, state=State.SUBMITTING))
    body = {"decision": "fail", "attention_version": 4}
    answer = call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR)
    assert answer["statusCode"] == 200
    shown = document(answer)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "failed_by_operator")
    told = problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR), 409, "conflict")
    assert told["job"]["status"] == "failed"
    assert told["job"]["tenant"] == "acme"


def test_an_adopted_id_is_accepted_for_checking() -> None:
    """202: the provider is asked before anything is bound."""
    here = scene()
    keep(here, asked(Reason.AMBIGUOUS_SUBMISSION, state=State.SUBMITTING))
    body = {"decision": "adopt", "attention_version": 4, "provider_job_id": "p-1"}
    answer = call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR)
    assert answer["statusCode"] == 202
    assert here.store.jobs[JOB_ID].adopt == "p-1"
    assert here.store.jobs[JOB_ID].provider_job_id is None


def test_a_stale_version_decides_nothing() -> None:
    """The question it meant may have been another."""
    here = scene()
    kept = keep(here, asked(Reason.AMBIGUOUS_SUBMISSION, state=State.SUBMITTING))
    for version in (3, 5):
        body = {"decision": "resubmit", "attention_version": version}
        problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR), 409, "conflict")
    assert here.store.jobs[JOB_ID] == kept


def test_a_finding_ends_by_acknowledge() -> None:
    """It names the provider's job, not a version."""
    here = scene()
    finding = Finding(kind=FindingKind.LATE_RESULT, provider_job_id="p-1", since=NOW)
    keep(here, job(state=State.FAILED, version=7, final_version=6, findings=(finding,)))
    body = {"decision": "acknowledge", "provider_job_id": "p-1"}
    shown = document(call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR))
    assert [one["acknowledged"] for one in shown["findings"]] == [True]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decision": "destroy", "attention_version": 4},
        {"decision": "fail"},
        {"decision": "fail", "attention_version": "4"},
        {"decision": "fail", "attention_version": 0},
        {"decision": "fail", "attention_version": 4, "provider_job_id": "p"},
        {"decision": "adopt", "attention_version": 4},
        {"decision": "adopt", "attention_version": 4, "provider_job_id": ""},
        {"decision": "adopt", "attention_version": 4, "provider_job_id": "a b"},
        {"decision": "adopt", "attention_version": 4, "provider_job_id": "p" * 201},
        {"decision": "acknowledge"},
        {"decision": "fail", "attention_version": 4, "because": "x"},
    ],
)
def test_an_incomplete_decision_is_422(body: dict[str, Any]) -> None:
    """And decides nothing."""
    here = scene()
    kept = keep(here, asked(Reason.AMBIGUOUS_SUBMISSION, state=State.SUBMITTING))
    told = problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body, caller=OPERATOR), 422, "unprocessable")
    assert told["errors"]
    assert here.store.jobs[JOB_ID] == kept


def test_only_operators_decide() -> None:
    """Not even about their own job; and they are not shown what could be decided."""
    here = scene()
    kept = keep(here, asked(Reason.AMBIGUOUS_SUBMISSION, state=State.SUBMITTING))
    body = {"decision": "fail", "attention_version": 4}
    problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/resolve", body=body), 403, "forbidden")
    assert here.store.jobs[JOB_ID] == kept
    assert document(call(here, "GET", f"/v1/jobs/{JOB_ID}"))["attention"]["decisions"] == []


def test_a_provider_is_read_paused_limited_and_let_go() -> None:
    """At once, by an operator."""
    here = scene()
    path = "/v1/providers/sim"
    problem(call(here, "GET", path), 403, "forbidden")
    problem(call(here, "POST", path, body={"pause": True}), 403, "forbidden")
    problem(call(here, "GET", "/v1/providers/nobody", caller=OPERATOR), 404, "not-found")
    shown = document(call(here, "GET", path, caller=OPERATOR))
    assert shown == {"provider": "sim", "in_flight": 0, "limit": 4, "pause": None}
    shown = document(call(here, "POST", path, body={"pause": True, "limit": 1}, caller=OPERATOR))
    answers.Provider.model_validate(shown)
    assert (shown["limit"], shown["pause"]["reason"], shown["pause"]["until"]) == (1, "operator", None)
    shown = document(call(here, "POST", path, body={"pause": False, "limit": 0}, caller=OPERATOR))
    assert (shown["limit"], shown["pause"]) == (4, None)


@pytest.mark.parametrize("body", [{}, {"pause": None}, {"pause": "yes"}, {"limit": -1}, {"limit": 901}, {"stop": True}])
def test_an_unclear_word_to_a_provider_is_422(body: dict[str, Any]) -> None:
    """Nothing is guessed."""
    here = scene()
    problem(call(here, "POST", "/v1/providers/sim", body=body, caller=OPERATOR), 422, "unprocessable")
    assert not here.store.pauses


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/jobs"),
        ("GET", f"/v1/jobs/{JOB_ID}"),
        ("POST", f"/v1/jobs/{JOB_ID}/cancel"),
        ("POST", f"/v1/jobs/{JOB_ID}/resolve"),
        ("GET", "/v1/providers/sim"),
        ("POST", "/v1/providers/sim"),
    ],
)
def test_without_a_caller_every_route_is_401(method: str, path: str) -> None:
    """A route that lost its authorizer in the template shows nothing."""
    here = scene()
    kept = keep(here, job())
    problem(call(here, method, path, body={"pause": True}, caller=None), 401, "unauthorized")
    assert here.store.jobs[JOB_ID] == kept


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", f"/v1/jobs/{JOB_ID}", "GET"),
        ("PUT", f"/v1/jobs/{JOB_ID}/cancel", "POST"),
        ("PATCH", "/v1/providers/sim", "GET, POST"),
        ("get", "/v1/nothing", None),
        ("GET", "/v1/jobs/a/b/c", None),
        ("GET", "/", None),
    ],
)
def test_an_unknown_route_is_a_problem_too(method: str, path: str, allow: str | None) -> None:
    """404 where there is nothing, 405 with Allow where another method would do."""
    answer = call(scene(), method, path)
    problem(answer, 405 if allow else 404, "method-not-allowed" if allow else "not-found")
    assert header(answer, "Allow") == allow


@pytest.mark.parametrize("broken", [{}, {"httpMethod": "GET"}, {"httpMethod": None, "path": None}, {"path": 7}])
def test_an_event_that_is_no_request_gets_an_answer_all_the_same(broken: dict[str, Any]) -> None:
    """No exception leaves the handler: the gateway would make a 502 of it."""
    answer = edge.build(scene().world, steps)(broken, context())
    assert answer["statusCode"] in (404, 500)
    assert header(answer, "Content-Type") == "application/problem+json"


def test_the_fresh_job_in_a_conflict_is_shown_by_the_callers_scope() -> None:
    """A user is not shown what only an operator may decide, on this way either."""
    here = scene()
    keep(here, replace(asked(Reason.RESULT_UNAVAILABLE, state=State.STORING), slot=None))
    mine = problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/cancel"), 409, "conflict")
    assert mine["job"]["attention"]["decisions"] == []
    theirs = problem(call(here, "POST", f"/v1/jobs/{JOB_ID}/cancel", caller=OPERATOR), 409, "conflict")
    assert theirs["job"]["attention"]["decisions"] == ["retry", "fail"]
