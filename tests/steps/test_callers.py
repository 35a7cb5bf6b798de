"""What a caller does with a job: reads by tenant, and a cancel as a request on which the provider's word decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs import views
from mediajobs.errors import Conflict, NotFound
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Caller, Do, Progress, Report, ReportKind
from mediajobs.steps.jobs import DAY_MS, cancel, get, listing
from tests.steps.kit import ACME, KEYED, OPERATOR, Stage

OTHER = Caller(tenant="other", scope="user")


# -- reading


def test_a_job_is_shown_to_its_tenant_and_to_operators_only() -> None:
    stage = Stage()
    job = stage.job()
    assert get(stage.world, ACME, job.id).job == job
    assert get(stage.world, OPERATOR, job.id).job == job
    with pytest.raises(NotFound):
        get(stage.world, OTHER, job.id)
    with pytest.raises(NotFound):
        get(stage.world, ACME, "b" * 26)


def test_a_job_is_shown_with_its_metadata_and_progress() -> None:
    stage = Stage()
    job = stage.running()
    stage.store.save_progress(job.id, Progress(percent=40, at=1), 1, every_ms=1000)
    view = get(stage.world, ACME, job.id)
    assert view.metadata == {"n": "first"}
    assert view.progress is not None
    assert view.progress.percent == 40


def test_results_have_short_links_as_long_as_the_bucket_keeps_them() -> None:
    stage = Stage()
    job = stage.succeeded()
    ((output, url, until),) = get(stage.world, ACME, job.id).links
    assert output.key in url
    assert f"{job.id}-0.mp4" in url
    assert until == stage.clock.now() + 900_000
    stage.clock.advance(30 * 86_400)
    assert get(stage.world, ACME, job.id).links == ()


def kept(stage: Stage, job: Job, days: int) -> Job:
    """The job, its output stored while `ResultDays` was that."""
    (output,) = stage.read(job).outputs
    stage.store.jobs[job.id] = replace(
        stage.read(job), outputs=(replace(output, kept_until=stage.clock.now() + days * DAY_MS),)
    )
    return stage.read(job)


def test_a_link_ends_with_its_object_at_the_latest() -> None:
    """The last one of its life is shorter than usual."""
    stage = Stage()
    job = kept(stage, stage.succeeded(), 30)
    stage.clock.advance(30 * 86_400 - 60)
    ((output, url, until),) = get(stage.world, ACME, job.id).links
    assert (output.kept_until, url.count("expires=60&")) == (until, 1)


@pytest.mark.parametrize(("stored_under", "now_set", "days"), [(30, 30, 30), (30, 7, 7), (30, 90, 30)])
def test_the_number_of_days_may_change_and_no_job_points_at_what_is_gone(
    stored_under: int, now_set: int, days: int
) -> None:
    """A smaller number holds for what is there already; a greater one does not bring back what was deleted."""
    stage = Stage()
    job = kept(stage, stage.succeeded(), stored_under)
    stage.world = replace(stage.world, settings=replace(stage.world.settings, result_days=now_set))
    stage.clock.advance(days * 86_400 - 1)
    assert len(get(stage.world, ACME, job.id).links) == 1
    stage.clock.advance(1)
    view = get(stage.world, ACME, job.id)
    assert view.links == ()
    (listed,), _ = listing(stage.world, ACME, cursor=None, limit=5, attention=False)
    for shown in (view.job, listed):
        assert views.public(shown, now=stage.clock.now())["outputs"][0]["expired"] is True


def test_a_list_has_the_tenants_own_jobs_newest_first_page_by_page() -> None:
    stage = Stage()
    jobs = []
    for number in range(5):
        jobs.append(stage.job(f"job-{number}"))
        stage.clock.advance(1)
    stage.job("foreign", tenant="other")
    first, cursor = listing(stage.world, ACME, cursor=None, limit=3, attention=False)
    rest, end = listing(stage.world, ACME, cursor=cursor, limit=3, attention=False)
    assert [job.id for job in [*first, *rest]] == [job.id for job in reversed(jobs)]
    assert end is None


# -- cancel


def test_a_pending_or_idle_job_is_canceled_at_once_and_again_is_the_same() -> None:
    stage = Stage()
    job = stage.job()
    assert cancel(stage.world, ACME, job.id).state is State.CANCELED
    assert cancel(stage.world, ACME, job.id).version == 2
    idle = stage.job("idle")
    stage.sim.answer(AnswerKind.NOT_ACCEPTED)
    stage.dispatch(idle)
    assert cancel(stage.world, ACME, idle.id).state is State.CANCELED


@pytest.mark.parametrize("make", ["unsure", "running"])
def test_a_cancel_of_a_job_the_provider_may_have_is_a_request_and_again_is_the_same(make: str) -> None:
    stage = Stage()
    job = getattr(stage, make)()
    asked = cancel(stage.world, ACME, job.id)
    assert (asked.cancel_requested, asked.state) == (True, job.state)
    assert cancel(stage.world, ACME, job.id).version == asked.version


def test_where_the_provider_cannot_cancel_the_answer_says_so_and_nothing_is_noted() -> None:
    stage = Stage(replace(KEYED, cancel=False))
    job = stage.running()
    with pytest.raises(Conflict, match="cannot cancel") as refused:
        cancel(stage.world, ACME, job.id)
    assert refused.value.members["job"] == stage.read(job)
    assert not stage.read(job).cancel_requested


@pytest.mark.parametrize("make", ["storing", "succeeded"])
def test_storing_and_ended_jobs_are_a_conflict_with_the_fresh_job(make: str) -> None:
    stage = Stage()
    job = getattr(stage, make)()
    with pytest.raises(Conflict) as refused:
        cancel(stage.world, ACME, job.id)
    assert refused.value.members["job"] == stage.read(job)


def test_another_tenants_job_is_not_canceled() -> None:
    stage = Stage()
    job = stage.job()
    with pytest.raises(NotFound):
        cancel(stage.world, OTHER, job.id)
    assert stage.state(job) is State.PENDING


def test_a_cancel_that_races_with_the_claim_is_decided_again() -> None:
    stage = Stage()
    job = stage.job()

    def claimed(_: object) -> None:
        stage.sim.accept("p-1")
        stage.dispatch(job)

    stage.store.before_write = [claimed]
    asked = cancel(stage.world, ACME, job.id)
    assert (asked.state, asked.cancel_requested) == (State.RUNNING, True)


def test_a_jobs_cancel_of_a_provider_that_left_the_configuration_still_works_while_pending() -> None:
    stage = Stage()
    job = stage.job()
    stage.store.jobs[job.id] = replace(job, provider="gone")
    assert cancel(stage.world, ACME, job.id).state is State.CANCELED


# -- the cancel at the provider


def canceling(report: Report) -> tuple[Stage, Job, str]:
    stage = Stage()
    job = stage.running()
    cancel(stage.world, ACME, job.id)
    stage.sim.report("cancel", report)
    return stage, job, stage.dispatch(job, Do.CANCEL)


def word(status: Status) -> Report:
    return Report(kind=ReportKind.WORD, status=status, provider_job_id="p-1", raw=str(status))


@pytest.mark.parametrize(
    ("report", "state"),
    [
        (word(Status.CANCELED), State.CANCELED),
        (word(Status.SUCCEEDED), State.STORING),
        (word(Status.FAILED), State.FAILED),
        (word(Status.RUNNING), State.RUNNING),
        (word(Status.UNKNOWN), State.RUNNING),
        (Report(kind=ReportKind.REFUSED), State.RUNNING),
        (Report(kind=ReportKind.UNAVAILABLE), State.RUNNING),
        (Report(kind=ReportKind.GONE), State.RUNNING),
        (Report(kind=ReportKind.BLOCKED), State.RUNNING),
    ],
    ids=lambda value: str(getattr(value, "status", value)) + str(getattr(value, "kind", "")),
)
def test_the_providers_word_decides(report: Report, state: State) -> None:
    stage, job, outcome = canceling(report)
    assert (outcome, stage.state(job)) == ("asked", state)


def test_a_cancel_message_about_a_job_that_nobody_canceled_asks_nothing() -> None:
    stage = Stage()
    job = stage.running()
    assert stage.dispatch(job, Do.CANCEL) == "not now"


def test_a_doubtful_job_is_resumed_to_learn_its_id_and_then_canceled() -> None:
    stage = Stage()
    job = stage.unsure()
    cancel(stage.world, ACME, job.id)
    stage.relay()
    assert (job.id, "cancel", 0) in stage.sent()
    stage.sim.accept("p-1")
    assert stage.dispatch(job, Do.CANCEL) == "accepted"
    stage.relay()
    assert stage.sent() == [(job.id, "cancel", 0)]
    stage.sim.report("cancel", word(Status.CANCELED))
    stage.dispatch(job, Do.CANCEL)
    assert stage.state(job) is State.CANCELED
