"""The public job: what is shown, to whom, and what never is."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs import views
from mediajobs.api import answers
from mediajobs.jobs import history
from mediajobs.jobs.model import Attempt, Attention, Finding, Job, JobError, Link, Output
from mediajobs.jobs.states import TERMINAL, ErrorCode, FindingKind, Outcome, Reason, Source, State
from mediajobs.messages import Progress
from mediajobs.pauses import Pause, PauseReason, Provider
from tests.api.stubs import JOB_ID, NOW, job

OUTPUTS = (
    Output(key="results/a/1", content_type="video/mp4", size=10, sha256="aa" * 32),
    Output(key="results/a/2", content_type="image/png", size=20, sha256="bb" * 32),
)


def question(reason: Reason, state: State, **fields: Any) -> Job:
    attempt = Attempt(no=1, outcome=Outcome.AMBIGUOUS, token="t", started=NOW, lease_until=NOW, digest="d")
    attention = Attention(reason=reason, since=NOW, version=4, evidence="says so")
    return job(state=state, version=5, attempt=attempt, unsettled=True, attention=attention, **fields)


def full() -> Job:
    """A job with something in every field, and a mark on all that must stay inside."""
    return job(
        state=State.SUCCEEDED,
        version=9,
        final_version=8,
        incarnation="inside-incarnation",
        slot="inside-slot",
        attempt=Attempt(
            no=2, outcome=Outcome.ACCEPTED, token="inside-token", started=NOW, lease_until=NOW, digest="inside-digest"
        ),
        provider_job_id="inside-provider-id",
        adopt="inside-adopt",
        wait="inside-wait",
        links=(Link(url="https://inside-link.example"),),
        out="inside-out",
        written_by="inside-writer",
        extra={"inside": "inside-extra"},
        outputs=OUTPUTS,
        findings=(Finding(kind=FindingKind.EXTRA_SUBMISSION, provider_job_id="p-2", since=NOW),),
        error=JobError(code=ErrorCode.PROVIDER_ERROR, message="it broke"),
        attention=Attention(reason=Reason.DEAD_LETTER, since=NOW, version=7, evidence="five times"),
        provider_word="done",
        published_at=NOW,
        ttl=1,
    )


def test_exactly_the_fields_of_the_api_are_shown() -> None:
    """One more would be a leak or a promise, one less a broken client."""
    fields = [
        "request_id",
        "status",
        "stage",
        "provider_stage",
        "provider",
        "model",
        "progress",
        "attention",
        "findings",
        "cancel_requested",
        "outputs",
        "error",
        "created_at",
        "updated_at",
        "history",
    ]
    assert sorted(views.public(job())) == sorted(fields)
    assert sorted(views.public(job(), metadata={})) == sorted([*fields, "metadata"])
    assert sorted(views.public(job(), caller_scope="operator")) == sorted([*fields, "tenant"])


@pytest.mark.parametrize("scope", ["user", "operator"])
def test_nothing_from_inside_is_shown(scope: str) -> None:
    """Tokens, digests, slots, object keys and the provider's links are nobody's business."""
    shown = json.dumps(views.public(full(), metadata={"a": "b"}, urls=(), caller_scope=scope))
    assert "inside" not in shown
    assert "results/a" not in shown
    answers.Job.model_validate(json.loads(shown))


@pytest.mark.parametrize(
    ("state", "status", "stage"),
    [
        (State.PENDING, "pending", "queued"),
        (State.SUBMITTING, "pending", "submitting"),
        (State.RUNNING, "running", "generating"),
        (State.STORING, "running", "storing"),
        (State.SUCCEEDED, "succeeded", None),
        (State.FAILED, "failed", None),
        (State.CANCELED, "canceled", None),
    ],
)
def test_each_state_has_its_public_words(state: State, status: str, stage: str | None) -> None:
    """And a schema that knows them."""
    shown = views.public(job(state=state), metadata={})
    assert (shown["status"], shown["stage"]) == (status, stage)
    answers.Job.model_validate(shown)


@given(state=st.sampled_from(State), percent=st.integers(-1000, 1000))
def test_progress_is_0_to_100_and_100_means_done(state: State, percent: int) -> None:
    """A provider's 100 is not a stored result."""
    shown = views.public(job(state=state), progress=Progress(percent=percent, at=NOW))["progress"]
    assert (shown == 100) == (state is State.SUCCEEDED)
    assert 0 <= shown <= 100
    if 0 <= percent <= 99 and state is not State.SUCCEEDED:
        assert shown == percent


