"""Poll, lookup and cancel: one bad answer says nothing about the job (CASES 27)."""

from __future__ import annotations

import pytest

from mediajobs.errors import ConfigurationError, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Link
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Report, ReportKind, Response
from tests.fakes.secrets import MemorySecrets
from tests.unit.providers.kit import KEY, ScriptedHttp, adapter, job, said, secrets

RUNNING = {"id": "p-1", "status": "processing"}
NO_ANSWER: list[tuple[str, Response | Exception]] = [
    ("500", said(500, {})),
    ("522", said(522, raw=b"<html>")),
    ("429", said(429, {})),
    ("302", said(302, {})),
    ("200 with HTML", said(200, raw=b"<html>hello</html>")),
    ("200 cut short", said(200, raw=b"{")),
    ("200 and empty", said(200, raw=b"")),
    ("200 with a list", said(200, [RUNNING])),
    ("200 with null", said(200, None)),
    ("200 with deep nesting", said(200, raw=b"[" * 5000 + b"]" * 5000)),
    ("200 without a status", said(200, {"id": "p-1"})),
    ("200 with a number for a status", said(200, {"id": "p-1", "status": 3})),
    ("200 with a number for an id", said(200, {"id": 5, "status": "failed"})),
    ("200 about another job", said(200, {"id": "p-2", "status": "failed"})),
    ("timeout", NoAnswer("read timed out")),
    ("refused", NotSent("connection refused")),
    ("unsafe", UnsafeUrl("private")),
]


def poll(*answers: Response | Exception, edits: tuple[tuple[str, str], ...] = ()) -> Report:
    return adapter(ScriptedHttp(*answers), None, *edits).poll(job(), "p-1")


@pytest.mark.parametrize("answer", [case[1] for case in NO_ANSWER], ids=[case[0] for case in NO_ANSWER])
def test_a_call_that_fails_says_nothing_of_the_job(answer: Response | Exception) -> None:
    """The job stays, and is asked for again."""
    report = poll(answer)
    assert (report.kind, report.status) == (ReportKind.UNAVAILABLE, Status.UNKNOWN)
    assert report.message
    assert len(report.message) <= 200


@pytest.mark.parametrize("status", [404, 410])
def test_an_unknown_id_is_gone_and_no_failure(status: int) -> None:
    """The rules count these."""
    assert poll(said(status, {"error": {"message": "no such job"}})).kind is ReportKind.GONE


@pytest.mark.parametrize("status", [402, 403])
def test_the_accounts_fault_is_told_apart(status: int) -> None:
    """An alarm, not a job failure."""
    assert poll(said(status, {})).kind is ReportKind.BLOCKED


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_looked_at_anew_once(status: int) -> None:
    """Asking again is safe; with the same key it is useless."""
    kept = secrets()
    kept.provider("acme")
    kept.put("acme", "sk-new")
    http = ScriptedHttp(said(status, {}), said(200, RUNNING))
    assert adapter(http, kept).poll(job(), "p-1").kind is ReportKind.WORD
    assert [sent.headers["Authorization"] for sent in http.gets] == [f"Bearer {KEY}", "Bearer sk-new"]
    http = ScriptedHttp(said(status, {}))
    assert adapter(http, secrets()).poll(job(), "p-1").kind is ReportKind.BLOCKED


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(ConfigurationError("no secret"), ReportKind.BLOCKED), (Retryable("slow"), ReportKind.UNAVAILABLE)],
)
def test_without_the_secret_nothing_is_asked(fault: Exception, kind: ReportKind) -> None:
    """And nothing is raised."""
    assert adapter(None, MemorySecrets(fail=fault)).poll(job(), "p-1").kind is kind


def test_a_wait_that_is_asked_for_is_told() -> None:
    """In seconds, within our cap; a date needs the answer's own date."""
    assert poll(said(503, {}, retry_after="7")).retry_after_s == 7
    assert poll(said(503, {}, retry_after="99999")).retry_after_s == 900
    assert poll(said(503, {}, retry_after="Wed, 21 Oct 2026 07:28:00 GMT")).retry_after_s is None
    answer = said(429, {}, retry_after="Wed, 21 Oct 2026 07:28:09 GMT", date="Wed, 21 Oct 2026 07:28:00 GMT")
    assert poll(answer).retry_after_s == 9


