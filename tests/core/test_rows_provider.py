"""Rows of what the provider says, each with its right value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mediajobs.jobs.decide import Ignore
from mediajobs.jobs.events import DecisionKind, Gone, Status
from mediajobs.jobs.model import Link
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import ErrorCode, Source, State
from tests.core.life import CANCEL, NOW, PLAIN, TICK, Life, lives, word

RUNNING, SUCCEEDED, FAILED = Status.RUNNING, Status.SUCCEEDED, Status.FAILED
CANCELED, UNKNOWN = Status.CANCELED, Status.UNKNOWN
GONE = Gone(provider_job_id="p0")


def two_submissions() -> Life:
    """A person resubmitted; the second submission's request is on the wire."""
    life = Life(PLAIN).unsure().later(60)
    life.do(life.decides(DecisionKind.RESUBMIT))
    return life.claim("w1")


def test_row_15_a_webhook_that_beats_our_own_write_binds_the_job() -> None:
    life = Life().claim()
    life.expect("15", word(RUNNING, "p0"))
    assert (life.state, life.job.provider_job_id, life.job.slot, life.job.out) == (State.RUNNING, "p0", "001", None)


def test_row_15_a_lapsed_slot_is_taken_again_unconditionally() -> None:
    life = Life(PLAIN).unsure().later(7200)
    life.do(TICK)
    assert life.job.slot is None
    life.expect("15", word(RUNNING))
    assert (life.state, life.job.slot, life.reason) == (State.RUNNING, f"over#{life.job.id}", None)


def test_row_15_an_older_submission_is_bound_while_the_current_one_is_idle() -> None:
    life = Life(PLAIN).unsure().later(60)
    life.do(life.decides(DecisionKind.RESUBMIT))
    life.expect("15", word(RUNNING, submission=1))
    assert life.state is State.RUNNING


def test_row_16_succeeded_goes_to_storing_and_gives_the_slot_back() -> None:
    life = Life().claim()
    link = Link(url="https://cdn.example.com/a.mp4")
    life.expect("16", word(SUCCEEDED, links=(link,)))
    assert (life.state, life.job.slot, life.job.links) == (State.STORING, None, (link,))
    assert (life.job.provider_job_id, life.job.out) == ("p0", "store next live")
    assert life.findings == []


def test_row_16_an_older_submission_that_succeeded_was_paid_for_and_the_current_one_is_a_finding() -> None:
    life = two_submissions()
    life.expect("16", word(SUCCEEDED, "p0", submission=1))
    assert (life.state, life.job.provider_job_id) == (State.STORING, "p0")
    assert life.findings == [("extra_submission", "submission 2")]


@pytest.mark.parametrize(("status", "row", "state"), [(FAILED, "17f", State.FAILED), (CANCELED, "17c", State.CANCELED)])
def test_row_17_the_providers_end_of_the_same_submission_ends_the_job(status: Status, row: str, state: State) -> None:
    life = Life().claim()
    event = word(status, code=ErrorCode.CONTENT_MODERATED, message="no")
    if row == "17f":
        life.expect("17f", event)
        assert life.job.error is not None
        assert life.job.error.code is ErrorCode.CONTENT_MODERATED
    else:
        life.expect("17c", event)
        assert life.job.error is None
    assert (life.state, life.job.slot, life.job.out) == (state, None, "next publish live")
    assert life.job.provider_job_id == "p0"


def test_row_18_an_older_submission_that_lives_beside_the_current_one_is_a_finding_once() -> None:
    life = two_submissions()
    life.expect("18", word(RUNNING, "p0", submission=1))
    assert (life.state, life.findings, life.job.out) == (State.SUBMITTING, [("extra_submission", "p0")], "live")
    life.expect("18y", word(RUNNING, "p0", submission=1))


@pytest.mark.parametrize("status", [FAILED, CANCELED])
def test_row_18_an_older_submissions_end_is_ignored(status: Status) -> None:
    life = two_submissions()
    decision = life.expect("18y", word(status, "p0", submission=1))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.STALE
    assert life.state is State.SUBMITTING


def test_row_18_an_unknown_word_is_kept_raw_and_moves_nothing() -> None:
    life = Life().claim()
    life.expect("18w", word(UNKNOWN, raw="warming-up"))
    assert (life.state, life.job.provider_word) == (State.SUBMITTING, "warming-up")
    decision = life.expect("18x", word(UNKNOWN, raw="warming-up"))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.UNKNOWN


def test_row_18_nothing_was_submitted_while_pending() -> None:
    Life().expect("18z", word(SUCCEEDED))


def test_row_24_the_bound_job_succeeded() -> None:
    life = Life().run()
    life.expect("24s", word(SUCCEEDED))
    assert (life.state, life.job.slot, life.job.out) == (State.STORING, None, "store next live")


