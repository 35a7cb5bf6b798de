"""What one vendor alone does, as its double does it and its adapter takes it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from local.vendors.heygen import ENDPOINTS
from mediajobs.adapters.providers.kling import make_token
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.messages import Report, ReportKind, Request
from tests.local_provider.kit import PROMPT, call, until
from tests.local_vendors.conftest import Lines
from tests.local_vendors.kit import Line, now

LONG = {"duration_s": 20}


def done(report: Report) -> bool:
    return report.status is Status.SUCCEEDED


def body_of(request: Request, **changes: Any) -> bytes:
    return json.dumps({**json.loads(request.body), **changes}).encode()


def test_fal_knows_a_request_at_its_apps_address_only(line: Lines) -> None:
    """Not under the endpoint's whole id, and each address by its own method."""
    it = line("fal")
    job, _ = it.submit()
    headers = {"Authorization": f"Key {it.secrets.known['fal']['api_key']}"}
    place = f"requests/{job.provider_job_id}"
    assert call("GET", f"{it.base}/fal-ai/flux/{place}/status", headers=headers).status in (200, 202)
    assert call("GET", f"{it.base}/fal-ai/flux/dev/{place}/status", headers=headers).status == 404
    assert call("GET", f"{it.base}/fal-ai/wan/{place}/status", headers=headers).status == 404
    assert call("POST", f"{it.base}/fal-ai/flux/{place}/cancel", headers=headers).status == 404
    assert call("GET", f"{it.base}/fal-ai/flux/{place}/cancel", headers=headers).status == 405
    bearer = {"Authorization": headers["Authorization"].replace("Key", "Bearer")}
    assert call("GET", f"{it.base}/fal-ai/flux/{place}/status", headers=bearer).status == 401


def test_fal_tells_a_failure_by_its_status_or_by_its_result(line: Lines) -> None:
    """COMPLETED both times."""
    it = line("fal")
    words = set()
    for number in range(12):
        it.script({"provider_fails": True, "duration_s": 0.01})
        job, _ = it.submit(f"job-{number}")
        assert it.polled(job, lambda report: report.status is Status.FAILED).message
        words.add(it.http.asked[-1].endswith("/status"))
    assert words == {True, False}


def test_fal_cancels_and_says_so_by_its_own_word(line: Lines) -> None:
    it = line("fal")
    it.script(LONG)
    job, _ = it.submit()
    it.polled(job, lambda report: report.raw == "IN_PROGRESS")
    assert it.adapter.cancel(job).status is Status.UNKNOWN
    it.polled(job, lambda report: report.status is Status.CANCELED)
    assert it.told(lambda report: report.status is Status.CANCELED).provider_job_id == job.provider_job_id
    other, _ = it.submit("other")
    it.polled(other, done)
    assert it.adapter.cancel(other).kind is ReportKind.REFUSED


def test_fal_takes_what_waits_out_of_its_queue_at_once(line: Lines) -> None:
    """And says OK, which is a webhook's word for success too."""
    it = line("fal", expected_s=20.0)
    job, _ = it.submit()
    assert it.poll(job).raw == "IN_QUEUE"
    assert it.adapter.cancel(job).status is Status.CANCELED
    assert it.poll(job).status is Status.CANCELED


def test_fal_may_leave_the_payload_out_of_its_webhook(line: Lines) -> None:
    """Then the result is asked for."""
    it = line("fal")
    for number in range(12):
        it.script({"repeat_2": True, "duration_s": 0.01})
        job, _ = it.submit(f"job-{number}")
        if it.told(lambda report, job=job: report.provider_job_id == job.provider_job_id).confirm:  # type: ignore[misc]
            assert it.poll(job).links
            return
    raise AssertionError("no webhook came without its payload")


def test_a_result_is_gone_after_its_life(line: Lines) -> None:
    """fal: 404 from its address. Replicate: null. BFL: nobody knows the job."""
    for name, kind in (("fal", ReportKind.WORD), ("replicate", ReportKind.WORD), ("bfl", ReportKind.GONE)):
        it = line(name, result_life_s=0.0)
        job, _ = it.submit()
        report = it.polled(job, lambda report, kind=kind: report.kind is kind and report.status is not Status.RUNNING)  # type: ignore[misc]
        assert report.links == ()


