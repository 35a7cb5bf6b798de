"""What charges twice or lets one too many in without a rule: traces of PROTOCOL's "Why", through the real table."""

from __future__ import annotations

from mediajobs.jobs.decide import Change, Ignore
from mediajobs.jobs.events import Adopted, AdoptRefused, AnswerKind, Clash, DecisionKind, Status
from mediajobs.jobs.states import State
from tests.core.life import ABSENT, CANCEL, LOOKED_UP, PLAIN, TICK, Life, answered, claim, word

ACCEPTED, REJECTED, BLOCKED = AnswerKind.ACCEPTED, AnswerKind.REJECTED, AnswerKind.BLOCKED
NOT_ACCEPTED, AMBIGUOUS = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS


def killed_then_resumed() -> Life:
    """w0's request is on the wire, w0 is dead, w1 resumed with the same key."""
    return Life().claim("w0").later(90).claim("w1")


def test_h01_a_refused_retry_does_not_free_the_slot_and_the_deadline_does_not_fail_a_paid_job() -> None:
    """w0 killed · w1 gets 429 · the provider accepts w0's request · start deadline: not failed."""
    life = killed_then_resumed().answer(NOT_ACCEPTED, "w1")
    assert life.job.slot == "001"
    life.later(86_400).do(TICK)
    assert (life.state, life.reason) == (State.SUBMITTING, "ambiguous_submission")


def test_h01_a_refused_retry_does_not_let_a_cancel_end_a_paid_job() -> None:
    life = killed_then_resumed().answer(NOT_ACCEPTED, "w1")
    life.do(CANCEL)
    assert (life.state, life.job.cancel_requested) == (State.SUBMITTING, True)


def test_h01_a_cancel_that_stands_does_not_let_a_refused_retry_end_a_paid_job() -> None:
    """The other order: the caller wants to cancel, and then the retry is refused."""
    for kind in (NOT_ACCEPTED, BLOCKED):
        life = killed_then_resumed()
        life.do(CANCEL)
        life.answer(kind, "w1")
        assert (life.state, life.job.slot, life.job.unsettled) == (State.SUBMITTING, "001", True)


def test_h01_401_402_or_422_on_a_retry_never_fails_a_paid_job() -> None:
    for kind in (BLOCKED, REJECTED):
        life = killed_then_resumed().answer(kind, "w1")
        assert (life.state, life.job.slot, life.job.unsettled) == (State.SUBMITTING, "001", True)


def test_h01_only_accepted_the_provider_or_a_person_settles_it() -> None:
    for settle in (
        answered(ACCEPTED, "w1", provider_job_id="p0"),
        word(Status.RUNNING),
        word(Status.SUCCEEDED),
    ):
        life = killed_then_resumed()
        life.do(settle)
        assert not life.job.unsettled


def test_h02_what_is_not_proven_is_kept_as_perhaps_paid_for() -> None:
    """503 after the provider accepted: the slot stays, a cancel is only a request, the deadline fails nothing."""
    life = Life().claim().answer(AMBIGUOUS, message="HTTP 503")
    assert (life.job.slot, life.job.unsettled) == ("001", True)
    life.do(CANCEL)
    life.later(86_400).do(TICK)
    assert life.state is State.SUBMITTING


def test_h03_a_key_that_the_provider_forgets_is_never_sent_again() -> None:
    """w0 killed · p0 accepted · the key is forgotten · no second request, a person is asked."""
    life = Life(start_within_s=500_000).claim("w0").later(86_400 - 100)
    assert isinstance(life.do(claim("w1")), Ignore)
    life.do(TICK)
    assert life.reason == "ambiguous_submission"


def test_h03_resuming_does_not_renew_the_life_of_the_key() -> None:
    life = Life(start_within_s=500_000).claim("w0")
    for number in range(1, 10):
        life.later(9_000).claim(f"w{number}")
    life.later(86_400 - 81_000 - 100)
    assert isinstance(life.do(claim("w10")), Ignore)


def test_h03_a_retry_with_other_bytes_is_not_sent() -> None:
    life = killed_then_resumed().later(90)
    life.do(claim("w2", digest="x" * 24))
    assert (life.reason, life.job.attempt and life.job.attempt.token) == ("ambiguous_submission", "w1")


