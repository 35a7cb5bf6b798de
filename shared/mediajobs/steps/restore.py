"""After the table was put back to an earlier moment: nothing that may have been sent since is sent a second time.

In this order, before any function sees the table: admission is closed, rows that the restore has lost are made anew
from the log of submit, and every row that may have moved since is in question. docs/restore.md is the procedure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mediajobs.jobs.birth import new_job
from mediajobs.jobs.events import Restored, Traits
from mediajobs.jobs.model import Job
from mediajobs.messages import Caller, Created
from mediajobs.ports import World
from mediajobs.steps.apply import apply, traits_of
from mediajobs.steps.jobs import FOR_EVER, set_provider

OPERATOR = Caller(tenant="operator", scope="operator")


@dataclass(frozen=True, slots=True)
class Count:
    """Rows that are in question now, and rows that go on as they are."""

    questioned: int
    left: int


def close(world: World) -> None:
    """Pause every provider; only a person ends that."""
    for name in world.providers.names():
        set_provider(world, OPERATOR, name, pause=True)


def question(world: World, only: Iterable[str] | None = None) -> Count:
    """Put every open job that may have been sent since into question, or `only` these. Safe to repeat: what is in
    question stays so.
    """
    ids = [job_id for _, job_id in world.store.due(FOR_EVER)] if only is None else list(only)
    moved = [_question(world, job_id) for job_id in ids]
    return Count(questioned=moved.count(True), left=moved.count(False))


def make_anew(world: World, lines: Iterable[Mapping[str, object]]) -> int:
    """Put the heads of jobs that were submitted after the moment of the restore; how many were missing.

    Each is in question at once. A line of a job that is there is passed over, so all lines may be given.
    """
    found: dict[str, Mapping[str, object]] = {}
    for line in lines:
        if line.get("message") in ("submitting", "submitted") and isinstance(line.get("job"), str):
            known = found.get(str(line["job"]))
            # The second line has the incarnation that was kept; the first is all there is of a run that was killed.
            if known is None or line["message"] == "submitted":
                found[str(line["job"])] = line
    return sum(_make(world, line) for line in found.values())


def _question(world: World, job_id: str) -> bool:
    job = world.store.load(job_id)
    return job is not None and apply(world, job, Restored(), traits_of(world, job), fresh=True).change is not None


def _make(world: World, line: Mapping[str, object]) -> bool:
    job = _job(world, line)
    if world.store.load(job.id) is not None or not isinstance(world.store.create(job), Created):
        return False
    apply(world, job, Restored(), traits_of(world, job))
    return True


def _job(world: World, line: Mapping[str, object]) -> Job:
    """The row as submit put it, but for its time: it is looked at from now on."""
    text = {name: str(line[name]) for name in ("job", "tenant", "provider", "model", "incarnation", "payload")}
    job = new_job(
        job_id=text["job"],
        tenant=text["tenant"],
        provider=text["provider"],
        model=text["model"],
        payload_digest=bytes.fromhex(text["payload"]),
        incarnation=text["incarnation"],
        start_within_s=int(str(line["start_within_s"])),
        traits=_traits(world, text["provider"], text["model"]),
        now=int(str(line["created_at"])),
    )
    # Without its word for relay: it was dispatched once, and nobody is to do it again.
    return replace(job, out=None)


def _traits(world: World, provider: str, model: str) -> Traits:
    try:
        return world.providers.traits(provider, model)
    except KeyError:
        return Traits(provider=provider)
