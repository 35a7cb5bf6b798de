"""Reconcile: the scheduled repair pass. First each provider, then each due job; sub-minute dues inside the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from mediajobs.errors import InProgress
from mediajobs.jobs.decide import Change, decide
from mediajobs.jobs.due import (
    MINUTE,
    SECOND,
    attempt_over,
    first_due,
    first_poll,
    is_idle,
    is_resumable,
    is_urgent,
    ms,
    next_due,
)
from mediajobs.jobs.events import Absent, Gone, Moved, Status, Tick, Traits
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, Reason, State
from mediajobs.messages import Do, Progress, Report, ReportKind, Written
from mediajobs.ports import ProviderAdapter, World
from mediajobs.steps.admission import tend
from mediajobs.steps.apply import apply, record_failure, traits_of
from mediajobs.steps.dispatch import ask_to_cancel, word_of
from mediajobs.steps.publish import publish

RUN_MS = 50 * SECOND  # ends before the next tick
PAUSE_S = 1.0
AGAIN_MS = 5 * SECOND
QUICK_MS = 20 * SECOND
DAY_S = 86_400

Each = Callable[[Callable[[str], None], Iterable[str]], None]


def reconcile(world: World, tick: str, *, workers: int = 8, run_ms: int = RUN_MS) -> str:
    """One pass per tick, however often the tick is delivered; two passes at once are safe too."""
    try:
        return world.once("reconcile", [tick], lambda: _run(world, workers, run_ms))
    except InProgress:
        return "a twin of this tick is running"


def _run(world: World, workers: int, run_ms: int) -> str:
    world.metrics.count("ReconcileRuns")
    started = world.clock.now()
    for name in world.providers.names():
        _isolated(world, name, lambda name=name: tend(world, name))  # type: ignore[misc]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        looks = _serve(world, started + run_ms, lambda visit, ids: _drain(pool.map(visit, ids)))
    summary = f"looked at {looks} jobs in {world.clock.now() - started} ms"
    world.log.info("reconciled", looks=looks)
    return summary


def _drain(results: Iterable[None]) -> None:
    for _ in results:
        pass


def _serve(world: World, end: int, each: Each) -> int:
    """Look at everything that falls due before `end`; return when nothing more does, or can."""
    served: set[tuple[int, str]] = set()
    looked: list[str] = []
    first = True
    while (now := world.clock.now()) < end:
        # An entry that is still there was looked at in vain, or the index lags: the next run takes it.
        entries = [entry for entry in world.store.due(end) if entry not in served]
        if not entries:
            if not _falls_due_soon(world):
                break
            world.clock.sleep(min(AGAIN_MS, end - now) / SECOND)
            continue
        ready = [entry for entry in entries if entry[0] <= now]
        if first:
            world.metrics.count("DueLagMs", max(0, now - entries[0][0]))
        first = False
        each(lambda job_id: _visit(world, job_id, end, looked), [job_id for _, job_id in ready])
        served.update(ready)
        if not ready:
            # Sleep to the next due time, but look again meanwhile for what became due sooner.
            world.clock.sleep(max(PAUSE_S, min(entries[0][0] - now, AGAIN_MS, end - now) / SECOND))
    return len(looked)


def _falls_due_soon(world: World) -> bool:
    """A job in flight at a provider of seconds falls due within this very run, though the index had it not yet."""
    for name in world.providers.names():
        quick = first_poll(world.providers.traits(name)) < QUICK_MS
        if quick and world.store.provider(name).held:
            return True
    return False


def _visit(world: World, job_id: str, end: int, looked: list[str]) -> None:
    """Look at the job, unless the run's time is over: then the next run begins with the oldest."""
    if world.clock.now() < end:
        looked.append(job_id)
        _isolated(world, job_id, lambda: look(world, job_id))


