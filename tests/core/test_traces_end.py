"""What ends wrong, untold or never without a rule: traces of PROTOCOL's "Why", through the real table."""

from __future__ import annotations

from mediajobs.jobs.decide import Change, Ignore
from mediajobs.jobs.events import AnswerKind, DecisionKind, Invalid, NoUrl, Published, Status, StepFailed, Stored
from mediajobs.jobs.rules_people import decisions
from mediajobs.jobs.states import Outcome, State
from tests.core.life import CANCEL, KEYED, MEDIA, NO_CANCEL, PLAIN, TICK, Life, away, claim, word


def test_h05_a_cancel_of_a_running_job_ends_nothing_by_itself() -> None:
    life = Life().run()
    life.do(CANCEL)
    assert (life.state, life.job.slot, life.job.out) == (State.RUNNING, "001", "cancel")


def test_h05_the_providers_word_decides_after_a_cancel() -> None:
    for status, state in (
        (Status.CANCELED, State.CANCELED),
        (Status.SUCCEEDED, State.STORING),
        (Status.FAILED, State.FAILED),
    ):
        life = Life().run()
        life.do(CANCEL)
        life.do(word(status))
        assert life.state is state


def test_h05_a_doubtful_job_is_resumed_to_learn_its_id_and_then_canceled() -> None:
    life = Life().unsure().later(10)
    life.do(CANCEL)
    assert life.job.out == "cancel"
    life.claim("w1").answer(AnswerKind.ACCEPTED, "w1", provider_job_id="p0")
    assert (life.state, life.job.out) == (State.RUNNING, "cancel")


def test_h05_a_provider_without_cancel_notes_nothing() -> None:
    life = Life(NO_CANCEL).run()
    version = life.job.version
    assert isinstance(life.do(CANCEL), Ignore)
    assert life.job.version == version


def test_h09_the_publication_id_does_not_grow_with_late_findings() -> None:
    life = Life().run()
    life.do(word(Status.FAILED))
    before = life.job.publication_id
    life.do(word(Status.SUCCEEDED))
    assert life.job.version > (life.job.final_version or 0)
    assert life.job.publication_id == before


def test_h10_a_later_job_of_the_same_key_shares_no_id_with_the_earlier_one() -> None:
    first = Life().succeed().job
    second = Life().having(incarnation="another").succeed().job
    assert first.id == second.id
    assert first.reference != second.reference
    assert first.publication_id != second.publication_id


def test_h10_the_ttl_is_written_by_the_published_mark_alone() -> None:
    life = Life().succeed()
    assert life.job.ttl is None
    life.do(Published(ttl=99))
    assert life.job.ttl == 99


def test_h11_the_row_names_the_objects_of_the_run_that_finished_it() -> None:
    life = Life().store()
    life.do(Stored(outputs=(MEDIA,)))
    other = Stored(outputs=(MEDIA.__class__(key="results/j/i/other/0", content_type="video/mp4", size=9, sha256="1"),))
    assert isinstance(life.do(other), Ignore)
    assert life.job.outputs == (MEDIA,)


def test_h12_only_a_send_that_returned_ends_the_looks() -> None:
    life = Life().succeed()
    assert life.job.due_at is not None
    life.do(Published(ttl=1))
    assert life.job.due_at is None


def test_h14_failed_is_not_heard_once_the_result_is_paid_for() -> None:
    life = Life().store()
    life.do(word(Status.FAILED))
    assert life.state is State.STORING


def test_h15_a_question_does_not_hide_a_finding_and_evidence_does_not_wipe_one() -> None:
    life = Life().run()
    life.do(word(Status.RUNNING, "p9"))
    life.later(900).do(TICK)
    assert (life.reason, life.findings) == ("overdue", [("extra_submission", "p9")])
    life.do(word(Status.SUCCEEDED))
    assert (life.reason, life.findings) == (None, [("extra_submission", "p9")])


def test_h15_every_question_has_a_way_out() -> None:
    late = Life().run().later(900)
    late.do(TICK)
    unavailable = Life().store()
    unavailable.do(NoUrl(message="gone"))
    for life in (Life(PLAIN).unsure(), late, Life().lost(), unavailable, Life().dead(), Life().succeed().dead()):
        assert decisions(life.job)


def test_h17_what_is_no_state_change_wakes_somebody_all_the_same() -> None:
    idle = Life().idle()
    canceled = Life().claim()
    canceled.do(CANCEL)
    again = Life(PLAIN).unsure().later(60)
    again.do(again.decides(DecisionKind.RESUBMIT))
    assert [life.job.out for life in (idle, canceled, again)] == ["dispatch next", "cancel", "dispatch next live"]


def test_h18_a_wait_is_written_once_and_never_counts_as_a_failure() -> None:
    life = Life()
    life.do(away())
    version = life.job.version
    for _ in range(50):
        life.do(away())
    assert (life.job.version, life.job.failures) == (version, 0)


def test_h18_a_dead_letter_stops_no_first_submission() -> None:
    assert isinstance(Life().dead().do(claim()), Change)


def test_h22_a_dead_url_fails_nothing_and_invalid_media_does() -> None:
    life = Life().store()
    life.do(NoUrl(message="410"))
    assert (life.state, life.reason) == (State.STORING, "result_unavailable")
    life.do(life.decides(DecisionKind.RETRY))
    life.do(Invalid(message="empty"))
    assert life.state is State.FAILED


def test_h23_due_is_there_until_the_mark_and_a_question_is_looked_at_slowly() -> None:
    life = Life(PLAIN).unsure()
    assert life.job.due_at is not None
    life.later(7200).do(TICK)
    assert life.job.due_at is not None


def test_h24_a_storm_of_attempts_leaves_a_bounded_job() -> None:
    life = Life(KEYED, start_within_s=10**6)
    for number in range(300):
        life.claim(f"w{number}").answer(AnswerKind.NOT_ACCEPTED, f"w{number}").later(10)
        life.do(StepFailed(step="dispatch", message="x" * 5000, retry_at=life.now))
        life.having(failures=0)
    assert sum(len(entry.encode()) for entry in life.job.history) < 4096
    assert life.job.attempt is not None
    assert (life.job.attempt.no, life.job.attempt.outcome) == (300, Outcome.NOT_ACCEPTED)
