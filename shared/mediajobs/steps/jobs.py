"""Jobs: what a caller reads, a cancel as a request, and a person's decision under the version it was asked at."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mediajobs.errors import Conflict, Forbidden, NotFound, Unprocessable
from mediajobs.jobs.events import Acknowledge, Cancel, Decision, DecisionKind, Event
from mediajobs.jobs.model import Job, Output
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import State
from mediajobs.messages import Caller, Progress
from mediajobs.pauses import Pause, PauseReason, Provider
from mediajobs.ports import World
from mediajobs.steps.apply import Applied, apply, limit_of, traits_of
from mediajobs.steps.live import Grant, grant

if TYPE_CHECKING:
    from mediajobs.steps.uploads import Served

FOR_EVER = 2**53
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """All that a caller may see of a job. `links`: output, presigned URL, its end in milliseconds."""

    job: Job
    progress: Progress | None
    metadata: dict[str, str]
    links: tuple[tuple[Output, str, int], ...] = ()
    live: Grant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """An operator's answer. `kind` is a DecisionKind's word or "acknowledge"."""

    kind: str
    attention_version: int | None = None
    provider_job_id: str | None = None


def get(world: World, caller: Caller, job_id: str) -> JobView:
    """The job, with short-lived links to its results. Raises NotFound, also for another tenant's."""
    job = _with_ends(world, _load(world, caller, job_id))
    body = world.store.input(job)
    return JobView(
        job=job,
        progress=world.store.progress(job.id),
        metadata=json.loads(body).get("metadata", {}) if body else {},
        links=_links(world, job),
        live=grant(world, job),
    )


def _links(world: World, job: Job) -> tuple[tuple[Output, str, int], ...]:
    """Links to the results, as long as the bucket's lifecycle keeps the objects."""
    now = world.clock.now()
    made = []
    for number, output in enumerate(job.outputs):
        left_s = min(world.settings.link_seconds, ((output.kept_until or 0) - now) // 1000)
        if left_s > 0:
            name = _name(job, number, output)
            url = world.objects.link(output.key, seconds=left_s, content_type=output.content_type, name=name)
            made.append((output, url, now + left_s * 1000))
    return tuple(made)


def _with_ends(world: World, job: Job) -> Job:
    """The job, each output with the time until which its object is certainly there.

    The bucket goes by what `ResultDays` is now, also for older objects; but what it has deleted under a smaller
    number before, a greater one does not bring back.
    """
    now_set = job.since + world.settings.result_days * DAY_MS
    ends = (now_set if one.kept_until is None else min(one.kept_until, now_set) for one in job.outputs)
    return replace(job, outputs=tuple(replace(one, kept_until=end) for one, end in zip(job.outputs, ends, strict=True)))


def input_file(world: World, job_id: str, token: str, name: str) -> Served:
    """A file of a job's input, for its provider. Raises NotFound without saying more."""
    from mediajobs.steps import uploads

    return uploads.serve(world, job_id, token, name)


def listing(
    world: World, caller: Caller, *, cursor: str | None, limit: int, attention: bool
) -> tuple[list[Job], str | None]:
    """The caller's jobs, newest first; or, for an operator, every job with an open question."""
    if attention:
        _operators_only(caller)
        page = world.store.list_attention(limit, cursor)
    else:
        page = world.store.list_jobs(caller.tenant, limit, cursor)
    return [_with_ends(world, job) for job in world.store.load_many(page.ids)], page.cursor


def cancel(world: World, caller: Caller, job_id: str) -> Job:
    """The job, canceled or asked to be. Raises Conflict with the fresh job where it cannot be."""
    job = _load(world, caller, job_id)
    applied = _apply(world, job, Cancel())
    if applied.ignored is not None and applied.job.state is not State.CANCELED:
        _refuse(applied)
    return applied.job


def resolve(world: World, caller: Caller, job_id: str, command: Resolution) -> Job:
    """The job after an operator's answer. Raises Conflict with the fresh job where no such question is open."""
    _operators_only(caller)
    job = _load(world, caller, job_id)
    applied = _apply(world, job, _decision(command))
    if applied.ignored is not None:
        _refuse(applied)
    world.log.info("resolved", job=job.id, decision=command.kind, rule=applied.change and applied.change.rule)
    return applied.job


def provider_state(world: World, caller: Caller, name: str) -> tuple[Provider, int]:
    """A provider's slots held and its pause, and the limit in force."""
    _operators_only(caller)
    _known(world, name)
    provider = world.store.provider(name)
    return provider, provider.limit(limit_of(world, world.providers.traits(name)))


def set_provider(
    world: World, caller: Caller, name: str, *, pause: bool | None = None, limit: int | None = None
) -> tuple[Provider, int]:
    """Pause, resume or limit a provider at once; reconcile wakes those that wait within a minute.

    A limit of 0 goes back to the configured one.
    """
    _operators_only(caller)
    _known(world, name)
    for _ in range(5):
        before = world.store.provider(name).pause
        after = before
        if pause is True:
            after = replace(after, reason=PauseReason.OPERATOR, until=FOR_EVER, note="paused by an operator")
        if pause is False:
            after = replace(Pause(), limit=after.limit, revision=after.revision)
        if limit is not None:
            after = replace(after, limit=limit or None)
        if after == before or world.store.save_pause(name, before, after):
            world.log.info("provider set", provider=name, pause=pause, limit=limit)
            return provider_state(world, caller, name)
    raise Conflict("the provider's state is changing; read it and try again")


def _load(world: World, caller: Caller, job_id: str) -> Job:
    job = world.store.load(job_id)
    if job is None or (job.tenant != caller.tenant and not caller.operator):
        raise NotFound("no such job")
    return job


def _apply(world: World, job: Job, event: Event) -> Applied:
    return apply(world, job, event, traits_of(world, job), fresh=True)


def _refuse(applied: Applied) -> None:
    assert applied.ignored is not None  # noqa: S101 the caller has looked
    if applied.ignored.why is Why.DUPLICATE:
        return
    raise Conflict(applied.ignored.says, job=applied.job)


def _decision(command: Resolution) -> Event:
    if command.kind == "acknowledge":
        if not command.provider_job_id:
            raise Unprocessable("acknowledge names the finding's provider_job_id")
        return Acknowledge(provider_job_id=command.provider_job_id)
    if command.attention_version is None:
        raise Unprocessable("name attention_version: the version of the question that you read in the job")
    if command.kind not in set(DecisionKind):
        raise Unprocessable(f"decision is one of: {', '.join(DecisionKind)}, acknowledge")
    kind = DecisionKind(command.kind)
    if kind is DecisionKind.ADOPT and not command.provider_job_id:
        raise Unprocessable("adopt names the provider_job_id of the provider's job")
    return Decision(kind=kind, attention_version=command.attention_version, provider_job_id=command.provider_job_id)


def _operators_only(caller: Caller) -> None:
    if not caller.operator:
        raise Forbidden("this needs an API key of scope operator")


def _known(world: World, name: str) -> None:
    if name not in world.providers.names():
        raise NotFound("no such provider is configured")


def _name(job: Job, number: int, output: Output) -> str:
    ending = output.content_type.rsplit("/", 1)[-1].split("+", 1)[0].removeprefix("x-")
    return f"{job.id}-{number}.{ending}"
