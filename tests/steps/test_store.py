"""Store: all results or none, each run under its own key; a dead link is asked for again, a paid job not given up."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest

from mediajobs.adapters.http import WebHttp
from mediajobs.errors import NoAnswer, UnlistedHost, UnsafeUrl
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import Decision, DecisionKind, Status
from mediajobs.jobs.model import Job, Link
from mediajobs.jobs.states import ErrorCode, State
from mediajobs.messages import Report, ReportKind
from mediajobs.steps.dispatch import word_of
from mediajobs.steps.store import store
from tests import samples
from tests.fakes.http import Download
from tests.steps.kit import Stage

FILM = samples.mp4()
A, B, C = "https://cdn.example/a.mp4", "https://cdn.example/b.mp4", "https://cdn.example/c.mp4"


def film(body: bytes = FILM, status: int = 200) -> Download:
    return Download(status=status, headers={"content-length": str(len(body))}, body=body)


def offers(stage: Stage, *urls: str) -> None:
    """The next poll says succeeded, with these links."""
    stage.sim.says("poll", Status.SUCCEEDED, links=tuple(Link(url=url) for url in urls))


def opened(stage: Stage) -> list[str]:
    return [one.url for one in stage.http.opened]


def test_a_result_is_stored_checked_and_recorded_and_the_job_succeeds() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film()]
    assert store(stage.world, job.id) == "30"
    (output,) = stage.read(job).outputs
    assert (output.content_type, output.size, output.sha256) == (
        "video/mp4",
        len(FILM),
        hashlib.sha256(FILM).hexdigest(),
    )
    assert stage.objects.stored[output.key].body == FILM
    assert output.key.startswith(f"results/{job.id}/{job.incarnation}/")
    assert stage.state(job) is State.SUCCEEDED


def test_a_message_that_comes_again_or_too_early_does_nothing() -> None:
    stage = Stage()
    running = stage.running()
    assert store(stage.world, running.id) == "past"
    assert store(stage.world, "b" * 26) == "past"
    stage.say(running, Status.SUCCEEDED, links=(Link(url=A),))
    stage.http.downloads = [film()]
    store(stage.world, running.id)
    assert store(stage.world, running.id) == "past"
    assert len(opened(stage)) == 1


def test_while_a_person_is_asked_nothing_is_fetched() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.dead_letter(job)
    assert store(stage.world, job.id) == "a person is asked"


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_dead_link_is_replaced_by_a_fresh_one(status: int) -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"expired", status), film()]
    offers(stage, B)
    assert store(stage.world, job.id) == "30"
    assert opened(stage) == [A, B]


@pytest.mark.parametrize("word", [Status.FAILED, Status.RUNNING, Status.UNKNOWN])
def test_a_link_of_a_job_that_the_provider_no_longer_calls_succeeded_is_no_result(word: Status) -> None:
    """A preview, or what is left of a job that it took back: a person looks at it."""
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"expired", 403), film()]
    stage.sim.says("poll", word, links=(Link(url=B),))
    store(stage.world, job.id)
    assert (opened(stage), stage.state(job), stage.reason(job)) == ([A], State.STORING, "result_unavailable")


def test_a_link_that_is_about_to_expire_is_not_even_tried() -> None:
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.SUCCEEDED, links=(Link(url=A, expires_at=stage.clock.now() + 5000),))
    stage.http.downloads = [film()]
    offers(stage, B)
    assert store(stage.world, job.id) == "30"
    assert opened(stage) == [B]


def test_an_event_without_links_asks_the_provider_for_them() -> None:
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.SUCCEEDED)
    stage.http.downloads = [film()]
    offers(stage, B)
    assert store(stage.world, job.id) == "30"


@pytest.mark.parametrize(
    "report",
    [
        Report(kind=ReportKind.GONE),
        Report(kind=ReportKind.WORD, status=Status.FAILED),
        Report(kind=ReportKind.WORD, status=Status.SUCCEEDED),
    ],
    ids=["gone", "failed now", "no link"],
)
def test_no_link_at_all_asks_a_person_and_fails_nothing(report: Report) -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"", 404)]
    stage.sim.report("poll", report)
    assert store(stage.world, job.id) == "32"
    assert (stage.state(job), stage.reason(job)) == (State.STORING, "result_unavailable")
    attention = stage.read(job).attention
    assert attention is not None
    word = report.raw or str(report.kind)
    assert attention.evidence == (
        f"the link answered 404, and the provider has no other link (asked again, it says: {word})"
    )


def test_a_fresh_link_that_is_dead_too_asks_a_person() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"", 404), film(b"", 404)]
    offers(stage, B)
    assert store(stage.world, job.id) == "32"


def test_a_person_has_it_fetched_again() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"", 404), film(b"", 404)]
    offers(stage, B)
    store(stage.world, job.id)
    attention = stage.read(job).attention
    assert attention is not None
    stage.apply(job, Decision(kind=DecisionKind.RETRY, attention_version=attention.version))
    stage.relay()
    assert stage.queues.take_stored()[-1] == job.id
    stage.http.downloads = [film()]
    assert store(stage.world, job.id) == "30"


BAD = {
    "empty": b"",
    "html": b"<!doctype html><title>log in</title>" + b" " * 200,
    "another kind": samples.png(),
    "json": b'{"detail":"not found"}' + b" " * 200,
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_invalid_media_is_fetched_once_more_and_then_fails_the_job(body: bytes) -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(body), film(body)]
    offers(stage, B)
    assert store(stage.world, job.id) == "31"
    failed = stage.read(job)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, ErrorCode.INVALID_RESULT)
    assert (stage.objects.stored, stage.objects.open) == ({}, [])


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_media_fails_the_job_though_the_provider_stated_another_size(body: bytes) -> None:
    """The page's own length is no reason to fetch it five times."""
    stage = Stage()
    job = stage.running()
    links = (Link(url=A, size=98_765),)
    stage.say(job, Status.SUCCEEDED, links=links)
    stage.sim.says("poll", Status.SUCCEEDED, links=links)
    stage.http.downloads = [film(body), film(body)]
    assert store(stage.world, job.id) == "31"
    assert stage.read(job).failures == 0


