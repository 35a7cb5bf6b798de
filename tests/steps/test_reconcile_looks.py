"""What reconcile does when it looks at one job: wakes, polls, looks up, raises a question, publishes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import Cancel, Decision, DecisionKind, Status
from mediajobs.jobs.states import State
from mediajobs.messages import Report, ReportKind
from mediajobs.steps.reconcile import look
from tests.steps.kit import LOOKED_UP, PLAIN, Stage
from tests.steps.looks import BUSY, asked, at_due, tick

RUNNING, SUCCEEDED = Status.RUNNING, Status.SUCCEEDED
GONE = Report(kind=ReportKind.GONE)
UNAVAILABLE = Report(kind=ReportKind.UNAVAILABLE, message="HTTP 522")


def test_a_running_job_is_left_to_its_webhook_until_its_true_due() -> None:
    stage = Stage()
    job = stage.job()
    stage.clock.advance(60)
    stage.sim.accept("p-1")
    stage.dispatch(job)
    at_due(stage, job)  # 450 s after submit, but only 390 s after it began to run
    assert asked(stage) == 0
    stage.sim.says("poll", SUCCEEDED)
    at_due(stage, job)
    assert stage.state(job) is State.STORING
    assert stage.read(job).history[-1].split("|")[3] == "poll"


def test_a_webhook_settled_job_is_never_polled() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.relay()
    stage.clock.advance(10_000)
    tick(stage)
    assert (asked(stage), stage.read(job).due_at) == (0, None)


@pytest.mark.parametrize("report", [UNAVAILABLE, Report(kind=ReportKind.BLOCKED)], ids=["unavailable", "blocked"])
def test_a_failed_poll_is_not_a_failed_job(report: Report) -> None:
    stage = Stage(BUSY)
    job = stage.running()
    for _ in range(8):
        stage.sim.report("poll", report)
        at_due(stage, job)
    assert (stage.state(job), stage.read(job).failures) == (State.RUNNING, 0)
    assert (stage.reason(job), stage.read(job).misses) == (None, 0)
    gaps = stage.clock.now() - job.since
    assert gaps / 1000 > 500  # it has backed off
    stage.sim.says("poll", SUCCEEDED)
    at_due(stage, job)
    assert stage.state(job) is State.STORING


@pytest.mark.parametrize(("asks_s", "waits"), [(3600, True), (1, False)])
def test_a_provider_that_asks_for_time_is_polled_no_sooner(asks_s: float, waits: bool) -> None:
    """Less than our own pace asks for changes nothing."""
    stages = Stage(), Stage()
    for stage, report in zip(stages, (UNAVAILABLE, replace(UNAVAILABLE, retry_after_s=asks_s)), strict=True):
        job = stage.running()
        stage.clock.advance(450)
        stage.sim.report("poll", report)
        look(stage.world, job.id)
    ours, theirs = (stage.read(stage.job()).due_at or 0 for stage in stages)
    assert theirs == (stages[1].clock.now() + 3_600_000 if waits else ours)


def test_404_is_counted_and_forgotten_by_one_good_poll() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    for report in (GONE, GONE, None, GONE, GONE):
        if report is None:
            stage.sim.says("poll", RUNNING)
        else:
            stage.sim.report("poll", report)
        at_due(stage, job)
    assert (stage.reason(job), stage.read(job).misses) == (None, 2)
    stage.sim.report("poll", GONE)
    at_due(stage, job)
    assert stage.reason(job) == "provider_lost"


def test_a_lost_job_is_still_polled_and_its_slot_lapses() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    waits = stage.job("waits")
    stage.dispatch(waits)
    while stage.held():
        stage.sim.report("poll", GONE)
        at_due(stage, job)
        assert stage.clock.now() - job.since <= 7_200_000 + 1000
    assert stage.reason(job) == "provider_lost"
    stage.relay()
    assert waits.id in [sent[0] for sent in stage.sent()]
    stage.sim._reports["poll"].clear()
    stage.sim.says("poll", RUNNING)
    at_due(stage, job)
    assert (stage.reason(job), list(stage.held().values())) == (None, [job.id])


def test_past_the_expected_time_a_job_is_overdue_and_polled_on() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    while stage.reason(job) is None:
        stage.sim.says("poll", RUNNING)
        at_due(stage, job)
    assert stage.reason(job) == "overdue"
    assert stage.clock.now() == job.since + 900_000
    stage.sim.says("poll", SUCCEEDED)
    at_due(stage, job)
    assert (stage.state(job), stage.reason(job)) == (State.STORING, None)


def test_an_unknown_word_is_counted_and_moves_nothing() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    stage.sim.says("poll", Status.UNKNOWN, raw="upscaling")
    at_due(stage, job)
    assert (stage.state(job), stage.read(job).provider_word) == (State.RUNNING, "upscaling")
    assert stage.metrics.counted["UnknownWord"] == 1


def test_a_poll_keeps_the_progress_that_it_brings() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    stage.sim.says("poll", RUNNING, progress=40, stage="rendering")
    at_due(stage, job)
    assert stage.store.progresses[job.id].percent == 40


def test_a_pending_job_whose_message_is_lost_is_woken_again() -> None:
    stage = Stage()
    job = stage.job()
    at_due(stage, job)
    assert stage.sent() == [(job.id, "submit", 0)]


def test_a_waiting_job_is_not_woken_and_costs_one_move() -> None:
    stage = Stage()
    stage.running()
    job = stage.job("waits")
    stage.dispatch(job)
    stage.sent()
    version = stage.read(job).version
    stage.clock.advance(450)
    for _ in range(5):
        look(stage.world, job.id)
    assert (stage.sent(), stage.read(job).version) == ([], version + 1)
    assert stage.read(job).due_at == job.start_deadline


def test_a_waiting_job_expires_at_its_start_deadline_and_frees_its_turn() -> None:
    stage = Stage()
    stage.running()
    job = stage.job("waits", start_within_s=600)
    stage.dispatch(job)
    while stage.state(job) is State.PENDING:
        at_due(stage, job)
    assert stage.clock.now() == job.start_deadline
    assert (stage.state(job), stage.read(job).wait) == (State.FAILED, None)


def test_a_dead_claim_that_the_queue_lost_too_is_resumed_with_its_key() -> None:
    stage = Stage()
    job = stage.killed()
    while not (sent := stage.sent()):
        at_due(stage, job)
    assert sent == [(job.id, "submit", 0)]
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    assert stage.sim.submits[0] == stage.sim.submits[1]


def test_a_dead_claim_without_a_key_is_raised_once_by_two_passes_at_once() -> None:
    """CASES 29: exactly one change, no create call, and it can be seen."""
    stage = Stage(PLAIN)
    job = stage.killed()
    stage.clock.advance(61)
    stage.store.jobs[job.id] = replace(stage.read(job), due_at=stage.clock.now())

    def other(_: Change) -> None:
        look(stage.world, job.id)

    stage.store.before_write = [other]
    look(stage.world, job.id)
    assert stage.reason(job) == "ambiguous_submission"
    assert sum("~ambiguous" in entry for entry in stage.read(job).history) == 1
    assert len(stage.sim.submits) == 1


def test_a_doubtful_job_is_looked_up_and_adopted() -> None:
    stage = Stage(LOOKED_UP)
    job = stage.unsure()
    stage.sim.report("lookup", Report(kind=ReportKind.ABSENT))
    at_due(stage, job)
    stage.sim.says("lookup", RUNNING, "p-7", reference=job.reference)
    at_due(stage, job)
    assert (stage.state(job), stage.read(job).provider_job_id) == (State.RUNNING, "p-7")
    assert stage.sim.asked == [("lookup", job.reference)] * 2


def test_absent_three_times_asks_a_person_and_never_sends_again() -> None:
    stage = Stage(LOOKED_UP)
    job = stage.unsure()
    for _ in range(3):
        stage.sim.report("lookup", Report(kind=ReportKind.ABSENT))
        at_due(stage, job)
    assert (stage.reason(job), len(stage.sim.submits)) == ("ambiguous_submission", 1)


def test_a_lookup_goes_on_slowly_while_a_person_is_asked() -> None:
    stage = Stage(LOOKED_UP)
    job = stage.unsure()
    for number in range(1, 6):
        stage.sim.report("lookup", Report(kind=ReportKind.ABSENT))
        while asked(stage, "lookup") < number:
            at_due(stage, job)
    assert stage.clock.now() - job.since > 3_600_000
    stage.sim.says("lookup", SUCCEEDED, "p-7", reference=job.reference)
    while asked(stage, "lookup") < 6:
        at_due(stage, job)
    assert (stage.state(job), stage.reason(job)) == (State.STORING, None)


def test_a_lookup_without_an_answer_counts_nothing() -> None:
    stage = Stage(LOOKED_UP)
    job = stage.unsure()
    for _ in range(5):
        stage.sim.report("lookup", UNAVAILABLE)
        at_due(stage, job)
    assert (stage.read(job).absent, stage.reason(job)) == (0, None)


def test_a_storing_job_is_woken_again_and_not_while_a_person_is_asked() -> None:
    stage = Stage()
    job = stage.storing()
    stage.queues.take_stored()
    stage.store.jobs[job.id] = replace(stage.read(job), due_at=stage.clock.now())
    look(stage.world, job.id)
    assert stage.queues.take_stored() == []  # three minutes are its own
    at_due(stage, job)
    assert stage.queues.take_stored() == [job.id]
    stage.dead_letter(job)
    at_due(stage, job)
    assert stage.queues.take_stored() == []


def test_a_cancel_is_asked_again_until_the_provider_says_something_final() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    stage.apply(job, Cancel())
    for _ in range(3):
        stage.sim.says("poll", RUNNING)
        stage.sim.says("cancel", Status.UNKNOWN)
        at_due(stage, job)
    assert asked(stage, "cancel") == 3
    stage.sim.says("poll", Status.CANCELED)
    at_due(stage, job)
    assert stage.state(job) is State.CANCELED


def test_an_ended_job_that_relay_missed_is_published() -> None:
    stage = Stage()
    job = stage.succeeded()
    at_due(stage, job)
    at_due(stage, job) if stage.read(job).due_at else None
    assert len(stage.topic.published) == 1
    assert stage.read(job).published_at is not None


def test_a_publication_that_fails_is_tried_again_each_minute_and_then_a_person_is_asked() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.topic.fail = 99
    times = []
    while stage.reason(job) is None:
        at_due(stage, job)
        times.append(stage.clock.now())
        assert len(times) < 20
    assert times[-1] - times[0] >= 180_000
    stage.topic.fail = 0
    at_due(stage, job)
    assert (stage.reason(job), len(stage.topic.published)) == (None, 1)


def test_an_adoption_that_dispatch_missed_is_sent_to_it_again() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    attention = job.attention
    assert attention is not None
    decision = Decision(kind=DecisionKind.ADOPT, attention_version=attention.version, provider_job_id="p-7")
    stage.apply(job, decision)
    at_due(stage, job)
    assert stage.sent() == [(job.id, "submit", 0)]


def test_a_lost_job_is_polled_while_an_adoption_waits_to_be_checked() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    while stage.reason(job) is None:
        stage.sim.report("poll", GONE)
        at_due(stage, job)
    stage.sim._reports["poll"].clear()
    attention = stage.read(job).attention
    assert attention is not None
    decision = Decision(kind=DecisionKind.ADOPT, attention_version=attention.version, provider_job_id="p-7")
    stage.apply(job, decision)
    stage.sim.says("poll", RUNNING)
    at_due(stage, job)
    assert stage.sent() == [(job.id, "submit", 0)]
    assert (stage.reason(job), stage.read(job).adopt) == (None, None)


def test_a_look_that_fails_for_a_reason_of_ours_is_counted_on_the_job() -> None:
    stage = Stage(BUSY)
    job = stage.running()

    def broken(_: str) -> None:
        raise KeyError("a fault of ours")

    stage.sim.during_ask = broken
    while asked(stage) < 5:
        at_due(stage, job)
    assert (stage.reason(job), stage.state(job)) == ("dead_letter", State.RUNNING)
    stage.sim.during_ask = None
    stage.sim.says("poll", SUCCEEDED)
    at_due(stage, job)
    assert stage.state(job) is State.STORING


def test_jobs_of_a_provider_that_left_the_configuration_end_as_a_question() -> None:
    stage = Stage()
    job = stage.running()
    stage.store.jobs[job.id] = replace(stage.read(job), provider="gone", slot=None)
    for _ in range(12):
        at_due(stage, job)
    assert stage.reason(job) == "dead_letter"


def test_a_look_that_another_pass_has_taken_asks_nothing() -> None:
    """Both loaded the row; the other one's note stands first, so ours is lost, and so is our turn."""
    stage = Stage(BUSY)
    job = stage.running()
    stage.clock.advance(11)
    for _ in range(2):
        stage.sim.says("poll", RUNNING, "")
    stage.store.before_write = [lambda _: look(stage.world, job.id)]
    look(stage.world, job.id)
    assert asked(stage) == 1


def test_an_index_that_lags_shows_a_job_twice_and_nothing_happens_twice() -> None:
    stage = Stage(BUSY)
    job = stage.running()
    stage.clock.advance(11)
    stage.sim.says("poll", RUNNING)
    look(stage.world, job.id)
    look(stage.world, job.id)
    assert asked(stage) == 1
