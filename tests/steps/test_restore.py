"""After a restore: what was lost is made anew in question, so that nobody is charged for it a second time."""

from __future__ import annotations

from mediajobs.jobs.states import State
from mediajobs.steps.restore import make_anew
from mediajobs.steps.submit import birth_of
from tests.steps.kit import PLAIN, Stage


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


def test_a_row_that_is_there_is_passed_over() -> None:
    """All lines of the log may be given."""
    stage = Stage(PLAIN)
    job = stage.job()
    assert make_anew(stage.world, [{"message": "submitted", **birth_of(job)}]) == 0
    assert stage.read(job) == job
