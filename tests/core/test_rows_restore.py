"""Rows of a table that was put back: what may have been sent since is in question, and is never sent afresh."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.jobs.decide import Ignore
from mediajobs.jobs.due import is_resumable
from mediajobs.jobs.events import AnswerKind, DecisionKind, Restored, Status
from mediajobs.jobs.rules import Why, extra_row
from mediajobs.jobs.states import Outcome, State
from tests.core.life import ABSENT, KEYED, LOOKED_UP, PLAIN, TICK, Life, answered, away, claim, lives, word

RESTORED = Restored()


def outcome(life: Life) -> Outcome:
    assert life.job.attempt is not None
    return life.job.attempt.outcome


@lives(plain=lambda: Life(PLAIN), keyed=lambda: Life(KEYED), found=lambda: Life(LOOKED_UP))
def test_row_45_a_pending_job_may_have_been_sent_and_is_not_sent_afresh(make: Callable[[], Life]) -> None:
    life = make()
    life.do(away())
    life.expect("45", RESTORED)
    assert (life.state, life.job.unsettled, outcome(life)) == (State.SUBMITTING, True, Outcome.AMBIGUOUS)
    assert life.job.slot == extra_row(life.job.id)
    assert (life.job.wait, life.due_in_s) == (None, 0)
    life.later(3_600).expect("1x", claim("w1"))
    assert not is_resumable(life.job, life.traits, life.now)


def test_row_45_without_a_lookup_a_person_is_asked_at_the_next_look() -> None:
    """Also where the provider honours keys: nobody knows when the request that may exist was sent, or its bytes."""
    for traits in (PLAIN, KEYED):
        life = Life(traits)
        life.expect("45", RESTORED)
        life.expect("14", TICK)
        assert life.reason == "ambiguous_submission"


def test_row_45_with_a_lookup_the_provider_is_asked_first() -> None:
    life = Life(LOOKED_UP)
    life.expect("45", RESTORED)
    life.expect("3x", TICK)
    life.expect("12b", ABSENT)
    life.expect("15", word(Status.RUNNING))
    assert (life.state, life.reason) == (State.RUNNING, None)


def test_row_45_its_own_webhook_settles_it() -> None:
    life = Life(PLAIN)
    life.expect("45", RESTORED)
    life.do(TICK)
    life.expect("16", word(Status.SUCCEEDED))
    assert (life.state, life.job.slot, life.reason) == (State.STORING, None, None)


def test_row_45_the_slot_lapses_when_nothing_that_was_sent_can_live_any_longer() -> None:
    life = Life(PLAIN)
    life.expect("45", RESTORED)
    life.do(TICK)
    life.later(life.traits.max_run_s - 1).expect("3x", TICK)
    life.later(1).expect("20", TICK)


def test_row_45_resubmit_is_refused_while_a_request_may_be_on_the_wire() -> None:
    life = Life(PLAIN)
    life.expect("45", RESTORED)
    life.do(TICK)
    life.expect("22x", life.decides(DecisionKind.RESUBMIT))
    life.later(61).expect("22", life.decides(DecisionKind.RESUBMIT))


def test_row_45s_an_attempt_that_was_open_is_sent_again_with_its_own_key() -> None:
    life = Life(KEYED).claim()
    life.expect("45s", RESTORED)
    assert (outcome(life), life.job.slot, life.reason) == (Outcome.AMBIGUOUS, "001", None)
    life.later(61).expect("6", claim("w1", slot=None))


def test_row_45s_the_slot_lapses_when_nothing_that_was_sent_until_the_restore_can_live() -> None:
    """Not when the attempt that the row knows of has run out: a later one may have been sent."""
    life = Life(PLAIN).claim().later(7000)
    life.expect("45s", RESTORED)
    assert life.job.attempt is not None
    assert (life.job.attempt.started, life.job.attempt.lease_until) == (life.now, life.now + 60_000)
    life.expect("14", TICK)
    life.later(7199).expect("3x", TICK)
    life.later(1).expect("20", TICK)


def test_row_45s_the_answer_of_an_old_attempt_speaks_for_nothing_but_acceptance() -> None:
    life = Life(PLAIN).claim()
    life.expect("45s", RESTORED)
    life.expect("13", answered(AnswerKind.NOT_ACCEPTED))
    life.expect("7", answered(AnswerKind.ACCEPTED, provider_job_id="p0"))


def test_row_45s_an_idle_job_may_have_been_sent_again_with_a_key_of_unknown_age() -> None:
    life = Life(KEYED).idle()
    life.expect("45s", RESTORED)
    assert (life.job.slot, life.job.unsettled) == (extra_row(life.job.id), True)
    life.expect("14", TICK)
    assert life.reason == "ambiguous_submission"


def test_row_45s_a_question_that_was_open_stays_the_same_question() -> None:
    life = Life(PLAIN).unsure()
    asked = life.job.attention
    life.expect("45s", RESTORED)
    assert life.job.attention == asked


def test_row_45s_a_dead_letter_becomes_the_question_that_matters() -> None:
    life = Life(PLAIN).claim().dead()
    life.expect("45s", RESTORED)
    life.expect("14", TICK)
    assert life.reason == "ambiguous_submission"


@lives(run=lambda: Life().run(), store=lambda: Life().store(), succeed=lambda: Life().succeed())
def test_row_45_a_job_that_is_past_submitting_is_left_to_its_polls(make: Callable[[], Life]) -> None:
    life = make()
    decision = life.expect("45x", RESTORED)
    assert isinstance(decision, Ignore)
    assert decision.why is Why.STALE