def test_the_providers_own_stage_is_shown_while_it_works() -> None:
    """The stage of the last progress, else its last word; nothing of either once the job has ended."""
    progress = Progress(percent=5, at=NOW, stage="upscaling")
    assert views.public(job(state=State.RUNNING), progress=progress)["provider_stage"] == "upscaling"
    assert views.public(job(state=State.RUNNING, provider_word="QUEUED"))["provider_stage"] == "QUEUED"
    for state in TERMINAL:
        assert views.public(job(state=state, provider_word="DONE"), progress=progress)["provider_stage"] is None


@pytest.mark.parametrize(
    ("asked", "decisions"),
    [
        (question(Reason.AMBIGUOUS_SUBMISSION, State.SUBMITTING), ["adopt", "resubmit", "fail"]),
        (question(Reason.OVERDUE, State.RUNNING), ["wait", "fail"]),
        (question(Reason.PROVIDER_LOST, State.RUNNING), ["adopt", "fail"]),
        (question(Reason.RESULT_UNAVAILABLE, State.STORING), ["retry", "fail"]),
        (question(Reason.DEAD_LETTER, State.STORING), ["retry", "fail"]),
        (question(Reason.DEAD_LETTER, State.PENDING), ["retry", "fail"]),
        (question(Reason.DEAD_LETTER, State.SUCCEEDED), ["retry"]),
    ],
)
def test_an_operator_is_shown_what_may_be_decided(asked: Job, decisions: list[str]) -> None:
    """As the table says; a terminal job cannot fail any more. Others see the question without the choice."""
    shown = views.public(asked, caller_scope="operator")["attention"]
    assert shown == {
        "reason": str(asked.attention and asked.attention.reason),
        "since": "2027-01-15T08:00:00.000Z",
        "version": 4,
        "evidence": "says so",
        "decisions": decisions,
    }
    assert views.public(asked)["attention"] == {**shown, "decisions": []}


def test_outputs_carry_urls_only_where_they_were_made() -> None:
    """Each with its own, whatever their order."""
    urls = ((OUTPUTS[1], "https://b/2", NOW + 1000), (OUTPUTS[0], "https://b/1", NOW))
    shown = views.public(job(state=State.SUCCEEDED, outputs=OUTPUTS), urls=urls)["outputs"]
    assert shown == [
        {
            "content_type": "video/mp4",
            "size": 10,
            "sha256": "aa" * 32,
            "url": "https://b/1",
            "url_expires_at": "2027-01-15T08:00:00.000Z",
        },
        {
            "content_type": "image/png",
            "size": 20,
            "sha256": "bb" * 32,
            "url": "https://b/2",
            "url_expires_at": "2027-01-15T08:00:01.000Z",
        },
    ]
    plain = views.public(job(state=State.SUCCEEDED, outputs=OUTPUTS))["outputs"]
    assert [sorted(one) for one in plain] == [["content_type", "sha256", "size"]] * 2


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NOW, "2027-01-15T08:00:00.000Z"),
        (NOW + 7, "2027-01-15T08:00:00.007Z"),
        (1_709_164_799_999, "2024-02-28T23:59:59.999Z"),
    ],
)
def test_times_are_utc_with_milliseconds(ms: int, text: str) -> None:
    """Always three digits and Z: texts sort as times do."""
    assert views.iso(ms) == text


def test_a_publication_has_an_id_that_repeats_keep_and_no_url() -> None:
    """A consumer removes repeats by it; metadata come along, prompts and links do not."""
    ended = full()
    told = views.message(ended, {"order": "7"})
    assert (told["schema_version"], told["id"], told["final_version"]) == ("1", ended.publication_id, 8)
    assert told["metadata"] == {"order": "7"}
    assert told["request_id"] == JOB_ID
    assert told["attention"]["decisions"] == []
    assert all("url" not in one for one in told["outputs"])
    # The provider's text, which may quote the prompt, is for whoever reads the job.
    assert views.public(ended)["error"] == {"code": "provider_error", "message": "it broke"}
    assert told["error"] == {"code": "provider_error", "message": views.FAILURE[ErrorCode.PROVIDER_ERROR]}
    assert json.loads(json.dumps(told)) == told


def test_each_way_to_fail_has_a_sentence_for_its_event() -> None:
    assert set(views.FAILURE) == set(ErrorCode)


