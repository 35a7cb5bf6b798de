"""After a restore: what was lost is made anew in question, so that nobody is charged for it a second time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.jobs.states import State
from mediajobs.steps.restore import make_anew
from mediajobs.steps.submit import birth_of
from tests.steps.kit import PLAIN, Killed, Stage, die


def test_a_row_made_anew_is_in_question_from_its_first_moment() -> None:
    """Whoever stops the procedure after this step, or dies in it, leaves nothing that would be sent afresh."""
    before, after = Stage(PLAIN), Stage(PLAIN)
    job = before.job()
    before.sim.accept("p-1")
    before.dispatch(job)
    line = {"message": "submitted", **birth_of(job)}
    assert make_anew(after.world, [line]) == 1
    made = after.read(job)
    assert (made.state, made.unsettled, made.incarnation) == (State.SUBMITTING, True, job.incarnation)
    after.relay()
    assert after.sent() == []
    after.clock.advance(90)
    assert after.dispatch(job) == "not now"
    assert after.sim.submits == []


def test_a_procedure_that_dies_right_after_the_row_leaves_nothing_that_would_be_sent_afresh() -> None:
    before, after = Stage(PLAIN), Stage(PLAIN)
    job = before.job()
    after.store.before_write = [die]
    with pytest.raises(Killed):
        make_anew(after.world, [{"message": "submitted", **birth_of(job)}])
    made = after.read(job)
    assert (made.state, made.out) == (State.PENDING, None), "relay would dispatch it"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_of_several_lines_of_a_job_that_of_the_row_that_was_kept_counts(order: tuple[int, ...]) -> None:
    """A twin's submit that lost has another incarnation in its first line, and the winner's in its second."""
    before, after = Stage(PLAIN), Stage(PLAIN)
    job = before.job()
    lost = replace(job, incarnation="z" * len(job.incarnation))
    lines = [
        {"message": "submitting", **birth_of(lost)},
        {"message": "submitting", **birth_of(job)},
        {"message": "submitted", **birth_of(job)},
    ]
    assert make_anew(after.world, [lines[number] for number in order]) == 1
    assert after.read(job).incarnation == job.incarnation


def test_a_row_that_is_there_is_passed_over() -> None:
    """All lines of the log may be given."""
    stage = Stage(PLAIN)
    job = stage.job()
    assert make_anew(stage.world, [{"message": "submitted", **birth_of(job)}]) == 0
    assert stage.read(job) == job