def test_media_of_another_size_than_the_provider_stated_is_tried_again_and_then_asked_about() -> None:
    """It may be whole, or another file: the job is not failed for it, and nothing is kept."""
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.SUCCEEDED, links=(Link(url=A, size=len(FILM) + 1),))
    for _ in range(5):
        stage.http.downloads = [film()]
        assert store(stage.world, job.id) == "failed: Retryable"
    attention = stage.read(job).attention
    assert attention is not None
    assert attention.reason == "dead_letter"
    assert f"the provider says {len(FILM) + 1} bytes and its server {len(FILM)}" in attention.evidence
    assert (stage.objects.stored, stage.objects.open) == ({}, [])


def test_invalid_media_behind_a_link_that_was_fresh_already_is_fetched_once_more_too() -> None:
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.SUCCEEDED)
    stage.http.downloads = [film(b""), film()]
    offers(stage, A)
    offers(stage, B)
    assert store(stage.world, job.id) == "30"


def test_invalid_once_and_right_the_second_time_succeeds() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b""), film()]
    offers(stage, A)
    assert store(stage.world, job.id) == "30"


def test_a_link_that_must_not_be_fetched_ends_as_invalid_and_never_as_a_storm_of_retries() -> None:
    stage = Stage()
    job = stage.storing("http://169.254.169.254/")
    stage.http.downloads = [UnsafeUrl("a private address"), UnsafeUrl("a private address")]
    offers(stage, "http://169.254.169.254/")
    assert store(stage.world, job.id) == "31"


def test_a_link_to_a_host_that_our_list_lacks_is_a_question_and_ends_no_paid_job() -> None:
    """A vendor's new delivery host: once it is listed, a retry has the file."""
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [UnlistedHost("cdn.new.example is not among the allowed hosts") for _ in range(2)]
    offers(stage, A)
    assert store(stage.world, job.id) == "32"
    assert (stage.state(job), stage.reason(job)) == (State.STORING, "result_unavailable")
    attention = stage.read(job).attention
    assert attention is not None
    assert "cdn.new.example" in attention.evidence


@pytest.mark.parametrize(
    "fault", [film(b"", 503), film(b"", 429), NoAnswer("reset"), replace(film(), fault=NoAnswer("cut"))]
)
def test_what_time_may_heal_is_counted_and_tried_again_later(fault: Download | Exception) -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [fault]
    assert store(stage.world, job.id) == "failed: Retryable"
    noted = stage.read(job)
    assert (noted.state, noted.failures, noted.out) == (State.STORING, 1, "store")
    assert (stage.objects.stored, stage.objects.open) == ({}, [])
    stage.relay()
    assert stage.queues.store_delays[-1] == 15
    stage.http.downloads = [film()]
    assert store(stage.world, job.id) == "30"


def test_five_failures_ask_a_person() -> None:
    stage = Stage()
    job = stage.storing(A)
    for _ in range(5):
        stage.http.downloads = [film(b"", 500)]
        store(stage.world, job.id)
    assert stage.reason(job) == "dead_letter"


