"""POST /v1/jobs through its handler, with the real step over a table in memory."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import urljoin

import pytest

from mediajobs.api import submit as edge
from mediajobs.errors import ConfigurationError, InProgress, Throttled, Unavailable
from mediajobs.jobs.model import Job, request_id
from mediajobs.messages import Caller
from mediajobs.ports import World
from mediajobs.steps import submit as step
from mediajobs.steps.submit import Submission
from tests.api.events import OTHER, REQUEST_ID, context, document, header, problem, proxy
from tests.api.stubs import Scene, scene

BODY = {"provider": "sim", "model": "video-1", "input": {"prompt": "a red bicycle leaning on a garden wall"}}


def post(here: Scene, body: object = BODY, key: str | list[str] | None = "k1", **more: Any) -> dict[str, Any]:
    headers = more.pop("headers", {}) | ({} if key is None else {"Idempotency-Key": key})
    return edge.build(here.world, step)(proxy("POST", "/v1/jobs", body=body, headers=headers, **more), context())


class Raises:
    """A step that fails in a given way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, world: World, caller: Caller, key: str, command: Submission) -> tuple[Job, bool]:
        raise self.error


def test_a_submit_is_answered_with_the_id_and_where_to_read_it() -> None:
    """202, pending, and a Location that holds under any stage or front."""
    here = scene()
    answer = post(here)
    job_id = request_id("acme", "k1")
    assert answer["statusCode"] == 202
    assert document(answer) == {"request_id": job_id, "status": "pending"}
    assert header(answer, "Location") == f"jobs/{job_id}"
    assert header(answer, "Content-Type") == "application/json"
    assert header(answer, "Cache-Control") == "no-store"
    assert header(answer, "Idempotency-Replayed") is None
    kept = here.store.jobs[job_id]
    body = here.store.input(kept)
    assert body is not None
    assert json.loads(body) == {"input": BODY["input"], "metadata": {}}


def test_a_replay_says_so_and_makes_nothing() -> None:
    """The same key, bare or quoted, in any case, with the same payload in another writing."""
    here = scene()
    first = post(here, {**BODY, "input": {"prompt": "a kettle", "seed": 1, "scale": 0.5}})
    for again in (
        post(here, b'{"input":{"scale":5e-1,"seed":1.0,"prompt":"a kettle"},"model":"video-1","provider":"sim"}'),
        post(here, {**BODY, "input": {"prompt": "a kettle", "seed": 1, "scale": 0.5}, "metadata": {}}, key='"k1"'),
        post(
            here,
            {**BODY, "input": {"prompt": "a kettle", "seed": 1, "scale": 0.5}, "start_within": None},
            key=None,
            headers={"idempotency-KEY": "k1"},
        ),
    ):
        assert again["statusCode"] == 202
        assert document(again) == document(first)
        assert header(again, "Idempotency-Replayed") == "true"
    assert len(here.store.jobs) == 1


@pytest.mark.parametrize(
    "other",
    [
        {**BODY, "input": {"prompt": "another"}},
        {**BODY, "metadata": {"order": "7"}},
        {**BODY, "start_within": 60},
    ],
)
def test_the_same_key_with_another_payload_is_422(other: dict[str, Any]) -> None:
    """And the first job stands as it was."""
    here = scene()
    post(here)
    before = dict(here.store.jobs)
    problem(post(here, other), 422, "unprocessable")
    assert here.store.jobs == before


def test_tenants_do_not_share_keys() -> None:
    """Equal keys and bodies make two jobs, and neither answer shows anything of the other."""
    here = scene()
    mine, theirs = post(here), post(here, caller=OTHER)
    assert document(mine)["request_id"] != document(theirs)["request_id"]
    assert header(theirs, "Idempotency-Replayed") is None
    assert len(here.store.jobs) == 2


