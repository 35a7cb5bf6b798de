"""Each adapter against its vendor's double: what every vendor has, each on its own wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from local.provider.settings import VENDORS
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from tests.local_provider.kit import call
from tests.local_vendors.conftest import Lines
from tests.local_vendors.kit import Line, now

SENDING = [name for name in VENDORS if name != "runway"]
A, B, N, R, U = (
    AnswerKind.ACCEPTED,
    AnswerKind.BLOCKED,
    AnswerKind.NOT_ACCEPTED,
    AnswerKind.REJECTED,
    AnswerKind.AMBIGUOUS,
)
# Where refused content is told: at once, or by the job that fails.
AT_ONCE = ("kling", "heygen")


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", VENDORS)
def test_a_job_from_submit_to_its_file(line: Lines, name: str, number: int) -> None:
    """Accepted, running, done, and the link serves a file of the model's kind."""
    it = line(name)
    job, answered = it.submit(number=number)
    assert answered.kind is A, answered
    report = it.polled(job, lambda report: report.status is Status.SUCCEEDED)
    assert len(report.links) == 1
    reply = call("GET", report.links[0].url)
    kind = it.adapter.config.models[job.model].kind
    assert (reply.status, reply.headers["content-type"].partition("/")[0]) == (200, kind)
    (record,) = it.ledger()["jobs"]
    assert record["reference"].split(".")[:2] == [job.id, "1"] or record["reference"] == f"seed-{number}.1.x"


@pytest.mark.parametrize("name", SENDING)
def test_the_end_is_told_by_a_webhook_that_the_adapter_proves(line: Lines, name: str) -> None:
    """Signed as the vendor signs; it names the job, and it has the link or says that it has none."""
    it = line(name)
    job, _ = it.submit()
    told = it.told(lambda report: report.status is Status.SUCCEEDED)
    assert told.provider_job_id == job.provider_job_id
    assert told.links or told.confirm
    assert all(call("GET", link.url).status == 200 for link in told.links)


@pytest.mark.parametrize("name", VENDORS)
def test_a_failure_is_one_and_says_why(line: Lines, name: str) -> None:
    it = line(name)
    it.script({"provider_fails": True})
    job, _ = it.submit()
    report = it.polled(job, lambda report: report.status is Status.FAILED)
    assert (report.links, report.code) == ((), ErrorCode.PROVIDER_ERROR)
    if name in SENDING:
        assert it.told(lambda report: report.status is Status.FAILED).provider_job_id == job.provider_job_id


@pytest.mark.parametrize("name", VENDORS)
def test_refused_content_is_no_fault_of_the_provider(line: Lines, name: str) -> None:
    """By the vendor's own words for it."""
    it = line(name)
    job, answered = it.submit(prompt="a forbidden-word")
    if name in AT_ONCE:
        assert (answered.kind, answered.code) == (R, ErrorCode.CONTENT_MODERATED)
        return
    report = it.polled(job, lambda report: report.status is Status.FAILED)
    assert report.code is ErrorCode.CONTENT_MODERATED


@pytest.mark.parametrize("name", VENDORS)
def test_a_wrong_key_and_a_blocked_account_are_the_accounts_fault(line: Lines, name: str) -> None:
    """And nothing is charged."""
    it = line(name)
    it.block(30)
    for _ in range(2):  # Kling and Runway have two ways to say it
        assert it.submit()[1].kind is B
    it.secrets.known[name]["api_key"] = "wrong-access-key:wrong-secret-key"
    assert it.submit("second")[1].kind is B
    assert it.poll(replace(it.job(), provider_job_id="x")).kind is ReportKind.BLOCKED
    assert it.ledger()["charges"] == 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("rate_limited_before", N), ("unavailable_before", U), ("close_after", U), ("error_after", U),
     ("unavailable_after", U), ("no_id_after", U)],
)  # fmt: skip
@pytest.mark.parametrize("name", VENDORS)
def test_a_bad_answer_is_read_for_what_it_proves(line: Lines, name: str, fault: str, kind: AnswerKind) -> None:
    """No vendor's 503 says whether the job was made."""
    it = line(name)
    it.script({fault: True, "duration_s": 0.01})
    _, answered = it.submit()
    assert answered.kind is kind, answered
    assert it.ledger()["charges"] == (1 if fault.endswith("_after") else 0)
    if fault.endswith("_after") and name in SENDING:
        told = it.told(lambda report: report.status is Status.SUCCEEDED)
        assert told.provider_job_id == it.ledger()["jobs"][0]["id"]


@pytest.mark.parametrize("name", VENDORS)
def test_what_a_poll_cannot_know_is_no_end(line: Lines, name: str) -> None:
    """A job that the vendor has forgotten, a word that nobody knows, an outage."""
    it = line(name)
    it.script({"lost": True})
    lost, _ = it.submit("lost", 0)
    assert it.poll(lost).kind is ReportKind.GONE
    it.script({"unknown_final": True, "duration_s": 0.01})
    odd, _ = it.submit("odd", 1)
    report = it.polled(odd, lambda report: report.raw.lower() == "archived")
    assert (report.kind, report.status) == (ReportKind.WORD, Status.UNKNOWN)
    it.script({"poll_error": 1})
    live, _ = it.submit("live", 2)
    assert it.poll(live).kind is ReportKind.UNAVAILABLE
    assert it.poll(live).kind is ReportKind.WORD


@pytest.mark.parametrize("name", VENDORS)
def test_an_unknown_address_and_a_body_that_is_none_are_refused(line: Lines, name: str) -> None:
    """In the vendor's own form: never with an id."""
    it = line(name)
    request = it.request(it.job())
    assert it.raw(replace(request, url=f"{it.base}/v9/nothing")).status == 404
    for body in (b"{", b"[]"):
        reply = it.raw(replace(request, body=body)) if name != "bfl" else _plain(it, request, body)
        assert 400 <= reply.status < 500
    assert it.raw(request, content_type="text/plain").status in (400, 422)
    assert it.ledger()["charges"] == 0


def _plain(it: Line, request: Any, body: bytes) -> Any:
    """BFL's adapter writes the secret into the body, which must be one for that."""
    headers = {**request.headers, "x-key": it.secrets.known["bfl"]["api_key"]}
    return call("POST", request.url, headers=headers, raw=body)


@pytest.mark.parametrize("name", [name for name in SENDING if name in ("fal", "replicate")])
def test_a_delivery_signed_long_ago_is_refused(line: Lines, name: str) -> None:
    """Where the time is signed; elsewhere there is none."""
    from mediajobs.errors import Unauthorized
    from tests.local_provider.kit import until

    it = line(name)
    it.script({"delay": 0.01, "old_timestamp": True, "duration_s": 0.01})
    it.submit()
    (delivery,) = until(lambda: list(it.box.taken))
    with pytest.raises(Unauthorized):
        it.adapter.verify(delivery, now())