def test_row_24_the_bound_job_failed() -> None:
    life = Life().run()
    life.expect("24f", word(FAILED, message="out of memory"))
    assert life.job.error is not None
    assert (life.state, life.job.slot, life.job.error.code) == (State.FAILED, None, ErrorCode.PROVIDER_ERROR)


def test_row_24_the_bound_job_was_canceled() -> None:
    life = Life().run()
    life.do(CANCEL)
    life.expect("24c", word(CANCELED))
    assert (life.state, life.job.slot, life.job.error) == (State.CANCELED, None, None)


def test_row_24_a_cancel_that_came_too_late_leaves_a_paid_result() -> None:
    life = Life().run()
    life.do(CANCEL)
    life.expect("24s", word(SUCCEEDED))
    assert life.state is State.STORING


@pytest.mark.parametrize("source", [Source.WEBHOOK, Source.POLL])
def test_row_24_clears_an_open_question(source: Source) -> None:
    life = Life().lost()
    life.expect("24s", word(SUCCEEDED, source=source))
    assert life.reason is None


def test_row_25_known_already() -> None:
    decision = Life().run().expect("25", word(RUNNING))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.DUPLICATE


def test_row_25_one_good_word_starts_the_count_of_misses_anew() -> None:
    life = Life().run()
    for _ in range(6):
        life.do(GONE)
        life.expect("25b", word(RUNNING))
    assert (life.job.misses, life.reason) == (0, None)


def test_row_25_a_lost_job_found_alive_has_its_question_answered_and_its_slot_again() -> None:
    life = Life().lost().later(7200)
    life.do(TICK)
    assert life.job.slot is None
    life.expect("25a", word(RUNNING))
    assert (life.reason, life.job.misses, life.job.slot) == (None, 0, f"over#{life.job.id}")


def test_row_25_evidence_ends_an_adoption_that_nobody_has_checked_yet() -> None:
    """Else every look would check it again and never poll."""
    life = Life().lost()
    life.do(life.decides(DecisionKind.ADOPT, "p9"))
    assert life.job.adopt == "p9"
    life.do(word(RUNNING))
    assert life.job.adopt is None


def test_row_25_an_unknown_word_is_kept_raw_and_moves_nothing() -> None:
    life = Life().run()
    life.expect("25w", word(UNKNOWN, raw="upscaling"))
    assert (life.state, life.job.provider_word) == (State.RUNNING, "upscaling")
    life.expect("25u", word(UNKNOWN, raw="upscaling"))
    life.expect("25u", word(UNKNOWN, "p9", raw="other"))


def test_row_26_one_404_is_no_failure_and_n_of_them_raise_provider_lost() -> None:
    life = Life().run()
    life.expect("26b", GONE)
    life.expect("26b", GONE)
    assert (life.job.misses, life.reason) == (2, None)
    life.expect("26a", GONE)
    assert (life.reason, life.job.slot, life.state) == ("provider_lost", "001", State.RUNNING)
    life.expect("26x", GONE)


def test_row_26_after_a_404_it_is_asked_again_soon_whatever_the_next_look_was() -> None:
    """A lost job holds a slot. Never later than it would have been looked at anyway."""
    life = Life().run()
    life.having(due_at=life.now + 3_600_000).expect("26b", GONE)
    assert life.job.due_at == life.now + 40_000
    life.later(40).having(due_at=life.now + 3_600_000).expect("26b", GONE)
    assert life.job.due_at == life.now + 80_000
    life = Life().run()
    life.having(due_at=life.now + 5_000).expect("26b", GONE)
    assert life.job.due_at == life.now + 5_000


def test_row_26_provider_lost_replaces_overdue_and_dead_letter() -> None:
    for make in (lambda: Life().run().dead("reconcile"), _overdue):
        life = make()
        for _ in range(3):
            life.do(GONE)
        assert life.reason == "provider_lost"


def test_row_26_a_404_about_another_id_is_not_about_us() -> None:
    life = Life().run()
    for _ in range(life.traits.lost_after - 1):
        life.expect("26x", Gone(provider_job_id="p9"))
        life.expect("26b", GONE)
    life.expect("26x", Gone(provider_job_id="p9"))
    assert (life.job.misses, life.reason) == (life.traits.lost_after - 1, None)


def _overdue() -> Life:
    life = Life().run().later(900)
    life.do(TICK)
    return life


def test_row_26_past_three_times_the_expected_time_a_job_is_overdue() -> None:
    life = Life().run()
    life.later(899).expect("26t", TICK)
    life.later(1).expect("26l", TICK)
    assert (life.reason, life.job.slot, life.job.out) == ("overdue", "001", "live")
    life.expect("26t", TICK)