def test_a_provider_without_an_answer_about_its_links_is_asked_again_later() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"", 404)]
    stage.sim.report("poll", Report(kind=ReportKind.UNAVAILABLE, message='HTTP 500: cannot do "a red bicycle"'))
    assert store(stage.world, job.id) == "failed: Retryable"
    assert stage.state(job) is State.STORING
    assert "step failed" in str(stage.log.lines)
    assert "bicycle" not in str(stage.log.lines)  # the provider's text may quote the prompt


# -- a file in the link itself


def test_a_file_in_the_link_itself_is_stored_and_never_kept_in_the_row() -> None:
    """It may be a megabyte: the row leaves it out, and store asks the provider for it."""
    stage = Stage()
    stage.world = replace(stage.world, http=WebHttp())
    link = Link(url="data:video/mp4;base64," + base64.b64encode(samples.mp4(filling=9000)).decode())
    report = Report(kind=ReportKind.WORD, status=Status.SUCCEEDED, provider_job_id="p-1", links=(link,))
    running = stage.running()
    job = stage.apply(running, word_of(running, report))
    assert job.links == ()
    stage.sim.report("poll", report)
    assert store(stage.world, job.id) == "30"
    assert stage.read(job).outputs[0].size == len(samples.mp4(filling=9000))


def test_short_links_are_kept_in_the_row() -> None:
    report = Report(kind=ReportKind.WORD, status=Status.SUCCEEDED, provider_job_id="p-1", links=(Link(url=A),))
    assert report.kept_links == (Link(url=A),)


# -- several outputs


def test_several_outputs_are_all_stored() -> None:
    stage = Stage()
    job = stage.storing(A, B, C)
    stage.http.downloads = [film(), film(samples.mp4(filling=9)), film()]
    assert store(stage.world, job.id) == "30"
    assert [output.key.rsplit("/", 1)[1] for output in stage.read(job).outputs] == ["0", "1", "2"]
    assert len(stage.objects.stored) == 3


@pytest.mark.parametrize("bad", [film(b"", 500), film(b"")], ids=["passing", "invalid"])
def test_of_several_outputs_all_or_none_are_kept(bad: Download) -> None:
    stage = Stage()
    job = stage.storing(A, B, C)
    stage.http.downloads = [film(), film(), bad, film(), film(), bad]
    offers(stage, A, B, C)
    store(stage.world, job.id)
    assert stage.objects.stored == {}
    assert stage.read(job).outputs == ()


@pytest.mark.parametrize("call", ["upload", "write", "finish"])
def test_a_bucket_that_fails_leaves_nothing_behind(call: str) -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film()]
    stage.objects.fail = [call]
    assert store(stage.world, job.id) == "failed: Retryable"
    assert stage.objects.stored == {}


# -- two runs


def ahead(stage: Stage, job: Job) -> None:
    """Another run finishes while this one is about to write."""

    def other(_: Change) -> None:
        stage.http.downloads = [film(samples.mp4(filling=9))]
        assert store(stage.world, job.id) == "30"

    stage.store.before_write = [other]


def test_of_two_runs_the_loser_deletes_its_objects_and_the_row_names_the_winners() -> None:
    """H11: the row's digest and the object are of the same run."""
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film()]
    ahead(stage, job)
    assert store(stage.world, job.id) == "another run was first"
    (output,) = stage.read(job).outputs
    assert list(stage.objects.stored) == [output.key]
    assert hashlib.sha256(stage.objects.stored[output.key].body).hexdigest() == output.sha256


def test_a_loser_that_found_nothing_changes_nothing() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film(b"", 404)]
    stage.sim.report("poll", Report(kind=ReportKind.GONE))
    ahead(stage, job)
    assert store(stage.world, job.id) == "past"
    assert stage.state(job) is State.SUCCEEDED


def test_every_run_has_a_key_of_its_own() -> None:
    stage = Stage()
    job = stage.storing(A, B)
    keys: set[str] = set()
    stage.objects.delete = keys.update  # type: ignore[method-assign]
    for _ in range(3):
        stage.http.downloads = [film(), film(b"", 500)]
        assert store(stage.world, job.id) == "failed: Retryable"
    assert len(keys) == 3


def test_a_write_that_was_sent_twice_is_our_own_and_deletes_nothing() -> None:
    stage = Stage()
    job = stage.storing(A)
    stage.http.downloads = [film()]
    stage.store.resend = True
    assert store(stage.world, job.id) == "30"
    assert len(stage.objects.stored) == 1
