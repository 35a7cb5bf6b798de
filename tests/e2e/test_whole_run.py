"""Judgement of everything that ran: the invariants of the design, over every job of every test."""

from __future__ import annotations

from collections import Counter

import pytest

from local.stack import Stack
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from tests.e2e.client import Api
from tests.e2e.crowd import Crowd
from tests.e2e.schedule import Metronome
from tests.e2e.truth import Provider, Rows, Subscriber, heads, logged, rows, slots, until


@pytest.fixture(scope="module")
def settled(stack: Stack, crowd: Crowd, blocked: list[str]) -> Rows:
    """The table once every job has ended and is published."""

    def done() -> Rows | None:
        table = rows(stack)
        return table if all(job.published_at for job in heads(table).values()) else None

    return until(done, 200) or {}


def test_slot_rows_are_those_of_the_jobs(settled: Rows) -> None:
    """Invariant 4: a slot row exists exactly while its job holds it; at the end there is none."""
    holding = {(job.provider, job.slot): job.id for job in heads(settled).values() if job.slot}
    assert slots(settled) == holding == {}


def test_unfinished_jobs_are_looked_at(stack: Stack, settled: Rows) -> None:
    """Invariant 3: what has not ended or is not published has a due time, and what is published has none."""
    undone = {job.id: job for job in heads(rows(stack)).values() if job.state not in TERMINAL or not job.published_at}
    assert [job_id for job_id, job in undone.items() if job.due_at is None] == []
    assert [job.id for job in heads(settled).values() if job.due_at is not None] == []


def test_every_end_is_published_once(settled: Rows, subscriber: Subscriber) -> None:
    """Invariant 5: one message per ended job, under the id that its head has."""
    ids = {job.id: job.publication_id for job in heads(settled).values()}
    until(lambda: ids.keys() <= {message["request_id"] for message in subscriber.messages}, 30)
    told = Counter(message["request_id"] for message in subscriber.messages)
    assert {job_id for job_id, count in told.items() if count != 1} == set()
    assert {message["request_id"]: message["id"] for message in subscriber.messages} == ids


def test_nobody_is_charged_twice(settled: Rows, provider: Provider) -> None:
    """Invariant 2: one charge per job and submission."""
    assert {name: n for name, n in provider.ledger()["charges_by_reference"].items() if n != 1} == {}


def test_system_ended_no_job_that_lived(settled: Rows, provider: Provider) -> None:
    """Invariant 7: whatever the provider finished well has succeeded here, but for what a person or bad media ended."""
    jobs = heads(settled)
    won = {job["reference"].split(".")[0] for job in provider.ledger()["jobs"] if job["state"] == "completed"}
    excused = ("failed_by_operator", "invalid_result")
    lost = [job_id for job_id in won if not _is_accounted_for(jobs[job_id], excused)]
    assert lost == []


def _is_accounted_for(job: Job, excused: tuple[str, ...]) -> bool:
    return job.state == "succeeded" or (job.error is not None and job.error.code in excused)


def test_history_never_goes_back(settled: Rows, caller: Api, crowd: Crowd) -> None:
    """Invariant 1: versions only grow, and no state is entered after the end."""
    for job_id in crowd.ids.values():
        history = caller.job(job_id)["history"]
        versions = [entry["version"] for entry in history]
        assert versions == sorted(set(versions)), job_id
        states = [entry["to"] for entry in history if entry.get("to")]
        assert states[-1] in TERMINAL, job_id
        assert len(set(states)) == len(states), job_id


def test_no_message_was_given_up(settled: Rows, stack: Stack) -> None:
    """Whatever was killed or refused, nothing went to the dead-letter queue."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counts = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.info["queue_urls"]["dead_letter"], AttributeNames=names
    )["Attributes"]
    assert {counts[name] for name in names} == {"0"}


def test_schedule_runs_by_itself(settled: Rows, stack: Stack, metronome: Metronome) -> None:
    """Each minute's tick is a run of its own, although the emulator hands all of them the same scheduled time."""
    runs = [line for line in logged(stack, "Reconcile") if line.get("message") == "reconciled"]
    # Ours are counted after the lines are read: one that ends in between makes the schedule's part look smaller.
    assert len(runs) - metronome.runs >= 2