@pytest.mark.parametrize("word", ["archived", "Completed", "x" * 500])
def test_an_unknown_word_is_kept_raw_and_decides_nothing(word: str) -> None:
    """Words are compared exactly."""
    report = poll(said(200, {"id": "p-1", "status": word, "output": [{"url": 5}]}))
    assert (report.kind, report.status, report.raw) == (ReportKind.WORD, Status.UNKNOWN, word[:60])
    assert report.links == ()


def test_a_link_ends_when_it_says_so_itself_or_its_provider_does_whichever_is_sooner() -> None:
    """What a provider writes beside a signed link does not lengthen the signature."""
    signed = "https://cdn.acme.example/1?X-Amz-Date=20270115T070000Z&X-Amz-Expires=3600"
    outputs = [
        {"url": signed},
        {"url": signed, "expires_at": 1_900_000_000},
        {"url": signed, "expires_at": 1_799_999_999},
    ]
    report = poll(said(200, {"id": "p-1", "status": "completed", "output": outputs}))
    assert [link.expires_at for link in report.links] == [1_800_000_000_000, 1_800_000_000_000, 1_799_999_999_000]


@pytest.mark.parametrize(("length", "usable"), [(100, True), (100_000, True), (1_000_001, False)])
def test_a_link_that_holds_the_file_itself_is_bounded(length: int, usable: bool) -> None:
    """Any other link of more than 4 KB is none."""
    for url, taken in (("data:,".ljust(length, "a"), usable), ("https://a.example/".ljust(length, "a"), length == 100)):
        report = poll(said(200, {"id": "p-1", "status": "completed", "output": [{"url": url}]}))
        assert [link.url for link in report.links] == ([url] if taken else [])


def test_a_success_brings_its_links() -> None:
    """With what is said about each."""
    outputs = [
        {"url": "https://cdn.acme.example/1", "content_type": "video/mp4", "size": 5.0, "expires_at": 1_800_000_000},
        {"url": "https://cdn.acme.example/2", "size": -1, "expires_at": "2027-01-15T08:00:00Z"},
    ]
    report = poll(said(200, {"id": "p-1", "status": "completed", "output": outputs, "reference": "r"}))
    assert report.links == (
        Link(
            url="https://cdn.acme.example/1",
            content_type="video/mp4",
            size=5,
            expires_at=1_800_000_000_000,
        ),
        Link(url="https://cdn.acme.example/2", expires_at=1_800_000_000_000),
    )
    assert (report.provider_job_id, report.status, report.reference) == ("p-1", Status.SUCCEEDED, "r")


@pytest.mark.parametrize("output", ["https://a.example/1", ["https://a.example/1"], {"url": "https://a.example/1"}])
def test_results_may_be_one_or_many_links_or_objects(output: object) -> None:
    """Vendors differ."""
    report = poll(said(200, {"id": "p-1", "status": "completed", "output": output}))
    assert [link.url for link in report.links] == ["https://a.example/1"]


@pytest.mark.parametrize("output", [None, [], 5, [{"url": None}], ["https://a.example/1", {"url": 5}], ["x"] * 51])
def test_a_success_counts_also_without_usable_links(output: object) -> None:
    """All or none of them: then a person is asked, and the slot is free."""
    report = poll(said(200, {"id": "p-1", "status": "completed", "output": output}))
    assert (report.kind, report.status, report.links) == (ReportKind.WORD, Status.SUCCEEDED, ())


