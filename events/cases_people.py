"""Cases of the functions that people's programs call: authorize, submit, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from events.case import Case, document, problem
from events.fixed import (
    IDEMPOTENCY_KEY,
    NOW,
    OPERATOR_KEY,
    OPERATOR_TENANT,
    OTHER_TENANT,
    PROMPT,
    TENANT,
    TOKENS_KEY,
    USER_KEY,
)
from events.scenes import SUBMIT, story
from events.shapes import OPERATOR, RIVAL, USER, Headers, api, authorizer, listener
from mediajobs.signatures.channels import channel, channel_token

KEY = {"Idempotency-Key": IDEMPOTENCY_KEY}
JSON = {"Content-Type": "application/json"}


def authorize() -> Iterator[Case]:
    def case(name: str, says: str, headers: Headers, tenant: str = "", scope: str = "", **more: Any) -> Case:
        allowed = {"principalId": tenant, "context": {"tenant": tenant, "scope": scope}} if tenant else None
        raises = None if tenant else "Unauthorized"
        event = authorizer(headers, **more)
        return Case(function="authorize", name=name, says=says, event=event, answer=allowed, raises=raises)

    yield case("user-key", "A known key opens the stage to its tenant.", {"X-API-Key": USER_KEY}, TENANT, "user")
    yield case("lower-case-header", "Header names come as clients write them.", {"x-api-key": USER_KEY}, TENANT, "user")
    operator: Headers = {"X-API-Key": OPERATOR_KEY}
    posting = {"method": "POST", "path": "/v1/jobs/abcdefghijklmnopqrstuvwx23/resolve"}
    yield case("operator-key", "An operator's key says so.", operator, OPERATOR_TENANT, "operator", **posting)
    yield case("unknown-key", "A key that is nobody's is the gateway's 401.", {"X-API-Key": "mj_" + "0" * 40})
    yield case("missing-key", "So is no key.", {})
    yield case("two-keys", "Of two keys none counts.", {"X-API-Key": [USER_KEY, OPERATOR_KEY]})
    yield from _listening()


def _listening() -> Iterator[Case]:
    job_id = story("running").job.id
    own, other = channel(TENANT, job_id), channel(TENANT, story("pending").job.id)
    good, old = (channel_token(TOKENS_KEY.encode(), TENANT, job_id, NOW // 1000 + left) for left in (3600, 0))

    def case(name: str, says: str, event: dict[str, Any], *, allowed: bool = False) -> Case:
        answer = {"isAuthorized": allowed, "ttlOverride": 0}
        return Case(function="authorize", name=name, says=says, event=event, answer=answer)

    connecting = listener(good, "EVENT_CONNECT")
    yield case("live-connect", "A live token opens a socket.", connecting, allowed=True)
    yield case("live-subscribe", "It opens its own channel.", listener(good, channel=own), allowed=True)
    yield case("live-other-job", "And no other job's.", listener(good, channel=other))
    yield case("live-other-tenant", "Nor another tenant's.", listener(good, channel=channel(OTHER_TENANT, job_id)))
    yield case("live-wildcard", "Nor all at once.", listener(good, channel="/jobs/*"))
    yield case("live-expired", "Nor its own after an hour.", listener(old, channel=own))
    yield case("live-api-key", "An API key is no live token.", listener(USER_KEY, channel=own))
    yield case("live-publish", "Nobody publishes with a token.", listener(good, "EVENT_PUBLISH", own))


def _post(body: object, headers: Headers = KEY, **more: Any) -> dict[str, Any]:
    return api("POST", "/v1/jobs", body=body, headers={**JSON, **headers}, **more)


def submit() -> Iterator[Case]:
    job = story("pending").job
    accepted = document(202, {"Location": f"jobs/{job.id}"}, request_id=job.id, status="pending")
    replayed = document(202, {"Idempotency-Replayed": "true"}, request_id=job.id, status="pending")
    after = {"id": job.id, "state": "pending", "version": 1, "out": "dispatch"}

    def case(name: str, says: str, event: dict[str, Any], **more: Any) -> Case:
        return Case(function="submit", name=name, says=says, event=event, **more)

    def refused(name: str, says: str, event: dict[str, Any], status: int, slug: str, **more: Any) -> Case:
        return case(name, says, event, answer=problem(status, slug), **more)

    yield case("happy", "A job is recorded; nothing has been charged.", _post(SUBMIT), answer=accepted, after=after)
    wrapped = _post(SUBMIT, wrapped=True)
    yield case("base64-body", "The same, as it comes with BinaryMediaTypes.", wrapped, answer=accepted, after=after)
    lower = _post(SUBMIT, {"idempotency-key": IDEMPOTENCY_KEY})
    yield case("lower-case-header", "Header names come in any case.", lower, answer=accepted, after=after)
    priced = SUBMIT | {"input": {"prompt": PROMPT, "strength": 0.5, "seed": 7}}
    yield case("floats", "Numbers may have fractions.", _post(priced), answer=accepted, after=after)
    again = {"given": ("pending",), "answer": replayed, "after": after}
    yield case("replay", "The same key and payload are the same job.", _post(SUBMIT), **again)
    quoted = _post(SUBMIT, {"Idempotency-Key": f'"{IDEMPOTENCY_KEY}"'})
    yield case("replay-quoted-key", "A key in quotes is the same key.", quoted, **again)
    other = _post(SUBMIT | {"input": {"prompt": "a blue kettle on a stove"}})
    yield refused("key-reused", "One key, two payloads.", other, 422, "unprocessable", given=("pending",), after=after)
    yield refused("missing-key", "No Idempotency-Key.", _post(SUBMIT, {}), 400, "bad-request")
    two = _post(SUBMIT, {"Idempotency-Key": ["one", "two"]})
    yield refused("two-keys", "Two keys: nobody can tell which is meant.", two, 400, "bad-request")
    yield refused("empty-body", "Nothing was sent.", _post(None), 400, "bad-request")
    yield refused("wrong-json", "The body is not JSON.", _post(b'{"provider": "sim",'), 400, "bad-request")
    nan = b'{"provider":"sim","model":"video-1","input":{"prompt":"a red bicycle","strength":NaN}}'
    yield refused("nan", "NaN is not JSON.", _post(nan), 400, "bad-request")
    flagged = _post(SUBMIT) | {"body": "not base64!", "isBase64Encoded": True}
    yield refused("not-base64", "The gateway's flag does not fit.", flagged, 400, "bad-request")
    for name, change in (
        ("unknown-provider", {"provider": "elsewhere"}),
        ("unknown-model", {"model": "video-9"}),
        ("unknown-field", {"prioritiy": 1}),
        ("wrong-type", {"metadata": {"order": 1042}}),
    ):
        says = f"Well-formed, but {', '.join(change)} is wrong."
        yield refused(name, says, _post(SUBMIT | change), 422, "unprocessable")
    nobody = _post(SUBMIT, caller=None)
    yield refused("no-caller", "The authorizer proved nobody.", nobody, 401, "unauthorized")


def _job(path: str, scene: str, caller: Mapping[str, str] = USER, body: object = None) -> dict[str, Any]:
    method = "GET" if path == "" else "POST"
    headers = JSON if body is not None else {}
    return api(method, f"/v1/jobs/{story(scene).job.id}{path}", caller=caller, body=body, headers=headers)


def _case(name: str, says: str, event: dict[str, Any], answer: dict[str, Any], *given: str, **after: Any) -> Case:
    """A case of jobs; `after` is what the first given job has become."""
    job = {"id": story(given[0]).job.id, **after} if after else None
    return Case(function="jobs", name=name, says=says, event=event, answer=answer, given=given, after=job)


def jobs() -> Iterator[Case]:
    yield from _reading()
    yield from _canceling()
    yield from _resolving()
    yield from _providers()


def _reading() -> Iterator[Case]:
    listen = {"channel": channel(TENANT, story("pending").job.id), "expires_at": "2027-01-15T09:00:00.000Z"}
    waiting = document(200, status="pending", stage="queued", metadata={"order": "1042"}, live=listen)
    yield _case("get", "A job as its tenant reads it.", _job("", "pending"), waiting, "pending")
    outputs = [{"content_type": "video/mp4", "size": 3141}]
    done = document(200, status="succeeded", progress=100, outputs=outputs, live=None)
    yield _case("get-succeeded", "Results come with short-lived links.", _job("", "succeeded"), done, "succeeded")
    open_question = document(200, tenant=TENANT, attention={"reason": "ambiguous_submission", "version": 3})
    event = _job("", "ambiguous", OPERATOR)
    yield _case("get-as-operator", "An operator reads every tenant's jobs.", event, open_question, "ambiguous")
    hidden = problem(404, "not-found")
    event = _job("", "pending", RIVAL)
    yield _case("other-tenant", "Another tenant's job is no job.", event, hidden, "pending", state="pending")
    yield _case("unknown-job", "Nor is one that never was.", _job("", "pending"), hidden)
    odd = api("GET", "/v1/jobs/..%2fK", caller=USER)
    yield _case("odd-id", "What cannot be an id is not looked up.", odd, hidden)
    listed = document(200, jobs=[{"status": "pending"}], cursor=None)
    yield _case("list", "A tenant's jobs, newest first.", api("GET", "/v1/jobs"), listed, "pending")
    asked = api("GET", "/v1/jobs", query={"attention": "true"}, caller=OPERATOR)
    questions = document(200, jobs=[{"tenant": TENANT, "provider": "sim-nokey"}])
    yield _case("list-attention", "Open questions, for an operator.", asked, questions, "ambiguous")
    asked = api("GET", "/v1/jobs", query={"attention": "true"})
    yield _case("list-attention-as-user", "Not for a user.", asked, problem(403, "forbidden"), "ambiguous")
    unread = api("GET", "/v1/jobs", query={"cursor": "made-up"})
    yield _case("list-wrong-cursor", "A cursor that we did not give out.", unread, problem(400, "bad-request"))


def _canceling() -> Iterator[Case]:
    canceled = document(202, status="canceled")
    gone = {"state": "canceled", "out": "publish live"}
    yield _case("cancel", "Before its submission: at once.", _job("/cancel", "pending"), canceled, "pending", **gone)
    noted = document(202, status="running", cancel_requested=True)
    asked = {"state": "running", "cancel_requested": True, "out": "cancel"}
    yield _case("cancel-running", "Later: a request.", _job("/cancel", "running"), noted, "running", **asked)
    late = problem(409, "conflict")
    event = _job("/cancel", "storing")
    yield _case("cancel-storing", "The result is there: too late.", event, late, "storing", state="storing")
    event = _job("/cancel", "succeeded")
    yield _case("cancel-finished", "So much the more at the end.", event, late, "succeeded", state="succeeded")
    event = _job("/cancel", "running", RIVAL)
    hidden = problem(404, "not-found")
    yield _case("cancel-other-tenant", "Not another's.", event, hidden, "running", cancel_requested=False)


def _resolving() -> Iterator[Case]:
    version = _version("ambiguous")

    def case(name: str, says: str, body: object, answer: dict[str, Any], **after: Any) -> Case:
        event = _job("/resolve", "ambiguous", OPERATOR, body)
        return _case(f"resolve-{name}", says, event, answer, "ambiguous", **after)

    def decided(word: str, **more: Any) -> dict[str, Any]:
        return {"decision": word, "attention_version": version, **more}

    adopt = decided("adopt", provider_job_id="found-by-hand")
    yield case("adopt", "Dispatch checks the id first.", adopt, document(202), adopt="found-by-hand", out="dispatch")
    again = {"submission": 2, "attention": None, "provider_job_id": None}
    yield case("resubmit", "May charge again, under a new key.", decided("resubmit"), document(200), **again)
    failed = document(200, status="failed", error={"code": "failed_by_operator"})
    yield case("fail", "The job ends.", decided("fail"), failed, state="failed", slot=None)
    old = {"decision": "fail", "attention_version": version - 1}
    yield case("old-version", "The question has changed since.", old, problem(409, "conflict"), state="submitting")
    unfit = problem(409, "conflict")
    event = _job("/resolve", "unsure", OPERATOR, decided("resubmit"))
    says = "The first request may still be on the wire: try again in a minute."
    yield _case("resolve-resubmit-too-soon", says, event, unfit, "unsure", submission=1)
    yield case("wrong-decision", "No answer to this question.", decided("retry"), unfit, state="submitting")
    unnamed = problem(422, "unprocessable")
    yield case("no-version", "It does not say which question.", {"decision": "fail"}, unnamed, state="submitting")
    event = _job("/resolve", "ambiguous", USER, decided("fail"))
    yield _case("resolve-as-user", "Operators only.", event, problem(403, "forbidden"), "ambiguous", state="submitting")
    event = _job("/resolve", "running", OPERATOR, decided("fail"))
    yield _case("resolve-nothing-open", "No question is open.", event, unfit, "running", state="running")
    said = {"decision": "acknowledge", "provider_job_id": story("late").provider_job_id}
    seen = document(200, findings=[{"kind": "late_result", "acknowledged": True}])
    yield _case(
        "acknowledge", "A finding was read.", _job("/resolve", "late", OPERATOR, said), seen, "late", state="canceled"
    )


def _version(scene: str) -> int:
    attention = story(scene).job.attention
    assert attention is not None, scene  # noqa: S101 the scene is told wrongly
    return attention.version


def _providers() -> Iterator[Case]:
    full = document(200, provider="sim", in_flight=4, limit=4, pause=None)
    asked = api("GET", "/v1/providers/sim", caller=OPERATOR)
    yield _case("provider", "A provider's slots and pause.", asked, full, "busy")
    paused = document(200, provider="sim", pause={"reason": "operator", "until": None})
    told = api("POST", "/v1/providers/sim", caller=OPERATOR, body={"pause": True}, headers=JSON)
    yield _case("provider-pause", "Submit nothing until further notice.", told, paused)
    told = api("POST", "/v1/providers/sim", caller=USER, body={"pause": True}, headers=JSON)
    yield _case("provider-pause-as-user", "Operators only.", told, problem(403, "forbidden"))