def test_h04_not_found_is_no_evidence() -> None:
    """w0 on the wire, killed · lookup: absent · not idle, not retried, not canceled, not expired."""
    life = Life(LOOKED_UP).claim("w0").later(90)
    for _ in range(3):
        life.do(ABSENT)
        assert isinstance(life.do(claim("w1")), Ignore)
        assert life.job.slot == "001"
    life.do(CANCEL)
    life.later(86_400).do(TICK)
    assert (life.state, life.reason) == (State.SUBMITTING, "ambiguous_submission")
    life.do(word(Status.RUNNING))
    assert life.state is State.RUNNING


def test_h06_an_idle_job_keeps_its_rank_and_holds_no_slot_until_it_is_claimed_again() -> None:
    life = Life().idle()
    assert (life.state, life.job.slot) == (State.SUBMITTING, None)
    life.later(10).claim("w1", slot="004")
    assert life.job.slot == "004"


def test_h06_the_same_slot_is_never_freed_twice() -> None:
    life = Life().claim()
    life.do(answered(NOT_ACCEPTED))
    again = life.do(answered(NOT_ACCEPTED))
    assert isinstance(again, Ignore)


def test_h07_the_slot_of_a_doubtful_job_is_kept_and_lapses_with_the_question_open() -> None:
    life = Life(PLAIN).unsure()
    life.later(7200).do(TICK)
    assert (life.job.slot, life.reason) == (None, "ambiguous_submission")


def test_h07_a_job_that_proves_alive_after_the_lapse_takes_its_slot_again() -> None:
    """Running without a slot would let one more in."""
    for prove in (word(Status.RUNNING), answered(ACCEPTED, provider_job_id="p0")):
        life = Life(PLAIN).unsure().later(7200)
        life.do(TICK)
        life.do(prove)
        assert (life.state, life.job.slot) == (State.RUNNING, f"over#{life.job.id}")


def test_h07_provider_lost_lapses_and_overdue_never() -> None:
    lost = Life().lost().later(7200)
    lost.do(TICK)
    assert lost.job.slot is None
    late = Life().run().later(900)
    late.do(TICK)
    late.later(90_000).do(TICK)
    assert (late.reason, late.job.slot) == ("overdue", "001")


def test_h08_two_dispatchers_that_read_the_same_version_do_not_both_own_the_claim() -> None:
    """The token is the invocation's own; the second one decides again on the row that the first wrote."""
    life = Life()
    life.do(claim("w0"))
    assert isinstance(life.do(claim("w1")), Ignore)
    assert life.job.attempt is not None
    assert life.job.attempt.token == "w0"


def test_h13_resubmit_exists_only_while_submitting_in_doubt_and_once_per_question() -> None:
    late = Life().run().later(900)
    late.do(TICK)
    assert isinstance(late.do(late.decides(DecisionKind.RESUBMIT)), Ignore)
    life = Life(PLAIN).unsure().later(60)
    decision = life.decides(DecisionKind.RESUBMIT)
    assert isinstance(life.do(decision), Change)
    assert isinstance(life.do(decision), Ignore)
    life.claim("w1").answer(AMBIGUOUS, "w1", submission=2).later(60)
    assert isinstance(life.do(decision), Ignore)
    assert life.job.submission == 2


def resubmitted() -> Life:
    """p0 is lost, a person resubmitted, w1's request is on the wire."""
    life = Life(PLAIN).unsure().later(60)
    life.do(life.decides(DecisionKind.RESUBMIT))
    return life.claim("w1")


def test_h14_a_late_running_of_the_older_submission_does_not_bind_the_job() -> None:
    """Else p0's failure would fail the job while p1 runs and is charged."""
    life = resubmitted()
    life.do(word(Status.RUNNING, "p0", submission=1))
    life.do(word(Status.FAILED, "p0", submission=1))
    assert (life.state, life.findings) == (State.SUBMITTING, [("extra_submission", "p0")])
    life.answer(ACCEPTED, "w1", submission=2, provider_job_id="p1")
    assert (life.state, life.job.provider_job_id) == (State.RUNNING, "p1")
    life.do(word(Status.FAILED, "p0", submission=1))
    assert life.state is State.RUNNING


