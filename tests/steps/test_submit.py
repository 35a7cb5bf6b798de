"""Submit: the input first, then the job; a replay is the same job, another payload is refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from mediajobs.errors import Unprocessable
from mediajobs.jobs.model import request_id
from mediajobs.jobs.states import State
from mediajobs.messages import Caller
from mediajobs.steps.submit import Submission, submit
from tests.steps.kit import ACME, Stage

BODY = b'{"input":{"prompt":"a red bicycle leaning on a garden wall"}}'
COMMAND = Submission(provider="sim", model="video-1", body=BODY, digest=hashlib.sha256(BODY).digest())


def test_a_new_job_is_pending_and_wakes_dispatch() -> None:
    stage = Stage()
    job, replayed = submit(stage.world, ACME, "order-1", COMMAND)
    assert (job.state, job.version, job.out, replayed) == (State.PENDING, 1, "dispatch", False)
    assert job.id == request_id("acme", "order-1")
    assert job.start_deadline == stage.clock.now() + 86_400_000


def test_the_input_is_kept_before_the_job_exists() -> None:
    """A crash in between leaves an input that nobody names, never a job without one."""
    stage = Stage()

    def create(job: object) -> None:
        assert stage.store.inputs
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        submit(replace(stage.world, create=create), ACME, "order-1", COMMAND)  # type: ignore[arg-type]
    assert stage.store.jobs == {}
    job, replayed = submit(stage.world, ACME, "order-1", COMMAND)
    assert not replayed
    assert stage.store.input(job) == BODY


def test_a_replay_is_the_job_as_it_is_now() -> None:
    stage = Stage()
    first = submit(stage.world, ACME, "order-1", COMMAND)[0]
    stage.sim.accept("p-1")
    stage.dispatch(first)
    stage.clock.advance(60)
    again, replayed = submit(stage.world, ACME, "order-1", COMMAND)
    assert replayed
    assert (again.id, again.incarnation, again.state) == (first.id, first.incarnation, State.RUNNING)
    assert len(stage.sim.submits) == 1


def test_a_key_used_with_another_payload_is_refused_and_changes_nothing() -> None:
    stage = Stage()
    first = submit(stage.world, ACME, "order-1", COMMAND)[0]
    other = replace(COMMAND, digest=b"\1" * 32)
    with pytest.raises(Unprocessable):
        submit(stage.world, ACME, "order-1", other)
    assert stage.read(first) == first
    assert stage.store.input(first) == BODY


def test_the_same_key_of_two_tenants_is_two_jobs() -> None:
    stage = Stage()
    ids = {
        submit(stage.world, Caller(tenant=tenant, scope="user"), key, COMMAND)[0].id
        for tenant, key in (("acme", "order-1"), ("other", "order-1"), ("x", "a#b"), ("x#a", "b"))
    }
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"provider": "nobody"}, "sim"),
        ({"model": "video-9"}, "video-1"),
        ({"body": b'{"input":{"prompt":""}}'}, "prompt"),
    ],
    ids=["provider", "model", "input"],
)
def test_what_cannot_be_right_is_refused_before_anything_is_kept(change: dict[str, object], text: str) -> None:
    stage = Stage()
    with pytest.raises(Unprocessable, match=text):
        submit(stage.world, ACME, "order-1", replace(COMMAND, **change))  # type: ignore[arg-type]
    assert (stage.store.jobs, stage.store.inputs) == ({}, {})


def test_a_put_that_was_sent_twice_is_no_replay() -> None:
    stage = Stage()
    stage.store.resend = True
    assert submit(stage.world, ACME, "order-1", COMMAND)[1] is False
