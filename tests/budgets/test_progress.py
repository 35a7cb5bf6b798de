"""Progress comes many times a second and is kept at most once a second, beside the job."""

from __future__ import annotations

from mediajobs.jobs.events import Status
from mediajobs.steps.webhook import take
from tests.budgets.progress import kept_by_many, kept_of_a_thousand
from tests.steps.kit import Stage


def test_a_thousand_events_in_ten_seconds_are_eleven_requests_at_most() -> None:
    """Refused writes are billed too, so those that would be refused are not even sent."""
    assert kept_of_a_thousand() <= 11


def test_many_functions_at_once_hardly_pay_for_refused_writes() -> None:
    """A refused write tells when the last one was kept: each function is refused once a second at most."""
    table = kept_by_many(8)
    assert table.writes <= 11
    assert table.refused <= 8 * 10


def test_a_thousand_events_write_no_job() -> None:
    """The handler's step: at most eleven are kept, and the job's own row is never written."""
    stage = Stage()
    job = stage.running()
    written = len(stage.store.writes)
    verdicts = []
    for number in range(1000):
        delivery = stage.sim.delivery(
            stage.ref(job), "p-1", Status.RUNNING, event_id=f"e{number}", progress=number // 11
        )
        verdicts.append(take(stage.world, delivery)[1])
        stage.clock.advance(0.01)
    assert verdicts.count("progress") <= 11
    assert verdicts.count("progress") + verdicts.count("throttled") == 1000
    assert len(stage.store.writes) == written
    assert stage.read(job).version == job.version