def test_h14_a_word_that_names_no_submission_speaks_for_the_current_one_only_while_there_is_no_other() -> None:
    """Webhooks for a whole account find their job by the provider's id, which may be the older submission's."""
    first = Life(PLAIN).claim()
    first.do(word(Status.RUNNING, "p0", submission=None))
    assert (first.state, first.job.provider_job_id) == (State.RUNNING, "p0")
    for status in (Status.RUNNING, Status.FAILED, Status.CANCELED):
        life = resubmitted()
        life.do(word(status, "p0", submission=None))
        assert (life.state, life.job.provider_job_id) == (State.SUBMITTING, None), status
        life.answer(ACCEPTED, "w1", submission=2, provider_job_id="p1")
        assert (life.state, life.job.provider_job_id) == (State.RUNNING, "p1"), status
    life = resubmitted()
    life.do(word(Status.SUCCEEDED, "p0", submission=None))
    assert (life.state, life.findings) == (State.STORING, [("extra_submission", "submission 2")])


def test_h14_an_older_submission_saves_a_charge_while_the_current_one_is_idle() -> None:
    life = Life(PLAIN).unsure().later(60)
    life.do(life.decides(DecisionKind.RESUBMIT))
    life.do(word(Status.RUNNING, "p0", submission=1))
    assert (life.state, life.job.provider_job_id) == (State.RUNNING, "p0")


def test_h14_an_older_submissions_success_always_counts() -> None:
    life = resubmitted()
    life.do(word(Status.SUCCEEDED, "p0", submission=1))
    assert life.state is State.STORING


def test_h14_an_accepted_answer_with_another_id_is_a_finding_and_not_stale() -> None:
    life = Life().claim()
    life.do(word(Status.RUNNING, "p0"))
    life.answer(ACCEPTED, provider_job_id="p1")
    assert life.findings == [("extra_submission", "p1")]


def test_h15_a_finding_blocks_no_retry() -> None:
    life = resubmitted()
    life.do(word(Status.RUNNING, "p0", submission=1))
    life.answer(NOT_ACCEPTED, "w1").later(10)
    assert isinstance(life.do(claim("w2")), Change)


def test_h16_only_a_job_that_was_certainly_never_submitted_expires() -> None:
    never = Life(start_within_s=60).later(60)
    idle = Life(start_within_s=60).idle().later(60)
    for life in (never, idle):
        life.do(TICK)
        assert life.state is State.FAILED
    for life in (Life(start_within_s=60).claim(), Life(start_within_s=60).unsure(), killed_then_resumed()):
        life.later(86_400).do(TICK)
        assert life.state is State.SUBMITTING


def test_h16_a_claim_checks_the_deadline_itself() -> None:
    assert isinstance(Life(start_within_s=60).later(60).do(claim()), Ignore)


def test_h20_one_provider_job_is_never_bound_to_two_jobs() -> None:
    life = Life(LOOKED_UP).unsure()
    life.do(Clash(provider_job_id="p0"))
    assert (life.job.provider_job_id, life.reason) == (None, "ambiguous_submission")
    life.do(life.decides(DecisionKind.ADOPT, "p0"))
    life.do(AdoptRefused(provider_job_id="p0", message="belongs to another job"))
    assert (life.job.provider_job_id, life.job.adopt) == (None, None)


def test_h20_adopt_binds_nothing_before_the_provider_was_asked() -> None:
    life = Life(PLAIN).unsure()
    life.do(life.decides(DecisionKind.ADOPT, "p7"))
    assert life.job.provider_job_id is None
    life.do(Adopted(provider_job_id="p8", submission=1))
    assert life.job.provider_job_id is None


def test_h21_a_lease_that_ends_under_a_live_dispatcher_breaks_nothing() -> None:
    life = Life().claim("w0").later(61).claim("w1")
    assert isinstance(life.do(answered(NOT_ACCEPTED, "w0")), Ignore)
    life.answer(ACCEPTED, "w0", provider_job_id="p0")
    assert (life.state, life.job.provider_job_id) == (State.RUNNING, "p0")


def test_h24_a_doubt_may_be_settled_by_its_own_webhook() -> None:
    life = Life(PLAIN).unsure()
    assert life.reason == "ambiguous_submission"
    life.do(word(Status.SUCCEEDED))
    assert (life.state, life.reason) == (State.STORING, None)