def test_a_failure_brings_code_and_message() -> None:
    """Refused content by code or by word; everything else is the provider's error."""
    plain = poll(said(200, {"id": "p-1", "status": "failed", "error": {"code": "oom", "message": f"key {KEY}"}}))
    assert (plain.status, plain.code, plain.message) == (Status.FAILED, ErrorCode.PROVIDER_ERROR, "key ***")
    by_code = poll(said(200, {"id": "p-1", "status": "failed", "error": {"code": "content_moderated"}}))
    by_word = poll(said(200, {"id": "p-1", "status": "blocked"}))
    assert by_code.code is by_word.code is ErrorCode.CONTENT_MODERATED


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("42", 42), ("104", 100), ("-1", 0), ("99.9", 99), ('"55%"', None), ("null", None), ("true", None),
     ("1e400", None), ("NaN", None), ("1" + "0" * 400, 100), ("0.7", 0), ("[5]", None)],
)  # fmt: skip
def test_progress_is_a_percentage_or_nothing(raw: str, shown: int | None) -> None:
    """CASES 30."""
    body = f'{{"id": "p-1", "status": "processing", "progress": {raw}, "stage": "upscaling"}}'.encode()
    report = poll(said(200, raw=body))
    assert (report.progress, report.stage) == (shown, "upscaling")


@pytest.mark.parametrize(("raw", "shown"), [("0.7", 70), ("0.29", 29), ("1", 100), ("1.2", 100), ("-0.1", 0)])
def test_progress_as_a_fraction_is_a_matter_of_configuration(raw: str, shown: int) -> None:
    """0.7 alone could be either."""
    body = f'{{"id": "p-1", "status": "processing", "progress": {raw}}}'.encode()
    edit = ('stage = "stage"', "progress_scale = 1")
    assert poll(said(200, raw=body), edits=(edit,)).progress == shown


@pytest.mark.parametrize("odd", ["", ".", "..", "a\nb", "x" * 300, " p-1"])
def test_an_id_that_no_job_has_is_not_asked_for(odd: str) -> None:
    """A person may have mistyped it; it must not reach another address."""
    http = ScriptedHttp()
    assert adapter(http).poll(job(), odd).kind is ReportKind.REFUSED
    assert not http.gets


def test_an_id_stays_within_its_part_of_the_address() -> None:
    """Whatever it holds."""
    http = ScriptedHttp(said(404, {}))
    adapter(http).poll(job(), "../../admin?x=1#y")
    assert http.gets[0].url == "https://api.acme.example/base/v1/jobs/..%2F..%2Fadmin%3Fx%3D1%23y"


def lookup(value: object, status: int = 200) -> Report:
    return adapter(ScriptedHttp(said(status, value))).lookup(job())


OURS = {"id": "p-1", "status": "queued", "reference": job().reference}
THEIRS = {"id": "p-9", "status": "queued", "reference": job().reference + "0"}


def test_a_lookup_asks_for_our_reference() -> None:
    """And believes only a job that does not say it is another's."""
    http = ScriptedHttp(said(200, {"jobs": [THEIRS, OURS]}))
    report = adapter(http).lookup(job())
    assert http.gets[0].url.endswith("/v1/jobs?reference=abcdefghijklmnopqrstuvwxyz.1.incarnation23")
    assert (report.kind, report.provider_job_id, report.status) == (ReportKind.WORD, "p-1", Status.RUNNING)


@pytest.mark.parametrize("value", [{"jobs": []}, {"jobs": None}, {}, {"jobs": [THEIRS]}, {"jobs": THEIRS}])
def test_nothing_of_ours_is_absent(value: object) -> None:
    """Which proves nothing, and is only counted."""
    assert lookup(value).kind is ReportKind.ABSENT
    assert lookup({}, status=404).kind is ReportKind.ABSENT


def test_a_lookup_that_fails_is_not_absent() -> None:
    """Three absents raise a question; an outage must not."""
    assert lookup({}, status=500).kind is ReportKind.UNAVAILABLE
    assert lookup({}, status=403).kind is ReportKind.BLOCKED
    assert lookup({"jobs": [{"status": "queued"}]}).kind is ReportKind.UNAVAILABLE
    assert adapter(ScriptedHttp(said(200, raw=b"<html>"))).lookup(job()).kind is ReportKind.UNAVAILABLE
    assert adapter(ScriptedHttp(NoAnswer("timeout"))).lookup(job()).kind is ReportKind.UNAVAILABLE


