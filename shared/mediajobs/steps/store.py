"""Store: fetch the results, check them, keep them under this run's own key, finish the job. All or none."""

from __future__ import annotations

from mediajobs import backoff
from mediajobs.errors import InvalidMedia, LinkDead, Retryable, UnsafeUrl
from mediajobs.jobs.due import SECOND
from mediajobs.jobs.events import Event, Invalid, NoUrl, Status, Stored, Traits
from mediajobs.jobs.model import Job, Link, Output
from mediajobs.jobs.states import State
from mediajobs.messages import ReportKind
from mediajobs.ports import ProviderAdapter, World
from mediajobs.steps.apply import apply, record_failure
from mediajobs.steps.fetch import fetch

CLOSE_MS = 20 * SECOND
RETRY_FLOOR_MS = 15 * SECOND
RETRY_CAP_MS = 900 * SECOND


def store(world: World, job_id: str) -> str:
    """Take one message; returns what came of it. A run that loses leaves no object behind that a job names."""
    job = world.store.load(job_id, strong=False)
    if job is None or not _is_wanted(job):  # only to do nothing is confirmed; what is done is written under a version
        job = world.store.load(job_id)
    if job is None or not _is_wanted(job):
        return "past" if job is None or job.state is not State.STORING else "a person is asked"
    adapter = world.providers.get(job.provider)
    traits = adapter.traits(job.model)
    run = world.chance.token()
    try:
        event = _results(world, job, adapter, run)
    except Exception as error:  # noqa: BLE001 counted on the job, whose note schedules the next run
        wait = backoff.step(job.failures + 1, floor=RETRY_FLOOR_MS, cap=RETRY_CAP_MS)
        record_failure(world, job, "store", error, traits, world.clock.now() + wait)
        return f"failed: {type(error).__name__}"
    return _finish(world, job, event, traits)


def _is_wanted(job: Job) -> bool:
    return job.state is State.STORING and job.attention is None


def _finish(world: World, job: Job, event: Event, traits: Traits) -> str:
    applied = apply(world, job, event, traits)
    if applied.change is None and isinstance(event, Stored):
        world.objects.delete([output.key for output in event.outputs])
        return "another run was first"
    return applied.change.rule if applied.change else "past"


def _results(world: World, job: Job, adapter: ProviderAdapter, run: str) -> Event:
    """What the results turned out to be. Raises Retryable for what time may heal."""
    links = job.links
    if not links or _too_close(links, world.clock.now()):
        links = _refresh(world, job, adapter)
    if not links:
        return NoUrl(message="the provider offers no link to a result of this job")
    try:
        return Stored(outputs=_fetch_all(world, job, adapter, links, run))
    except (LinkDead, InvalidMedia, UnsafeUrl) as error:
        # Once is no proof, fresh link or not: a paid result is not given up for one bad transfer.
        world.log.warning("result refused", job=job.id, reason=str(error)[:200])
    links = _refresh(world, job, adapter)
    if not links:
        return NoUrl(message="the link does not serve and the provider has no other")
    try:
        return Stored(outputs=_fetch_all(world, job, adapter, links, run + "b"))
    except (LinkDead, InvalidMedia, UnsafeUrl) as error:
        return _hopeless(error)


def _hopeless(error: Exception) -> Event:
    """After a fresh link: bad media is the provider's failure, a dead link is a question for a person."""
    if isinstance(error, LinkDead):
        return NoUrl(message=f"a fresh link does not serve either: {error}")
    return Invalid(message=f"a fresh link is no better: {error}")


def _too_close(links: tuple[Link, ...], now: int) -> bool:
    return any(link.expires_at is not None and link.expires_at - CLOSE_MS < now for link in links)


def _refresh(world: World, job: Job, adapter: ProviderAdapter) -> tuple[Link, ...]:
    """Fresh links from the provider; none where it no longer says that the job succeeded."""
    assert job.provider_job_id is not None  # noqa: S101 storing is bound
    report = adapter.poll(job, job.provider_job_id)
    world.metrics.count("LinkRefreshes", provider=job.provider)
    world.log.info("links refreshed", job=job.id, answer=str(report.kind), word=report.raw)
    if report.kind in (ReportKind.UNAVAILABLE, ReportKind.BLOCKED):
        raise Retryable(f"the provider gave no answer about its result: {report.message}")
    if report.kind is not ReportKind.WORD or report.status is not Status.SUCCEEDED:
        return ()
    return report.links


def _fetch_all(
    world: World, job: Job, adapter: ProviderAdapter, links: tuple[Link, ...], run: str
) -> tuple[Output, ...]:
    """Every link, or none: what was stored of a run that failed is removed."""
    rules = adapter.link_rules(job.model)
    outputs: list[Output] = []
    try:
        for number, link in enumerate(links):
            key = f"results/{job.id}/{job.incarnation}/{run}/{number}"
            outputs.append(fetch(link, rules, adapter.link_headers(), world.http, world.objects, key))
    except BaseException:
        world.objects.delete([output.key for output in outputs])
        raise
    return tuple(outputs)
