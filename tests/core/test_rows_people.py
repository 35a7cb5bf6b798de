"""Rows of callers and operators, each with its right value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mediajobs.jobs.decide import Ignore
from mediajobs.jobs.events import Acknowledge, Adopted, AdoptRefused, AnswerKind, Decision, DecisionKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.rules import Why
from mediajobs.jobs.rules_people import decisions
from mediajobs.jobs.states import ErrorCode, Outcome, State
from tests.core.life import ABSENT, CANCEL, LOOKED_UP, NO_CANCEL, PLAIN, TICK, Life, answered, claim, lives, word

ADOPT, RESUBMIT, FAIL = DecisionKind.ADOPT, DecisionKind.RESUBMIT, DecisionKind.FAIL
WAIT, RETRY = DecisionKind.WAIT, DecisionKind.RETRY


def refused(decision: object) -> bool:
    return isinstance(decision, Ignore) and decision.why is Why.REFUSED


def failed_by_a_person(life: Life) -> bool:
    return (
        life.state is State.FAILED
        and life.job.error is not None
        and (life.job.error.code is ErrorCode.FAILED_BY_OPERATOR)
    )


def test_row_02_a_pending_job_is_canceled_at_once() -> None:
    life = Life()
    life.expect("2", CANCEL)
    assert (life.state, life.job.out) == (State.CANCELED, "publish live")


def test_row_05_an_idle_job_is_canceled_at_once() -> None:
    life = Life().idle()
    life.expect("5c", CANCEL)
    assert life.state is State.CANCELED


def test_row_19_a_cancel_of_a_job_that_may_be_accepted_is_noted_and_keeps_the_slot() -> None:
    life = Life().claim()
    life.expect("19", CANCEL)
    assert (life.state, life.job.cancel_requested, life.job.slot) == (State.SUBMITTING, True, "001")
    assert life.job.out == "cancel"
    decision = life.expect("19x", CANCEL)
    assert isinstance(decision, Ignore)
    assert decision.why is Why.DUPLICATE


@lives(claim=lambda: Life(NO_CANCEL).claim(), run=lambda: Life(NO_CANCEL).run())
def test_row_19_a_provider_that_cannot_cancel_says_so_and_nothing_is_noted(make: Callable[[], Life]) -> None:
    life = make()
    assert refused(life.expect("19n", CANCEL))
    assert not life.job.cancel_requested


def test_row_19_a_job_bound_while_a_cancel_stands_is_canceled_at_the_provider() -> None:
    life = Life().claim()
    life.do(CANCEL)
    life.do(answered(AnswerKind.ACCEPTED, provider_job_id="p0"))
    assert (life.state, life.job.out) == (State.RUNNING, "cancel")


def test_row_28_a_running_jobs_cancel_is_a_request() -> None:
    life = Life().run()
    life.expect("28", CANCEL)
    assert (life.state, life.job.slot, life.job.out) == (State.RUNNING, "001", "cancel")
    assert life.due_in_s == 10


def test_row_33_storing_and_ended_jobs_are_not_canceled() -> None:
    assert refused(Life().store().expect("33c", CANCEL))
    assert refused(Life().succeed().expect("33d", CANCEL))


def test_row_21_adopt_is_recorded_and_bound_only_after_the_provider_was_asked() -> None:
    life = Life(PLAIN).unsure()
    raised = life.job.attention
    life.expect("21r", life.decides(ADOPT, "p7"))
    assert (life.state, life.job.adopt, life.job.attention, life.job.out) == (
        State.SUBMITTING,
        "p7",
        raised,
        "dispatch",
    )
    life.expect("21", Adopted(provider_job_id="p7", submission=1))
    assert (life.state, life.job.provider_job_id, life.job.slot) == (State.RUNNING, "p7", "001")
    assert (life.reason, life.job.unsettled, life.job.adopt) == (None, False, None)
    assert life.findings == []


def test_row_21_adopting_an_older_submissions_job_leaves_the_current_one_as_a_finding() -> None:
    life = Life(PLAIN).unsure().having(submission=2)
    life.do(life.decides(ADOPT, "p7"))
    life.expect("21", Adopted(provider_job_id="p7", submission=1))
    assert life.findings == [("extra_submission", "submission 2")]


def test_row_21_adopting_after_the_lapse_takes_the_slot_again() -> None:
    life = Life(PLAIN).unsure().later(7200)
    life.do(TICK)
    life.do(life.decides(ADOPT, "p7"))
    life.expect("21", Adopted(provider_job_id="p7", submission=1))
    assert life.job.slot == f"over#{life.job.id}"


def test_row_21_an_id_that_cannot_be_adopted_leaves_the_question_open_with_why() -> None:
    life = Life(PLAIN).unsure()
    life.do(life.decides(ADOPT, "p7"))
    version = life.job.attention.version if life.job.attention else 0
    life.expect("21n", AdoptRefused(provider_job_id="p7", message="it has failed"))
    assert life.job.attention is not None
    assert (life.job.attention.evidence, life.job.attention.version, life.job.adopt) == ("it has failed", version, None)


def test_row_21_an_answer_about_an_adoption_that_is_over_is_stale() -> None:
    life = Life(PLAIN).unsure()
    life.expect("21x", Adopted(provider_job_id="p7"))
    life.expect("21y", AdoptRefused(provider_job_id="p7", message="no"))


def test_row_22_resubmit_starts_a_new_submission_with_a_new_key_and_a_new_deadline() -> None:
    life = Life(PLAIN).unsure().later(60)
    life.do(CANCEL)
    first = life.job.reference
    life.expect("22", life.decides(RESUBMIT))
    job = life.job
    assert (job.submission, job.slot, job.unsettled, job.cancel_requested, job.absent) == (2, None, False, False, 0)
    assert (life.reason, job.out) == (None, "dispatch next live")
    assert job.start_deadline == life.now + 86_400_000
    assert job.reference != first
    life.expect("4", claim("w1"))


def test_row_21_an_id_that_is_to_be_checked_is_looked_at_soon_though_its_message_is_lost() -> None:
    for life in (Life(PLAIN).unsure(), Life().lost()):
        life.later(60).having(due_at=life.now + 3_600_000).do(life.decides(ADOPT, "p7"))
        assert life.job.due_at == life.now + 10_000


def test_row_22_the_new_submission_is_looked_up_three_times_again() -> None:
    life = Life(LOOKED_UP).unsure().later(60)
    for _ in range(3):
        life.do(ABSENT)
    life.later(60).expect("22", life.decides(RESUBMIT))
    life.claim("w1").answer(AnswerKind.AMBIGUOUS, "w1", submission=2)
    assert (life.job.absent, life.reason) == (0, None)


def test_row_22_resubmit_past_the_old_deadline_is_not_failed_at_once() -> None:
    life = Life(PLAIN).unsure().later(90_000)
    life.do(life.decides(RESUBMIT))
    life.expect("3x", TICK)


def test_row_22_resubmit_waits_for_the_lease_since_a_request_may_be_on_the_wire() -> None:
    life = Life(PLAIN).unsure().later(59)
    assert refused(life.expect("22x", life.decides(RESUBMIT)))
    life.later(1).expect("22", life.decides(RESUBMIT))


@pytest.mark.parametrize("kind", [ADOPT, RESUBMIT, FAIL])
def test_row_22_a_decision_names_the_version_of_the_question(kind: DecisionKind) -> None:
    """Sent twice, or about an older question, it does nothing."""
    life = Life(PLAIN).unsure().later(60)
    stale = replace(life.decides(kind, "p7"), attention_version=life.job.version - 1)
    assert refused(life.expect("23x", stale))


def test_row_22_a_second_resubmit_that_lands_after_a_new_doubt_charges_nothing() -> None:
    life = Life(PLAIN).unsure().later(60)
    decision = life.decides(RESUBMIT)
    life.do(decision)
    life.claim("w1").answer(AnswerKind.AMBIGUOUS, "w1", submission=2)
    assert life.reason == "ambiguous_submission"
    life.later(60)
    assert refused(life.expect("23x", decision))
    assert life.job.submission == 2


@lives(lost=lambda: Life().lost(), run_late=lambda: Life().run().later(900), store=lambda: Life().store())
def test_row_22_resubmit_exists_only_while_submitting(make: Callable[[], Life]) -> None:
    life = make()
    life.do(TICK)
    if life.job.attention is None:
        life.dead("store")
    assert refused(life.expect("23x", life.decides(RESUBMIT)))


@lives(unsure=lambda: Life(PLAIN).unsure(), claim_dead=lambda: Life().claim().dead())
def test_row_23_a_person_fails_a_job_of_unknown_fate(make: Callable[[], Life]) -> None:
    life = make()
    life.expect("23", life.decides(FAIL))
    assert failed_by_a_person(life)
    assert (life.job.slot, life.job.out) == (None, "next publish live")


@lives(lost=lambda: Life().lost(), run_dead=lambda: Life().run().dead(), store_dead=lambda: Life().store().dead())
def test_row_23_a_person_fails_a_running_or_storing_job(make: Callable[[], Life]) -> None:
    life = make()
    life.expect("23r", life.decides(FAIL))
    assert failed_by_a_person(life)
    assert life.job.slot is None


def test_row_36_wait_doubles_the_patience() -> None:
    life = Life().run().later(900)
    life.do(TICK)
    life.expect("36", life.decides(WAIT))
    assert (life.reason, life.job.patience) == (None, 2)
    life.later(899).expect("26t", TICK)
    life.later(1).expect("26l", TICK)


def test_row_36_wait_lasts_also_where_the_doubled_limit_is_past() -> None:
    life = Life().run().later(900)
    life.do(TICK)
    life.later(10_000)
    life.expect("36", life.decides(WAIT))
    life.expect("26t", TICK)
    life.later(900).expect("26l", TICK)


def test_row_36_who_waits_for_a_job_whose_slot_lapsed_counts_it_again() -> None:
    """A running job without a question holds a slot; while its word still says nothing, it lapses with the next one."""
    life = Life().run().later(900)
    life.do(TICK)
    life.later(7200).expect("27u", word(Status.UNKNOWN))
    assert (life.job.slot, life.reason) == (None, "overdue")
    life.expect("36", life.decides(WAIT))
    assert (life.job.slot, life.reason) == (f"over#{life.job.id}", None)
    life.later(10_000).expect("26l", TICK)
    life.expect("27u", word(Status.UNKNOWN))
    assert life.job.slot is None


def test_row_37_a_lost_job_adopts_another_id_and_keeps_the_old_one_as_a_finding() -> None:
    life = Life().lost().having(poll_url="https://queue.example/p0")
    life.expect("37r", life.decides(ADOPT, "p7"))
    life.expect("37", Adopted(provider_job_id="p7"))
    assert life.job.poll_url is None, "where to ask for the old one"
    assert (life.state, life.job.provider_job_id, life.reason) == (State.RUNNING, "p7", None)
    assert (life.job.slot, life.job.misses) == ("001", 0)
    assert life.findings == [("extra_submission", "p0")]


def test_row_38_retry_fetches_the_results_again_at_once() -> None:
    life = Life().store().having(retry_at=Life().now + 800_000).dead("store")
    life.expect("38", life.decides(RETRY))
    assert (life.state, life.reason, life.job.failures) == (State.STORING, None, 0)
    assert (life.job.retry_at, life.job.out) == (None, "store live")


def test_row_39_retry_of_a_pending_job_wakes_dispatch() -> None:
    life = Life().dead()
    life.expect("39p", life.decides(RETRY))
    assert (life.reason, life.job.failures, life.job.out) == (None, 0, "dispatch live")


def test_row_39_retry_of_a_submitting_job_wakes_dispatch_and_keeps_the_slot() -> None:
    life = Life().unsure().dead()
    life.expect("39s", life.decides(RETRY))
    assert (life.job.out, life.job.slot) == ("dispatch live", "001")


def test_row_39_retry_of_a_running_job_is_the_next_poll() -> None:
    life = Life().run().dead("reconcile")
    life.expect("39r", life.decides(RETRY))
    assert (life.job.out, life.due_in_s) == ("live", 0)


def test_row_39_retry_of_an_ended_job_publishes_it_again() -> None:
    life = Life().succeed().dead("reconcile")
    life.expect("39t", life.decides(RETRY))
    assert (life.job.out, life.state) == ("publish live", State.SUCCEEDED)


def test_row_40_a_person_fails_a_pending_job() -> None:
    life = Life().dead()
    life.expect("40", life.decides(FAIL))
    assert failed_by_a_person(life)


def test_row_40_a_person_fails_an_idle_job() -> None:
    life = Life().idle().dead()
    life.expect("40i", life.decides(FAIL))
    assert failed_by_a_person(life)


def test_row_40_fail_does_not_exist_on_an_ended_job() -> None:
    life = Life().succeed().dead("reconcile")
    assert refused(life.expect("23x", life.decides(FAIL)))
    assert life.state is State.SUCCEEDED


def test_a_decision_without_an_open_question_is_refused() -> None:
    assert refused(Life().run().expect("23x", Decision(kind=FAIL, attention_version=1)))


def test_row_42_acknowledge_ends_a_finding_and_never_lets_it_be_raised_again() -> None:
    life = Life().run()
    life.do(word(Status.RUNNING, "p9"))
    life.expect("42", Acknowledge(provider_job_id="p9"))
    assert (life.job.findings[0].acknowledged, life.job.out) == (True, "live")
    life.expect("29x", word(Status.RUNNING, "p9"))
    life.expect("42d", Acknowledge(provider_job_id="p9"))
    assert refused(life.expect("42x", Acknowledge(provider_job_id="p8")))


def test_the_words_offered_are_those_that_the_table_takes() -> None:
    """For every question: a word that is offered is taken, a word that is not is refused."""
    made = [
        Life(PLAIN).unsure().later(60),
        Life().lost(),
        Life().dead(),
        Life().idle().dead(),
        Life().unsure().dead(),
        Life().run().dead(),
        Life().store().dead(),
        Life().succeed().dead(),
    ]
    overdue = Life().run().later(900)
    overdue.do(TICK)
    for life in [*made, overdue]:
        job = life.job
        for kind in DecisionKind:
            life.job = job
            taken = not isinstance(life.do(life.decides(kind, "p7")), Ignore)
            assert taken == (str(kind) in _offers_of(job)), (job.state, job.attention, kind)


def _offers_of(job: Job) -> set[str]:
    return {str(kind) for kind in decisions(job)}


def test_resubmit_keeps_the_attempts_number_and_forgets_its_doubt() -> None:
    life = Life(PLAIN).unsure().later(60)
    life.do(life.decides(RESUBMIT))
    assert life.job.attempt is not None
    assert life.job.attempt.outcome is Outcome.NOT_ACCEPTED
    life.claim("w1")
    assert life.job.attempt is not None
    assert life.job.attempt.no == 2