def _isolated(world: World, name: str, work: Callable[[], None]) -> None:
    """One bad job or provider never stops the others."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 logged and counted; the job's due time brings it back
        world.metrics.count("ReconcileErrors")
        world.log.error("reconcile failed", subject=name, error=error)  # noqa: TRY400 our own log


def look(world: World, job_id: str) -> None:
    """Look at one job: move its due time on (which also keeps a twin away), then do what it needs."""
    job = world.store.load(job_id)
    if job is None or job.due_at is None:
        return
    traits = traits_of(world, job)
    now = world.clock.now()
    wanted = max(job.due_at, first_due(job, traits) or 0)
    if wanted > now:
        if job.due_at <= now:
            _move(world, job, wanted, traits)
        return
    job = apply(world, job, Tick(), traits, fresh=True).job
    taken = _move(world, job, next_due(job, traits, now, world.chance.fraction()), traits)
    if taken is None:
        return
    try:
        _act(world, taken, traits)
    except Exception as error:  # noqa: BLE001 counted on the job, which is what makes it visible
        record_failure(world, taken, "reconcile", error, traits, world.clock.now() + MINUTE)


def _move(world: World, job: Job, due_at: int, traits: Traits) -> Job | None:
    """The job with its next look noted; None: another pass has taken this look."""
    decision = decide(job, Moved(due_at=due_at), world.clock.now(), traits)
    if not isinstance(decision, Change):
        return None
    # Not through `apply`: losing this race means that somebody else looks, not that we try again.
    result = world.store.write(decision)
    return result.job if isinstance(result, Written) else None


def _act(world: World, job: Job, traits: Traits) -> None:
    if job.state in TERMINAL:
        _publish(world, job)
        return
    adapter = world.providers.get(job.provider)
    if job.adopt is not None:
        world.queues.dispatch(job.id, Do.SUBMIT)
    if job.state is State.RUNNING:
        _poll(world, job, adapter, traits)
    elif job.state is State.STORING:
        if job.attention is None:
            world.queues.store(job.id, urgent=is_urgent(job, world.clock.now()))
    else:
        _wake_or_look_up(world, job, adapter, traits)


def _publish(world: World, job: Job) -> None:
    try:
        publish(world, job)
    except InProgress:
        world.log.info("publishing elsewhere", job=job.id)


def _wake_or_look_up(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> None:
    now = world.clock.now()
    if job.wait is not None:
        return  # only a slot, a cancel or the start deadline ends a wait
    if job.state is State.PENDING or (is_idle(job) and job.attention is None) or is_resumable(job, traits, now):
        world.queues.dispatch(job.id, Do.SUBMIT)
        return
    asks = job.attention is None or job.attention.reason is Reason.AMBIGUOUS_SUBMISSION
    if traits.lookup and asks and attempt_over(job, now):
        _look_up(world, job, adapter, traits)


def _look_up(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> None:
    report = adapter.lookup(job)
    world.log.info("looked up", job=job.id, answer=str(report.kind), word=report.raw)
    if report.kind is ReportKind.WORD and report.provider_job_id:
        word = word_of(job, report)
        if word.status is Status.UNKNOWN:
            world.metrics.count("UnknownWord", provider=job.provider)
        apply(world, job, word, traits)
    elif report.kind is ReportKind.ABSENT:
        apply(world, job, Absent(), traits)
    else:
        _be_patient(world, job, report, traits)


def _be_patient(world: World, job: Job, report: Report, traits: Traits) -> None:
    """Where the provider asks for a longer wait than our own, the next look is no earlier. A lost race is no harm."""
    later = world.clock.now() + ms(report.retry_after_s or 0)
    if job.due_at is not None and later > job.due_at:
        _move(world, job, later, traits)


def _poll(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> None:
    assert job.provider_job_id is not None  # noqa: S101 running is bound
    report = adapter.poll(job, job.provider_job_id)
    world.metrics.count("Polls", provider=job.provider)
    world.log.info("polled", job=job.id, answer=str(report.kind), word=report.raw)
    if report.kind is ReportKind.GONE:
        apply(world, job, Gone(provider_job_id=job.provider_job_id), traits)
        return
    if report.kind is ReportKind.BLOCKED:
        world.metrics.count("PollBlocked", provider=job.provider)
    if report.kind is not ReportKind.WORD:
        _be_patient(world, job, report, traits)
        return
    if report.status is Status.UNKNOWN:
        world.metrics.count("UnknownWord", provider=job.provider)
    job = apply(world, job, word_of(job, report), traits).job
    if job.state is not State.RUNNING:
        return
    if report.progress is not None:
        now = world.clock.now()
        progress = Progress(percent=min(report.progress, 99), at=now, stage=report.stage)
        ttl = now // SECOND + world.settings.detail_days * DAY_S
        world.store.save_progress(job.id, progress, ttl, every_ms=SECOND)
    if job.cancel_requested:
        ask_to_cancel(world, job, adapter, traits)