def test_a_job_found_with_an_unknown_word_is_there() -> None:
    """Its id is the evidence; polls then say how it is."""
    report = lookup({"jobs": [{**OURS, "status": "pondering"}]})
    assert (report.status, report.raw) == (Status.RUNNING, "pondering")


def test_of_several_of_ours_a_live_one_counts() -> None:
    """A dead one must not hide it: the job would be failed while it is paid for."""
    report = lookup({"jobs": [{**OURS, "id": "p-0", "status": "failed"}, OURS]})
    assert report.provider_job_id == "p-1"


def test_without_an_echo_one_job_is_believed_and_several_are_not() -> None:
    """The provider was asked for our reference alone."""
    alone = {"id": "p-1", "status": "queued"}
    assert lookup({"jobs": [alone]}).provider_job_id == "p-1"
    assert lookup({"jobs": [alone, {**alone, "id": "p-2"}]}).kind is ReportKind.UNAVAILABLE
    assert lookup({"jobs": [alone, {**OURS, "id": "p-2"}]}).provider_job_id == "p-2"


def cancel(answer: Response | Exception) -> Report:
    return adapter(ScriptedHttp(answer)).cancel(job(provider_job_id="p-1"))


def test_a_cancel_that_is_taken_says_the_providers_word() -> None:
    """Or nothing yet, where it says none."""
    assert cancel(said(200, {"id": "p-1", "status": "canceled"})).status is Status.CANCELED
    for answer in (said(204, raw=b""), said(202, {"status": "CANCELLATION_REQUESTED"}), said(200, raw=b"ok")):
        report = cancel(answer)
        assert (report.kind, report.status, report.provider_job_id) == (ReportKind.WORD, Status.UNKNOWN, "p-1")


@pytest.mark.parametrize(("word", "status"), [("completed", Status.SUCCEEDED), ("failed", Status.FAILED)])
def test_a_word_about_the_request_is_not_taken_for_the_jobs(word: str, status: Status) -> None:
    """The answer to a cancel may say how the cancel went: without the job's id only "canceled" is believed."""
    assert cancel(said(200, {"id": "p-1", "status": word})).status is status
    for about in ({"status": word}, {"id": "p-2", "status": word}):
        report = cancel(said(200, about))
        assert (report.kind, report.status, report.links) == (ReportKind.WORD, Status.UNKNOWN, ())
    assert cancel(said(200, {"status": "canceled"})).status is Status.CANCELED


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said(409, {"error": {"message": "finished"}}), ReportKind.REFUSED),
        (said(400, {}), ReportKind.REFUSED),
        (said(404, {}), ReportKind.GONE),
        (said(402, {}), ReportKind.BLOCKED),
        (said(500, {}), ReportKind.UNAVAILABLE),
        (said(429, {}), ReportKind.UNAVAILABLE),
        (NoAnswer("reset"), ReportKind.UNAVAILABLE),
    ],
)
def test_a_cancel_that_is_not_taken_says_why(answer: Response | Exception, kind: ReportKind) -> None:
    """None of these is a word for the job."""
    report = cancel(answer)
    assert (report.kind, report.status) == (kind, Status.UNKNOWN)


def test_what_a_provider_does_not_offer_is_not_asked_for() -> None:
    """Nothing leaves."""
    edits = (
        ('[providers.acme.cancel]\npath = "/v1/jobs/{id}/cancel"\n', ""),
        ('[providers.acme.lookup]\npath = "/v1/jobs?reference={reference}"\nitems = "jobs"\n', ""),
    )
    made = adapter(None, None, *edits)
    assert made.cancel(job(provider_job_id="p-1")).kind is ReportKind.REFUSED
    assert made.lookup(job()).kind is ReportKind.UNAVAILABLE
    assert not made.traits("video-1").cancel
    assert not made.traits("video-1").lookup