def test_row_26_overdue_is_raised_only_where_no_question_is_open() -> None:
    life = Life().lost().later(900)
    life.expect("26t", TICK)
    assert life.reason == "provider_lost"


def test_row_27_the_slot_of_a_lost_job_lapses_and_that_of_an_overdue_one_never() -> None:
    lost = Life().lost()
    lost.later(7199).expect("26t", TICK)
    lost.later(1).expect("27", TICK)
    assert (lost.job.slot, lost.reason, lost.job.out) == (None, "provider_lost", "next")
    overdue = _overdue().later(90_000)
    overdue.expect("26t", TICK)
    assert overdue.job.slot == "001"


def test_row_27_a_word_that_says_nothing_holds_no_slot_beyond_max_run() -> None:
    """Its fate is unknown, as a lost job's is: a few such jobs must not stall admission for ever."""
    life = _overdue()
    life.later(6000).do(word(UNKNOWN))
    assert life.job.slot == "001"
    life.later(1200).expect("27u", word(UNKNOWN))
    assert (life.job.slot, life.reason, life.job.out) == (None, "overdue", "next")
    life.expect("25c", word(RUNNING))
    assert (life.job.slot, life.reason) == (f"over#{life.job.id}", "overdue")
    life.expect("24s", word(SUCCEEDED))
    assert life.job.slot is None


@pytest.mark.parametrize("status", [RUNNING, SUCCEEDED])
@lives(run=lambda: Life().run(), store=lambda: Life().store(), succeed=lambda: Life().succeed())
def test_row_29_another_provider_job_that_lives_or_lived_is_a_finding_once(
    status: Status, make: Callable[[], Life]
) -> None:
    life = make()
    state, version = life.state, life.job.final_version
    life.expect("29", word(status, "p9"))
    assert (life.state, life.job.final_version, life.job.out) == (state, version, "live")
    assert life.findings == [("extra_submission", "p9")]
    decision = life.do(word(status, "p9"))
    assert isinstance(decision, Ignore)


def test_row_29_another_jobs_end_is_no_news() -> None:
    Life().run().expect("29x", word(FAILED, "p9"))


@pytest.mark.parametrize("status", [RUNNING, SUCCEEDED, FAILED, CANCELED, UNKNOWN])
def test_row_33_no_word_of_the_bound_job_is_heard_while_storing(status: Status) -> None:
    life = Life().store()
    life.expect("33", word(status))
    assert life.state is State.STORING


def test_row_33_time_ends_nothing_that_is_paid_for() -> None:
    Life().store().later(10**7).expect("33k", TICK)
    Life().succeed().later(10**7).expect("33k", TICK)


def test_row_33_a_terminal_state_never_changes() -> None:
    decision = Life().succeed().expect("33t", word(FAILED))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.TERMINAL


def test_row_34_a_success_after_failed_is_a_finding_once() -> None:
    life = Life().run()
    life.do(word(FAILED))
    final = life.job.final_version
    life.expect("34", word(SUCCEEDED))
    assert (life.state, life.findings, life.job.out) == (State.FAILED, [("late_result", "p0")], "live")
    assert life.job.final_version == final
    life.expect("34x", word(SUCCEEDED))


def test_row_34_a_success_of_whichever_provider_job_after_the_end_is_a_finding() -> None:
    """A job that a person gave up in doubt is bound to no id, and what it was charged for shows itself later."""
    given_up = Life(PLAIN).unsure().later(60)
    given_up.do(given_up.decides(DecisionKind.FAIL))
    other = Life().run()
    other.do(word(FAILED))
    for life in (given_up, other):
        assert life.state is State.FAILED
        life.expect("34", word(SUCCEEDED, "p9"))
        assert life.findings == [("late_result", "p9")]
        life.expect("34x", word(SUCCEEDED, "p9"))


def test_what_the_state_before_was_waiting_for_delays_nothing_in_the_next_one() -> None:
    """Else relay would send the message to store when the submit would have been tried again."""
    stored, run = Life().unsure(retry_in_s=600), Life().unsure(retry_in_s=600)
    stored.expect("16", word(SUCCEEDED))
    run.expect("15", word(RUNNING))
    assert (stored.job.retry_at, run.job.retry_at) == (None, None)


def test_a_webhooks_event_and_digest_stand_in_the_history() -> None:
    life = Life().run().later(7)
    life.do(word(SUCCEEDED, event_id="evt-1", body_digest="ab" * 32))
    assert life.job.history[-1] == f"4|running|storing|webhook|{NOW + 7000}|1||evt-1|{'ab' * 32}"
