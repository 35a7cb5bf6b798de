"""Store: fetch the results, check them, keep them under this run's own key, finish the job. All or none."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from mediajobs import backoff
from mediajobs.errors import InvalidMedia, LinkDead, Retryable, UnlistedHost, UnsafeUrl
from mediajobs.jobs.due import SECOND
from mediajobs.jobs.events import Event, Invalid, NoUrl, Status, Stored, Traits
from mediajobs.jobs.model import Job, Link, Output
from mediajobs.jobs.states import State
from mediajobs.messages import ReportKind
from mediajobs.ports import ProviderAdapter, World
from mediajobs.steps.apply import apply, record_failure
from mediajobs.steps.fetch import CLOSE_MS, Order, fetch
from mediajobs.steps.transfers import Transfers

WORKERS = 3  # each holds a part of 8 MiB, and the function has 256 MB
RETRY_FLOOR_MS = 15 * SECOND
RETRY_CAP_MS = 900 * SECOND


def store(world: World, job_id: str, *, workers: int = WORKERS) -> str:
    """Take one message; returns what came of it. A run that loses leaves no object behind that no job names."""
    job = world.store.load(job_id, strong=False)
    if job is None or not _is_wanted(job):  # only to do nothing is confirmed; what is done is written under a version
        job = world.store.load(job_id)
    if job is None or not _is_wanted(job):
        return "past" if job is None or job.state is not State.STORING else "a person is asked"
    adapter = world.providers.get(job.provider)
    traits = adapter.traits(job.model)
    transfers = Transfers(world, job, world.chance.token())
    if not transfers.take():
        return "another run is at it"
    try:
        event = _Results(world, job, adapter, transfers, workers).event()
    except Exception as error:  # noqa: BLE001 counted on the job, whose note schedules the next run
        pause = backoff.step(job.failures + 1, floor=RETRY_FLOOR_MS, cap=RETRY_CAP_MS)
        transfers.give_back()
        record_failure(world, job, "store", error, traits, world.clock.now() + pause)
        return f"failed: {type(error).__name__}"
    if not isinstance(event, Stored):
        transfers.give_back(afresh=True)
    return _finish(world, job, event, traits)


def _is_wanted(job: Job) -> bool:
    return job.state is State.STORING and job.attention is None


def _finish(world: World, job: Job, event: Event, traits: Traits) -> str:
    applied = apply(world, job, event, traits)
    if applied.change is None and isinstance(event, Stored):
        named = {output.key for output in applied.job.outputs}  # a run may have gone on with the other's upload
        world.objects.delete([output.key for output in event.outputs if output.key not in named])
        return "another run was first"
    return applied.change.rule if applied.change else "past"


class _Results:
    """What the results of one job turn out to be, in one run."""

    def __init__(self, world: World, job: Job, adapter: ProviderAdapter, transfers: Transfers, workers: int) -> None:
        self._world, self._job, self._adapter = world, job, adapter
        self._transfers, self._workers = transfers, workers
        self._said = ""  # by the provider, when it was asked for fresh links

    def event(self) -> Event:
        """Raises Retryable for what time may heal."""
        links = self._job.links
        if not links or _too_close(links, self._world.clock.now()):
            links = self._refresh()
        if not links:
            return NoUrl(message=f"the provider offers no link to a result of this job{self._said}")
        try:
            return Stored(outputs=self._fetch_all(links, self._transfers.run))
        except (LinkDead, InvalidMedia, UnsafeUrl) as error:
            # Once is no proof, fresh link or not: a paid result is not given up for one bad transfer.
            refused = str(error)[:120]
            self._world.log.warning("result refused", job=self._job.id, reason=str(error)[:200])
        links = self._refresh()
        if not links:
            return NoUrl(message=f"{refused}, and the provider has no other link{self._said}")
        try:
            return Stored(outputs=self._fetch_all(links, self._transfers.run + "b"))
        except (LinkDead, InvalidMedia, UnsafeUrl) as error:
            return _hopeless(error)

    def _refresh(self) -> tuple[Link, ...]:
        """Fresh links from the provider; none where it no longer says that the job succeeded."""
        world, job = self._world, self._job
        assert job.provider_job_id is not None  # noqa: S101 storing is bound
        report = self._adapter.poll(job, job.provider_job_id)
        world.metrics.count("LinkRefreshes", provider=job.provider)
        world.log.info("links refreshed", job=job.id, answer=str(report.kind), word=report.raw)
        self._said = f" (asked again, it says: {report.raw or report.kind})"
        if report.kind in (ReportKind.UNAVAILABLE, ReportKind.BLOCKED):
            raise Retryable(f"the provider gave no answer about its result: {report.kind}")  # its text is not for logs
        if report.kind is not ReportKind.WORD or report.status is not Status.SUCCEEDED:
            return ()
        return report.links

    def _fetch_all(self, links: tuple[Link, ...], run: str) -> tuple[Output, ...]:
        """Every link, or none: what was stored of a run that failed is removed."""
        rules, headers = self._adapter.link_rules(self._job.model), self._adapter.link_headers()
        done: list[Output] = []
        failed: list[int] = []

        def one(number: int) -> Output:
            key = f"results/{self._job.id}/{self._job.incarnation}/{run}/{number}"
            order = Order(
                number=number, link=links[number], rules=rules, headers=headers, key=key, going=lambda: not failed
            )
            try:
                output = fetch(self._world, order, self._transfers)
            except BaseException:
                failed.append(number)
                raise
            done.append(output)
            return output

        try:
            return each(one, len(links), self._workers, failed)
        except BaseException:
            self._world.objects.delete([output.key for output in done])
            raise


def each(one: Callable[[int], Output], count: int, workers: int, failed: list[int]) -> tuple[Output, ...]:
    """All outputs in order; the fault of the one that failed first, once none is under way any more."""
    if min(count, workers) == 1:
        return tuple(one(number) for number in range(count))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [pool.submit(one, number) for number in range(count)]
        wait(futures, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
    if failed:
        futures[failed[0]].result()
    return tuple(future.result() for future in futures)


def _hopeless(error: Exception) -> Event:
    """After a fresh link: bad media is the provider's failure. A dead link, or one to a host that our list lacks, is a
    question for a person: the file is paid for, and may be good.
    """
    if isinstance(error, LinkDead | UnlistedHost):
        return NoUrl(message=f"a fresh link does not serve either: {error}")
    return Invalid(message=f"a fresh link is no better: {error}")


def _too_close(links: tuple[Link, ...], now: int) -> bool:
    return any(link.expires_at is not None and link.expires_at - CLOSE_MS < now for link in links)
