"""What every message goes through: our own failures are counted on the job, waits and faults of the moment are not."""

from __future__ import annotations

import pytest

from mediajobs.errors import InProgress, Retryable, Throttled
from mediajobs.jobs.events import Decision, DecisionKind
from mediajobs.jobs.states import State
from mediajobs.steps.worker import work
from tests.steps.kit import Stage


def broken() -> str:
    raise KeyError("a fault of ours")


def test_a_failure_becomes_a_note_that_schedules_the_next_try() -> None:
    stage = Stage()
    job = stage.job()
    assert work(stage.world, job.id, "dispatch", 1, broken) == "failed: KeyError"
    noted = stage.read(job)
    assert (noted.failures, noted.out) == (1, "dispatch")
    assert noted.retry_at == stage.clock.now() + 5000


def test_five_failures_ask_a_person() -> None:
    stage = Stage()
    job = stage.job()
    for _ in range(5):
        work(stage.world, job.id, "dispatch", 1, broken)
    assert stage.reason(job) == "dead_letter"
    attention = stage.read(job).attention
    assert attention is not None
    assert "dispatch failed 5 times" in attention.evidence


def test_a_person_sends_it_again_and_the_count_begins_anew() -> None:
    stage = Stage()
    job = stage.job()
    for _ in range(5):
        work(stage.world, job.id, "dispatch", 1, broken)
    attention = stage.read(job).attention
    assert attention is not None
    stage.apply(job, Decision(kind=DecisionKind.RETRY, attention_version=attention.version))
    stage.relay()
    assert (job.id, "submit", 0) in stage.sent()
    stage.sim.accept()
    assert stage.receive(job) == "accepted"


@pytest.mark.parametrize("error", [Retryable, Throttled, InProgress])
def test_a_fault_of_the_moment_is_brought_again_by_the_queue_and_counts_nothing(error: type[Exception]) -> None:
    stage = Stage()
    job = stage.job()

    def later() -> str:
        raise error("again")

    with pytest.raises(error):
        work(stage.world, job.id, "dispatch", 1, later)
    assert stage.read(job).version == 1


def test_a_message_received_ten_times_died_without_a_word_and_asks_a_person() -> None:
    stage = Stage()
    job = stage.killed()
    for receives in range(2, 10):
        assert work(stage.world, job.id, "dispatch", receives, lambda: "ran") == "ran"
    assert work(stage.world, job.id, "dispatch", 10, broken) == "dead letter"
    assert stage.reason(job) == "dead_letter"


def test_a_message_received_ten_times_about_a_job_that_went_on_asks_nobody() -> None:
    stage = Stage()
    job = stage.running()
    work(stage.world, job.id, "dispatch", 10, broken)
    assert (stage.reason(job), stage.state(job)) == (None, State.RUNNING)
    work(stage.world, job.id, "store", 10, broken)
    assert stage.reason(job) is None


def test_a_message_about_no_job_is_brought_again_and_then_dropped() -> None:
    stage = Stage()
    with pytest.raises(KeyError):
        work(stage.world, "a" * 26, "dispatch", 1, broken)
    assert work(stage.world, "a" * 26, "dispatch", 10, broken) == "dead letter"


def test_a_provider_that_left_the_configuration_ends_as_a_question_not_in_the_dead_letter_queue() -> None:
    stage = Stage()
    job = stage.job()
    stage.world.providers._adapters.clear()  # type: ignore[attr-defined]
    for _ in range(5):
        assert stage.receive(job) == "failed: KeyError"
    assert stage.reason(job) == "dead_letter"


def test_an_input_that_is_not_kept_any_more_asks_a_person_in_the_end() -> None:
    stage = Stage()
    job = stage.job()
    stage.store.inputs.clear()
    for _ in range(5):
        stage.receive(job)
        stage.clock.advance(900)
    assert stage.reason(job) == "dead_letter"
