"""Attempts in doubt: whatever died in between, the same bytes go again, or nothing does until a person says so."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mediajobs.errors import Throttled
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import AnswerKind, Decision, DecisionKind, Status, Tick
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Outcome, Source, State
from mediajobs.steps.dispatch import digest_of
from tests.steps.kit import KEYED, PLAIN, Killed, Stage, die

NOT_ACCEPTED, AMBIGUOUS = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS


def test_ambiguous_with_a_key_is_sent_again_byte_for_byte() -> None:
    stage = Stage()
    job = stage.unsure()
    assert stage.held() == {"001": job.id}
    stage.clock.advance(15)
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    assert stage.sim.submits[0] == stage.sim.submits[1]
    assert stage.read(job).unsettled is False


def test_ambiguous_without_a_key_asks_a_person_and_is_never_sent_again() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    assert stage.reason(job) == "ambiguous_submission"
    stage.clock.advance(90_000)
    assert stage.dispatch(job) == "not now"
    assert len(stage.sim.submits) == 1


def test_ambiguous_and_then_429_frees_nothing() -> None:
    """H1: the 429 was for the retry; the first request may have been accepted."""
    stage = Stage()
    job = stage.unsure()
    stage.clock.advance(15)
    stage.sim.answer(NOT_ACCEPTED, message="HTTP 429")
    assert stage.dispatch(job) == "not_accepted"
    assert stage.held() == {"001": job.id}
    assert stage.read(job).unsettled
    other = stage.job("other")
    assert stage.dispatch(other) == "turned away"


def test_attempt_and_answer_stand_in_the_history() -> None:
    stage = Stage()
    job = stage.unsure()
    stage.clock.advance(15)
    stage.sim.answer(NOT_ACCEPTED)
    stage.dispatch(job)
    assert [entry.split("|")[1] for entry in stage.read(job).history[2:]] == ["~ambiguous", "~not_accepted_unsettled"]


# -- a dispatcher that dies


def test_a_killed_claim_is_left_alone_within_its_lease_and_resumed_with_the_same_key_after_it() -> None:
    """SQS brings the message back at 90 s, the lease ends at 60."""
    stage = Stage(KEYED)
    job = stage.killed()
    assert stage.read(job).attempt is not None
    assert stage.receive(job, receives=1) == "not now"
    stage.clock.advance(90)
    stage.sim.accept("p-1")
    assert stage.receive(job, receives=2) == "accepted"
    assert stage.sim.submits[0] == stage.sim.submits[1]
    assert stage.held() == {"001": job.id}


def test_a_killed_claim_without_a_key_asks_a_person_and_keeps_its_slot() -> None:
    stage = Stage(PLAIN)
    job = stage.killed()
    stage.clock.advance(90)
    assert stage.receive(job, receives=2) == "not now"
    assert stage.reason(job) == "ambiguous_submission"
    assert (len(stage.sim.submits), stage.held()) == (1, {"001": job.id})


def test_a_killed_claim_whose_key_may_be_forgotten_is_not_sent_again() -> None:
    stage = Stage(replace(KEYED, key_life_s=180))
    job = stage.killed()
    stage.clock.advance(90)
    assert stage.receive(job) == "not now"
    assert stage.reason(job) == "ambiguous_submission"


def test_the_answer_of_a_dispatcher_whose_lease_ended_is_heard_only_if_it_is_accepted() -> None:
    """H21 and A4: another one has resumed meanwhile."""
    for kind, state in ((AnswerKind.REJECTED, State.SUBMITTING), (AnswerKind.ACCEPTED, State.RUNNING)):
        stage = Stage()
        job = stage.job()

        def slow(_: object, stage: Stage = stage, job: Job = job) -> None:
            stage.sim.during_submit = die
            stage.clock.advance(61)
            with pytest.raises(Killed):
                stage.dispatch(job)

        stage.sim.during_submit = slow
        stage.sim.answer(kind, provider_job_id="p-1" if kind is AnswerKind.ACCEPTED else None)
        stage.dispatch(job)
        assert stage.state(job) is state
        assert stage.held() == {"001": job.id}


def test_an_answer_that_could_not_be_written_is_resumed_like_a_death() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.accept("p-1")

    def throttle(_: object) -> None:
        stage.store.throttles = 1

    stage.sim.during_submit = throttle
    with pytest.raises(Throttled):
        stage.receive(job)
    stage.sim.during_submit = None
    assert stage.read(job).attempt.outcome is Outcome.OPEN  # type: ignore[union-attr]
    stage.clock.advance(90)
    stage.sim.accept("p-1")
    assert stage.receive(job) == "accepted"


# -- byte for byte


def test_a_retry_that_would_differ_is_not_sent() -> None:
    """A changed base URL, adapter or token secret: the provider would take it for another request."""
    stage = Stage()
    job = stage.unsure()
    stage.clock.advance(15)
    stage.sim.base_url = "https://elsewhere.example"
    assert stage.dispatch(job) == "lost"
    assert (stage.reason(job), len(stage.sim.submits)) == ("ambiguous_submission", 1)


def test_a_rotated_token_secret_changes_the_webhook_url_and_so_the_bytes() -> None:
    stage = Stage()
    job = stage.unsure()
    stage.clock.advance(15)
    stage.secrets.key = b"another-key-for-webhook-urls-of-64-chars"
    assert stage.dispatch(job) == "lost"
    assert stage.reason(job) == "ambiguous_submission"


def test_the_digest_tells_every_part_of_a_request_apart() -> None:
    stage = Stage()
    stage.running()
    request = stage.sim.submits[0]
    others = [
        replace(request, method="PUT"),
        replace(request, url=request.url + "?x"),
        replace(request, headers={**request.headers, "A": "b"}),
        replace(request, body=request.body + b" "),
    ]
    digests = {digest_of(one) for one in (request, *others)}
    assert len(digests) == 5
    assert all(len(digest) == 24 for digest in digests)


# -- a person's resubmit


def test_a_resubmit_sends_a_new_key() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(60)
    attention = job.attention
    assert attention is not None
    stage.apply(job, Decision(kind=DecisionKind.RESUBMIT, attention_version=attention.version))
    stage.sim.accept("p-2")
    assert stage.dispatch(job) == "accepted"
    first, second = (request.headers["Idempotency-Key"] for request in stage.sim.submits)
    assert first != second
    assert json.loads(stage.sim.submits[1].body)["webhook_url"].endswith(stage.ref(stage.read(job)))


def test_a_dispatcher_that_was_overtaken_by_a_resubmit_does_not_send_the_old_key() -> None:
    """Although a row is free for the second submission: this request was built for the first."""
    stage = Stage(KEYED, limit=2)
    job = stage.unsure()
    stage.clock.advance(90)

    def person(_: Change) -> None:
        stage.dead_letter(job)
        stage.clock.advance(90_000)
        current = stage.apply(job, Tick())
        assert current.attention is not None
        stage.apply(job, Decision(kind=DecisionKind.RESUBMIT, attention_version=current.attention.version))

    stage.store.before_write = [person]
    assert stage.dispatch(job) == "lost"
    assert len(stage.sim.submits) == 1


def test_webhooks_during_the_request_win_over_a_lost_answer() -> None:
    stage = Stage(PLAIN)
    job = stage.job()
    stage.sim.during_submit = lambda _: stage.say(job, Status.RUNNING, source=Source.WEBHOOK)
    stage.sim.answer(AMBIGUOUS, message="timeout")
    assert stage.dispatch(job) == "stale"
    assert (stage.state(job), stage.reason(job)) == (State.RUNNING, None)