def test_replicate_cancels_what_runs_and_aborts_what_waits(line: Lines) -> None:
    it = line("replicate", expected_s=20.0)
    waiting, _ = it.submit("waiting")
    it.script({"webhook_first": "terminal", **LONG, "drop": True})
    running, _ = it.submit("running")
    it.polled(running, lambda report: report.raw == "processing")
    for job in (waiting, running):
        it.adapter.cancel(job)
    assert it.server.ledger.finish(str(waiting.provider_job_id), "canceled")
    assert it.poll(waiting).raw == "aborted"
    assert it.poll(waiting).status is Status.CANCELED


def test_replicate_sends_what_the_filter_wants(line: Lines) -> None:
    """The adapter wants the end alone; asked for, the start is told too."""
    it = line("replicate")
    job, _ = it.submit()
    it.polled(job, done)
    assert {json.loads(delivery.body)["status"] for delivery in it.box.taken} <= {"succeeded"}
    request = it.request(it.job("second"))
    assert it.raw(replace(request, body=body_of(request, webhook_events_filter=["start", "completed"]))).status == 201
    it.told(lambda report: report.raw == "processing")
    assert it.raw(replace(request, body=body_of(request, webhook_events_filter=["progress"]))).status == 422


def test_runway_wants_its_version_in_every_request(line: Lines) -> None:
    it = line("runway")
    request = it.request(it.job(), webhook=False)
    for version in (None, "2023-01-01"):
        reply = it.raw(request, x_runway_version=version)
        assert (reply.status, "X-Runway-Version" in reply.json["error"]) == (400, True)
    assert it.raw(replace(request, body=body_of(request, webhook_url="http://127.0.0.1:1/"))).status == 400
    assert it.raw(replace(request, body=body_of(request, promptImage=""))).status == 400


def test_runway_deletes_what_is_done_and_the_adapter_lets_it_be(line: Lines) -> None:
    """A cancel that came too late must not cost the paid result."""
    it = line("runway")
    job, _ = it.submit()
    link = it.polled(job, done).links[0].url
    assert it.adapter.cancel(job).status is Status.SUCCEEDED
    assert call("GET", link).status == 200
    headers = {"Authorization": f"Bearer {it.secrets.known['runway']['api_key']}", "X-Runway-Version": "2024-11-06"}
    assert call("DELETE", f"{it.base}/v1/tasks/{job.provider_job_id}", headers=headers).status == 204
    assert it.poll(job).kind is ReportKind.GONE
    assert call("GET", link).status == 404


def test_runway_throttles_beyond_its_concurrency_and_forgets_the_canceled(line: Lines) -> None:
    it = line("runway", expected_s=20.0)
    jobs = [it.submit(f"job-{number}", number)[0] for number in range(3)]
    last = it.poll(jobs[2])
    assert (last.raw, last.status) == ("THROTTLED", Status.RUNNING)
    assert it.poll(jobs[0]).raw in ("PENDING", "RUNNING")
    assert it.adapter.cancel(jobs[2]).status is Status.CANCELED
    until(lambda: it.poll(jobs[2]).kind is ReportKind.GONE)


def test_bfl_knows_a_job_in_its_region_only(line: Lines) -> None:
    """Where the sender was told a polling_url and nothing else."""
    it = line("bfl")
    job, answered = it.submit(webhook=False)
    assert answered.poll_url is not None
    assert "/eu1/" in answered.poll_url
    assert it.polled(job, done).links
    assert it.poll(replace(job, poll_url=None)).kind is ReportKind.GONE


def test_bfl_signs_with_the_secret_it_was_given_or_not_at_all(line: Lines) -> None:
    it = line("bfl")
    request = it.request(it.job())
    headers = {**request.headers, "x-key": it.secrets.known["bfl"]["api_key"]}
    assert call("POST", request.url, headers=headers, raw=request.body).status == 200
    (delivery,) = until(lambda: list(it.box.taken))
    assert "x-bfl-signature" not in delivery.headers
    without = {name: value for name, value in headers.items() if name != "x-key"}
    assert call("POST", request.url, headers=without, raw=request.body).status == 403


def test_bfl_takes_24_jobs_at_once(line: Lines) -> None:
    it = line("bfl", expected_s=30.0)
    for number in range(24):
        assert it.submit(f"job-{number}", webhook=False)[1].kind is AnswerKind.ACCEPTED
    busy = it.submit("one more", webhook=False)[1]
    assert (busy.kind, busy.retry_at is not None) == (AnswerKind.NOT_ACCEPTED, True)


