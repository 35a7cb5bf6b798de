"""The guarded write: lost races decide again, ignores are confirmed, evidence finds its row, ids are bound once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import Throttled, WriteConflict
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import Answered, AnswerKind, Cancel, Status, Tick, Word
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import Source, State
from mediajobs.steps.apply import RACES, apply, traits_of
from tests.fakes.jobs import changed
from tests.steps.kit import KEYED, LOOKED_UP, PLAIN, Stage


def poll(status: Status, provider_job_id: str = "p-1") -> Word:
    return Word(status=status, provider_job_id=provider_job_id, submission=1, source=Source.POLL, raw=str(status))


def test_a_lost_race_decides_again_on_the_row_that_won() -> None:
    """A webhook gets ahead of the accepted answer: the answer is then no news."""
    stage = Stage()
    job = stage.job()
    stage.sim.accept("p-1")
    stage.sim.during_submit = lambda _: stage.say(job, Status.SUCCEEDED)
    assert stage.dispatch(job) == "stale"
    assert stage.state(job) is State.STORING
    assert stage.held() == {}


def test_a_decision_to_ignore_is_confirmed_on_a_fresh_read() -> None:
    """An event that seems to come too early is not lost because the row that was read is old."""
    stage = Stage()
    old = stage.job()
    stage.sim.accept("p-1")
    stage.dispatch(old)
    applied = apply(stage.world, old, poll(Status.SUCCEEDED), KEYED)
    assert applied.change is not None
    assert applied.job.state is State.STORING


def test_an_ignore_on_a_fresh_row_stands() -> None:
    stage = Stage()
    job = stage.job()
    applied = apply(stage.world, job, poll(Status.SUCCEEDED), KEYED, fresh=True)
    assert applied.ignored is not None
    assert applied.ignored.why is Why.UNKNOWN


def test_our_own_write_that_was_sent_twice_counts_once() -> None:
    stage = Stage()
    job = stage.job()
    stage.store.resend = True
    applied = apply(stage.world, job, Cancel(), KEYED)
    assert applied.change is not None
    assert stage.read(job).version == 2


@pytest.mark.parametrize(("fault", "error"), [("conflicts", WriteConflict), ("throttles", Throttled)])
def test_load_and_conflicts_raise_so_that_somebody_tries_again(fault: str, error: type[Exception]) -> None:
    stage = Stage()
    job = stage.job()
    setattr(stage.store, fault, 1)
    with pytest.raises(error):
        apply(stage.world, job, Cancel(), KEYED)
    assert apply(stage.world, job, Cancel(), KEYED).job.state is State.CANCELED


def test_a_row_that_never_stands_still_raises_instead_of_looping() -> None:
    stage = Stage()
    job = stage.job()

    def ahead(_: Change) -> None:
        current = stage.read(job)
        stage.store._write(current, replace(current, version=current.version + 1))

    stage.store.before_write = [ahead] * RACES
    with pytest.raises(WriteConflict):
        apply(stage.world, job, Cancel(), KEYED)


def test_a_job_that_is_no_longer_kept_is_unknown() -> None:
    stage = Stage()
    job = stage.job()
    del stage.store.jobs[job.id]
    applied = apply(stage.world, job, Cancel(), KEYED)
    assert applied.ignored is not None
    assert applied.ignored.why is Why.UNKNOWN


def test_what_was_said_of_an_earlier_job_of_the_same_key_does_not_touch_the_later_one() -> None:
    stage = Stage()
    old = stage.succeeded()
    del stage.store.jobs[old.id]
    new = stage.job()
    assert new.incarnation != old.incarnation
    assert apply(stage.world, old, Cancel(), KEYED).change is None
    assert apply(stage.world, replace(old, state=State.PENDING, version=1), Cancel(), KEYED).change is None
    assert stage.state(new) is State.PENDING


def test_evidence_takes_a_free_number_first() -> None:
    stage = Stage(PLAIN, limit=2)
    job = stage.unsure()
    stage.clock.advance(7200)
    stage.apply(job, Tick())
    assert stage.held() == {}
    stage.say(job, Status.RUNNING)
    assert stage.held() in ({"001": job.id}, {"002": job.id})


def test_evidence_beyond_the_limit_takes_the_extra_row() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(7200)
    stage.apply(job, Tick())
    other = stage.running("other", "p-2")
    stage.say(job, Status.RUNNING)
    assert stage.held() == {"001": other.id, f"over#{job.id}": job.id}


def test_evidence_that_loses_the_race_for_a_number_takes_the_extra_row() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(7200)
    stage.apply(job, Tick())

    def other_gets_it(_: Change) -> None:
        stage.store.rows["sim"]["001"] = "somebody"

    stage.store.before_write = [other_gets_it]
    stage.say(job, Status.RUNNING)
    assert stage.read(job).slot == f"over#{job.id}"


def test_an_id_that_a_lookup_brought_is_reserved_before_it_is_bound() -> None:
    stage = Stage(LOOKED_UP)
    job = stage.unsure()
    apply(stage.world, job, poll(Status.RUNNING, "p-9"), LOOKED_UP)
    assert stage.store.bindings == {("sim", "p-9"): job.id}
    assert stage.read(job).provider_job_id == "p-9"


def test_an_id_that_is_another_jobs_binds_nothing_and_raises_attention() -> None:
    stage = Stage(LOOKED_UP)
    stage.store.bind("sim", "p-9", "another")
    job = stage.unsure()
    apply(stage.world, job, poll(Status.RUNNING, "p-9"), LOOKED_UP)
    assert (stage.state(job), stage.read(job).provider_job_id) == (State.SUBMITTING, None)
    assert stage.reason(job) == "ambiguous_submission"


def test_our_own_answer_and_url_cost_no_reservation() -> None:
    stage = Stage(limit=2)
    stage.running()
    job = stage.killed("second")
    stage.say(job, Status.RUNNING, "p-2")
    assert stage.store.bindings == {}


def test_with_one_url_for_the_account_our_own_answers_id_is_reserved_too() -> None:
    stage = Stage(replace(KEYED, account_webhooks=True))
    job = stage.running()
    assert stage.store.bindings == {("sim", "p-1"): job.id}


def test_an_answer_with_another_jobs_id_binds_nothing_and_is_not_asked_for_again_and_again() -> None:
    """H20: a provider that replays another job's answer would do so at each retry."""
    stage = Stage(replace(KEYED, account_webhooks=True))
    stage.store.bind("sim", "p-1", "another")
    job = stage.job()
    stage.sim.accept("p-1")
    stage.dispatch(job)
    assert (stage.read(job).provider_job_id, stage.reason(job)) == (None, "ambiguous_submission")
    stage.clock.advance(90)
    assert stage.dispatch(job) == "not now"


def test_a_canceled_or_expired_waiting_job_gives_its_turn_back() -> None:
    for end in (Cancel(), Tick()):
        stage = Stage()
        stage.running()
        job = stage.job("second", start_within_s=600)
        assert stage.dispatch(job) == "turned away"
        turn = stage.store.turns["sim", "acme"]
        stage.clock.advance(600)
        stage.apply(job, end)
        assert stage.store.turns["sim", "acme"] == turn - 1


def test_attention_is_counted_once_per_question() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    assert stage.metrics.counted["AttentionRaised"] == 1
    answer = Answered(kind=AnswerKind.REJECTED, token="x", submission=1)
    apply(stage.world, job, answer, PLAIN)
    assert stage.metrics.counted["AttentionRaised"] == 1


def test_a_provider_that_left_the_configuration_has_traits_all_the_same() -> None:
    stage = Stage()
    job = replace(stage.job(), provider="gone")
    assert traits_of(stage.world, job).provider == "gone"


def test_the_written_job_is_what_the_caller_goes_on_with() -> None:
    stage = Stage()
    job = stage.job()
    applied = apply(stage.world, job, Cancel(), KEYED)
    assert applied.job == stage.read(job)
    assert isinstance(stage.store.write(changed(applied.job)), object)
