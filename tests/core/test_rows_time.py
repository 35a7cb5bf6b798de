"""Rows of lookups and time, each with its right value."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.jobs.decide import Ignore
from mediajobs.jobs.events import AnswerKind, Clash
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import ErrorCode, Outcome, State
from tests.core.life import ABSENT, KEYED, LOOKED_UP, NOW, PLAIN, TICK, Life, answered, away, claim, lives


def test_row_03_a_pending_job_expires_at_its_start_deadline_and_not_before() -> None:
    life = Life(start_within_s=600)
    decision = life.later(599).expect("3x", TICK)
    assert isinstance(decision, Ignore)
    assert decision.why is Why.NOT_NOW
    life.later(1).expect("3", TICK)
    assert life.state is State.FAILED
    assert life.job.error is not None
    assert life.job.error.code is ErrorCode.EXPIRED_IN_QUEUE
    assert life.job.out == "publish live"


def test_row_05_an_idle_job_expires_since_it_was_certainly_never_submitted() -> None:
    life = Life(start_within_s=600).idle().later(600)
    life.expect("5d", TICK)
    assert life.job.error is not None
    assert (life.state, life.job.error.code) == (State.FAILED, ErrorCode.EXPIRED_IN_QUEUE)


@lives(claim=lambda: Life(start_within_s=600).claim(), unsure=lambda: Life(start_within_s=600).unsure())
def test_row_05_a_job_that_may_be_paid_for_never_expires(make: Callable[[], Life]) -> None:
    life = make()
    life.later(600).expect("14", TICK)
    assert (life.state, life.reason) == (State.SUBMITTING, "ambiguous_submission")


def test_row_12_absent_three_times_raises_attention() -> None:
    life = Life(LOOKED_UP).unsure()
    life.expect("12b", ABSENT)
    life.expect("12b", ABSENT)
    assert (life.job.absent, life.reason) == (2, None)
    life.expect("12a", ABSENT)
    assert (life.job.absent, life.reason, life.job.slot) == (3, "ambiguous_submission", "001")


def test_row_12_absent_says_nothing_of_an_attempt_under_way_or_of_a_job_that_went_on() -> None:
    Life(LOOKED_UP).claim().later(59).expect("12c", ABSENT)
    Life(LOOKED_UP).run().expect("12c", ABSENT)
    Life(PLAIN).unsure().expect("12c", ABSENT)


def test_row_12_absent_counts_again_after_the_provider_proved_that_it_took_nothing() -> None:
    life = Life(LOOKED_UP).claim().later(60)
    life.do(ABSENT)
    life.answer(AnswerKind.NOT_ACCEPTED)
    assert life.job.absent == 0


def test_row_12_an_id_that_belongs_to_another_job_binds_nothing_and_raises_attention() -> None:
    life = Life(LOOKED_UP).unsure()
    life.expect("12d", Clash(provider_job_id="p0"))
    assert (life.state, life.job.provider_job_id, life.reason) == (State.SUBMITTING, None, "ambiguous_submission")
    life.expect("12e", Clash(provider_job_id="p0"))


def test_row_12_an_answer_that_names_another_jobs_id_raises_attention_within_the_lease() -> None:
    life = Life(KEYED).claim()
    life.expect("12d", Clash(provider_job_id="p0"))
    assert (life.reason, life.job.unsettled, life.job.slot) == ("ambiguous_submission", True, "001")
    Life().idle().expect("12e", Clash(provider_job_id="p0"))


def test_row_14_a_dead_attempt_without_key_or_lookup_raises_attention() -> None:
    life = Life(PLAIN).claim().later(60)
    life.expect("14", TICK)
    assert (life.reason, life.job.unsettled, life.job.slot) == ("ambiguous_submission", True, "001")
    assert life.job.attempt is not None
    assert life.job.attempt.outcome is Outcome.AMBIGUOUS


def test_row_14_nothing_is_raised_within_the_lease_or_while_the_key_lives() -> None:
    Life(PLAIN).claim().later(59).expect("3x", TICK)
    Life(KEYED).claim().later(600).expect("3x", TICK)
    Life(LOOKED_UP).claim().later(600).expect("3x", TICK)


def test_row_14_an_expired_key_counts_as_none() -> None:
    life = Life(start_within_s=200_000).unsure().later(86_400 - 100)
    life.expect("14", TICK)
    assert life.reason == "ambiguous_submission"


def test_row_14_three_absent_answers_count_as_no_lookup() -> None:
    Life(LOOKED_UP).unsure().having(absent=3).expect("14", TICK)


def test_row_14_replaces_a_dead_letter_where_nothing_safe_is_left() -> None:
    life = Life(PLAIN).claim().dead().later(60)
    life.expect("14", TICK)
    assert life.reason == "ambiguous_submission"


def test_row_14_replaces_a_dead_letter_once_max_run_is_over() -> None:
    life = Life(KEYED).unsure().dead()
    life.later(7199).expect("3x", TICK)
    life.later(1).expect("14", TICK)
    assert (life.reason, life.job.slot) == ("ambiguous_submission", "001")
    life.expect("20", TICK)
    assert life.job.slot is None


def test_row_20_the_slot_of_a_job_of_unknown_fate_lapses_when_max_run_is_over() -> None:
    life = Life(PLAIN).unsure()
    life.later(7199).expect("3x", TICK)
    life.later(1).expect("20", TICK)
    assert (life.state, life.job.slot, life.reason, life.job.out) == (
        State.SUBMITTING,
        None,
        "ambiguous_submission",
        "next",
    )
    life.expect("3x", TICK)


def test_row_14_a_waiting_job_keeps_its_place_through_time() -> None:
    life = Life()
    life.do(away())
    life.later(3600).expect("3x", TICK)
    assert life.job.wait is not None


def test_the_margin_of_the_key_covers_one_whole_attempt() -> None:
    """First sent + key life - (lease + HTTP timeout + skew) must be ahead at the claim."""
    last = 86_400 - 100
    Life(start_within_s=200_000).unsure().later(last - 0.001).expect("6", claim("w1"))
    Life(start_within_s=200_000).unsure().later(last).expect("1x", claim("w1"))


def test_the_life_of_the_key_begins_with_the_oldest_request_that_is_unsettled() -> None:
    life = Life(start_within_s=200_000).idle().later(50_000).claim("w1")
    assert life.job.first_sent_at == NOW + 50_000_000
    life.do(answered(AnswerKind.AMBIGUOUS, "w1"))
    life.later(50_000).claim("w2")
    assert life.job.first_sent_at == NOW + 50_000_000