def test_a_change_of_state_is_read_by_name() -> None:
    """As the core writes it."""
    digest = "cd" * 32
    entry = history.transition(
        7,
        State.RUNNING,
        State.STORING,
        Source.WEBHOOK,
        NOW,
        attempt=2,
        provider_job_id="p-1",
        event_id="evt_1",
        body_digest=digest,
    )
    assert views.parse_history(entry) == {
        "version": 7,
        "from": "running",
        "to": "storing",
        "source": "webhook",
        "at": "2027-01-15T08:00:00.000Z",
        "attempt": 2,
        "provider_job_id": "p-1",
        "event_id": "evt_1",
        "body_sha256": digest,
    }
    wrapped = base64.b64encode(bytes.fromhex(digest)).decode()
    for form in (wrapped, wrapped.rstrip("=")):
        assert views.parse_history(entry.replace(digest, form))["body_sha256"] == digest


def test_empty_fields_of_an_entry_are_left_out() -> None:
    """The first entry comes from nowhere; a note has no states."""
    first = history.transition(1, None, State.PENDING, Source.API, NOW)
    assert views.parse_history(first) == {
        "version": 1,
        "from": None,
        "to": "pending",
        "source": "api",
        "at": "2027-01-15T08:00:00.000Z",
    }
    middle = history.transition(3, State.RUNNING, State.FAILED, Source.POLL, NOW, event_id="e")
    assert "attempt" not in views.parse_history(middle)
    assert views.parse_history(middle)["event_id"] == "e"
    note = history.note(4, "429: not accepted", Source.DISPATCH, NOW, 1)
    assert views.parse_history(note) == {
        "version": 4,
        "note": "429: not accepted",
        "source": "dispatch",
        "at": "2027-01-15T08:00:00.000Z",
        "attempt": 1,
    }


@given(st.text())
def test_an_entry_of_another_release_is_shown_as_it_is(entry: str) -> None:
    """A job must stay readable whatever stands in its history."""
    shown = views.parse_history(entry)
    answers.Entry.model_validate(shown)


@pytest.mark.parametrize(
    "entry", ["", "x", "1", "1|~", "1|running", "1||||", "1|a|b|api|99999999999999999999", "1|a|b|api|5|x"]
)
def test_a_broken_entry_breaks_nothing(entry: str) -> None:
    """It is shown as a note."""
    assert views.parse_history(entry) == {"note": entry}


@given(
    remark=st.text(max_size=200),
    event_id=st.text(max_size=200),
    version=st.integers(1, 10**6),
    attempt=st.integers(0, 9),
)
def test_what_the_core_writes_can_always_be_read(remark: str, event_id: str, version: int, attempt: int) -> None:
    """Whatever a provider put into its ids."""
    entry = history.transition(
        version, State.RUNNING, State.STORING, Source.POLL, NOW, event_id=event_id, attempt=attempt
    )
    shown = views.parse_history(entry)
    assert (shown["version"], shown["to"], shown.get("attempt", 0)) == (version, "storing", attempt)
    note = views.parse_history(history.note(version, remark, Source.POLL, NOW, attempt))
    assert (note["version"], note["at"], note.get("attempt", 0)) == (version, views.iso(NOW), attempt)


@pytest.mark.parametrize(
    ("pause", "shown"),
    [
        (Pause(), None),
        (
            Pause(reason=PauseReason.RETRY_AFTER, until=NOW, note="429"),
            {"reason": "retry_after", "until": "2027-01-15T08:00:00.000Z", "note": "429"},
        ),
        (
            Pause(reason=PauseReason.OPERATOR, until=2**53, note="paused by an operator"),
            {"reason": "operator", "until": None, "note": "paused by an operator"},
        ),
    ],
)
def test_a_provider_shows_its_slots_and_why_it_is_paused(pause: Pause, shown: dict[str, Any] | None) -> None:
    """A person's pause has no end to show."""
    state = Provider(name="sim", held=("001", "over#x"), pause=pause)
    assert views.provider(state, 4) == {"provider": "sim", "in_flight": 2, "limit": 4, "pause": shown}


def test_an_output_tells_its_measures_and_how_long_it_is_kept() -> None:
    """Left out where they are not known; `expired` only once it is so, and only where the time was asked."""
    output = replace(OUTPUTS[0], width=1280, height=720, duration_ms=5040, kept_until=NOW)
    done = job(state=State.SUCCEEDED, outputs=(output,))
    (plain,) = views.public(done)["outputs"]
    measured = {"width": 1280, "height": 720, "duration_ms": 5040, "kept_until": "2027-01-15T08:00:00.000Z"}
    assert plain == {"content_type": "video/mp4", "size": 10, "sha256": "aa" * 32, **measured}
    assert views.public(done, now=NOW - 1)["outputs"] == [plain]
    assert views.public(done, now=NOW)["outputs"] == [plain | {"expired": True}]