def test_kling_finds_a_lost_submit_by_our_reference(line: Lines) -> None:
    """And refuses the reference a second time, which the adapter takes for no proof."""
    it = line("kling")
    it.script({"close_after": True, **LONG})
    job, answered = it.submit()
    assert answered.kind is AnswerKind.AMBIGUOUS
    found = it.adapter.lookup(job)
    assert found.provider_job_id == it.ledger()["jobs"][0]["id"]
    assert it.submit()[1].kind is AnswerKind.AMBIGUOUS
    assert it.adapter.lookup(it.job("another")).kind is ReportKind.ABSENT
    assert it.ledger()["charges"] == 1


def test_kling_tells_every_change_of_status(line: Lines) -> None:
    it = line("kling")
    it.submit()
    it.told(lambda report: report.raw == "processing")
    assert it.told(done).reference == it.job().reference


@pytest.mark.parametrize(
    ("header", "code"),
    [(None, 1001), ("Bearer x", 1002), ("other key", 1002), ("later", 1003), ("expired", 1004), ("too long", 1002)],
)
def test_kling_judges_each_requests_token(line: Lines, header: str | None, code: int) -> None:
    it = line("kling")
    access, secret = it.secrets.known["kling"]["api_key"].split(":")
    second = now() // 1000
    made = {
        "other key": make_token(access, "another-secret", second),
        "later": make_token(access, secret, second + 600),
        "expired": make_token(access, secret, second - 7200),
        "too long": make_token(access, secret, second + 86_400),
    }
    given = f"Bearer {made[header]}" if header in made else header
    reply = it.raw(it.request(it.job()), authorization=given)
    assert (reply.status, reply.json["code"]) == (401, code)


def test_heygen_replays_the_first_answer_even_to_another_body(line: Lines) -> None:
    """For a day, and charges once."""
    it = line("heygen", key_life_s=1.0)
    request = it.request(it.job())
    first = it.raw(request).json["data"]["video_id"]
    assert it.raw(replace(request, body=body_of(request, script="a paper boat"))).json["data"]["video_id"] == first
    assert it.ledger()["charges"] == 1
    time.sleep(1.1)
    assert it.raw(request).json["data"]["video_id"] != first
    assert it.raw(request, idempotency_key='"quoted"').status == 400


def test_heygen_says_that_the_first_request_still_runs(line: Lines) -> None:
    """409, which is no refusal: sent again later it is the first one's answer."""
    it = line("heygen")
    it.script({"slow_answer_s": 0.6, **LONG})
    answers: list[AnswerKind] = []
    first = threading.Thread(target=lambda: answers.append(it.submit()[1].kind))
    first.start()
    until(lambda: it.ledger()["charges"] == 1)
    assert it.raw(it.request(it.job())).status == 409
    assert it.submit()[1].kind is AnswerKind.AMBIGUOUS
    first.join()
    assert (answers, it.submit()[1].kind) == ([AnswerKind.ACCEPTED], AnswerKind.ACCEPTED)
    assert it.ledger()["charges"] == 1


def test_heygens_endpoint_is_registered_once_for_the_account(line: Lines) -> None:
    """Events come to the account's URL, and find their job by id and by our reference."""
    it = line("heygen")
    job, _ = it.submit()
    told = it.told(done)
    assert (told.provider_job_id, told.reference) == (job.provider_job_id, job.reference)
    headers = {"X-Api-Key": it.secrets.known["heygen"]["api_key"]}
    assert call("POST", f"{it.base}{ENDPOINTS}", {"url": ""}, headers).status == 400


def test_a_double_goes_on_after_a_restart(line: Lines, tmp_path: Any) -> None:
    """Keys, endpoint and jobs outlive the process."""
    from local.provider.server import SimulatedProvider
    from tests.local_vendors.kit import SETTINGS

    box = line("fal").box
    seen = []
    for _ in range(2):
        server = SimulatedProvider(settings=SETTINGS, state=tmp_path)
        server.start()
        it = Line("fal", server, box)
        keys = call("GET", f"{it.base}/.well-known/jwks.json").json
        seen.append((server.credentials.public(), keys, server.ledger.notes))
        assert it.example(0, PROMPT)[0] == "fal-ai/flux/dev"
        server.stop()
    assert seen[0] == seen[1]