def test_one_of_many_at_once_makes_the_job() -> None:
    """Submits of one key that race at the step end as one job; each caller gets its id."""
    here = scene()
    command = Submission(provider="sim", model="video-1", body=b'{"input":{"prompt":"x"}}', digest=b"d" * 32)
    ready = threading.Barrier(8)
    got: list[tuple[str, bool]] = []

    def run() -> None:
        ready.wait()
        job, replayed = step.submit(here.world, Caller(tenant="acme", scope="user"), "k1", command)
        got.append((job.id, replayed))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({job_id for job_id, _ in got}) == 1
    assert sorted(replayed for _, replayed in got) == [False] + [True] * 7


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (None, 400, "bad-request"),
        (b"", 400, "bad-request"),
        (b"{", 400, "bad-request"),
        (b"[]", 400, "bad-request"),
        (b'{"provider":"sim","model":"video-1","input":{"prompt":NaN}}', 400, "bad-request"),
        (b'{"provider":"sim","provider":"sim","model":"video-1","input":{"prompt":"x"}}', 400, "bad-request"),
        (b'{"input":' + b"[" * 5000 + b"]" * 5000 + b"}", 400, "bad-request"),
        (b"x" * 1_000_000, 413, "too-large"),
        ({**BODY, "input": {"prompt": "x" * 70_000}}, 413, "too-large"),
        ({**BODY, "provider": "nobody"}, 422, "unprocessable"),
        ({**BODY, "model": "video-9"}, 422, "unprocessable"),
        ({**BODY, "input": {}}, 422, "unprocessable"),
    ],
)
def test_what_cannot_be_a_job_makes_none(body: object, status: int, slug: str) -> None:
    """The right 4xx, and nothing written."""
    here = scene()
    problem(post(here, body), status, slug)
    problem(post(here, body, key="k2", binary=False), status, slug)
    assert not here.store.jobs


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"provider": None}, "provider"),
        ({"provider": ""}, "provider"),
        ({"provider": 7}, "provider"),
        ({"model": "m" * 201}, "model"),
        ({"input": "a prompt"}, "input"),
        ({"input": []}, "input"),
        ({"metadata": {"n": 7}}, "metadata.n"),
        ({"metadata": []}, "metadata"),
        ({"metadata": None}, "metadata"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"metadata": {"k": "é" * 1024}}, "metadata"),
        ({"start_within": 59}, "start_within"),
        ({"start_within": 604_801}, "start_within"),
        ({"start_within": 60.5}, "start_within"),
        ({"start_within": True}, "start_within"),
        ({"start_within": "3600"}, "start_within"),
        ({"webhook": "https://example.com"}, "webhook"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    """422 with the field's name and what is wrong, never with what was sent."""
    here = scene()
    told = problem(post(here, {**BODY, **change}), 422, "unprocessable")
    assert [error["field"] for error in told["errors"]] == [field]
    assert told["errors"][0]["message"]
    assert field in told["detail"]
    assert "bicycle" not in json.dumps(told)
    assert not here.store.jobs


def test_all_that_is_allowed_is_taken() -> None:
    """The greatest metadata, both ends of start_within, a whole number written as a fraction."""
    here = scene()
    metadata = {f"key-{n:02}": "v" * 122 for n in range(16)}
    assert sum(len(k) + len(v) for k, v in metadata.items()) == 2048
    answer = post(here, {**BODY, "metadata": metadata, "start_within": 604_800})
    assert answer["statusCode"] == 202
    kept = here.store.jobs[document(answer)["request_id"]]
    assert kept.start_within_s == 604_800
    sent = b'{"provider":"sim","model":"video-1","input":{"prompt":"x"},"start_within":60.0}'
    assert here.store.jobs[document(post(here, sent, key="k2"))["request_id"]].start_within_s == 60
    assert here.store.jobs[document(post(here, key="k3"))["request_id"]].start_within_s == 86_400


def test_the_key_is_asked_for_before_the_body_is_looked_at() -> None:
    """Without a key nothing else counts; without a caller not even the key."""
    here = scene()
    assert "Idempotency-Key is missing" in problem(post(here, b"{", key=None), 400, "bad-request")["detail"]
    problem(post(here, key=["a", "b"]), 400, "bad-request")
    problem(post(here, b"{", key=None, caller=None), 401, "unauthorized")
    assert not here.store.jobs


def test_a_refused_body_does_not_burn_the_key() -> None:
    """The corrected request goes through under the same key."""
    here = scene()
    problem(post(here, {**BODY, "model": "video-9"}), 422, "unprocessable")
    problem(post(here, b"{"), 400, "bad-request")
    answer = post(here)
    assert (answer["statusCode"], header(answer, "Idempotency-Replayed")) == (202, None)


@pytest.mark.parametrize(
    ("error", "status", "slug", "wait"),
    [
        (Throttled("table"), 503, "unavailable", "1"),
        (InProgress("twin"), 503, "unavailable", "1"),
        (ConfigurationError("TABLE is missing"), 503, "unavailable", "60"),
        (Unavailable("later", retry_after_s=2.2), 503, "unavailable", "3"),
        (RuntimeError("secret-of-ours"), 500, "internal", None),
        (KeyError("secret-of-ours"), 500, "internal", None),
        (RecursionError(), 500, "internal", None),
        (MemoryError(), 500, "internal", None),
    ],
)
def test_a_fault_of_ours_is_an_answer_and_a_line_in_the_log(
    error: Exception, status: int, slug: str, wait: str | None
) -> None:
    """Found in the log by the instance that the caller is shown; its text stays inside."""
    here = scene()
    event = proxy("POST", "/v1/jobs", body=BODY, headers={"Idempotency-Key": "k"})
    answer = edge.build(here.world, Raises(error))(event, context())
    told = problem(answer, status, slug)
    assert told["instance"] == f"urn:uuid:{REQUEST_ID}"
    assert header(answer, "Retry-After") == wait
    assert "secret-of-ours" not in answer["body"]
    assert "TABLE" not in answer["body"]
    if not isinstance(error, Unavailable):
        [line] = [line for line in here.log() if line["message"] == "answered with a problem"]
        assert line["instance"] == told["instance"]
        assert line["error"].startswith(type(error).__name__)
        assert line["stack"]


def test_a_fault_is_not_the_answer_for_ever() -> None:
    """After a 503 the same key makes the job."""
    here = scene()
    event = proxy("POST", "/v1/jobs", body=BODY, headers={"Idempotency-Key": "k1"})
    problem(edge.build(here.world, Raises(Throttled("table")))(event, context()), 503, "unavailable")
    answer = post(here)
    assert (answer["statusCode"], header(answer, "Idempotency-Replayed")) == (202, None)


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/v1/jobs", "/media/v1/jobs", "/evil\r\nX: y/v1/jobs", None])
def test_location_is_relative_so_it_holds_behind_any_address(path: str | None) -> None:
    """Stage, custom domain, base path or front: resolved against the request's own URL it names the job."""
    here = scene()
    event = proxy("POST", "/v1/jobs", body=BODY, headers={"Idempotency-Key": "k"})
    event["requestContext"]["path"] = path
    answer = edge.build(here.world, step)(event, context())
    location = header(answer, "Location")
    job_id = request_id("acme", "k")
    assert urljoin("https://api.example.com/api/v1/jobs", location) == f"https://api.example.com/api/v1/jobs/{job_id}"


def test_a_base_path_before_the_route_does_not_hide_it() -> None:
    """A custom domain's mapping stands in the event's path."""
    here = scene()
    event = proxy("POST", "/v1/jobs", body=BODY, headers={"Idempotency-Key": "k"})
    event["path"] = "/media/tools/v1/jobs"
    assert edge.build(here.world, step)(event, context())["statusCode"] == 202
