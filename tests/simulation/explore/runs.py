"""What an invocation runs: the product's own steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mediajobs.messages import Caller, Delivery, Do
from mediajobs.ports import World
from mediajobs.signatures import url_token
from mediajobs.steps import admission, jobs, reconcile, restore, webhook
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.relay import relay
from mediajobs.steps.store import store
from mediajobs.steps.submit import Submission, submit
from mediajobs.steps.worker import RECEIVES_ENOUGH, work
from tests.simulation.explore.ports import BODY, SECRET
from tests.simulation.explore.provider_port import PROVIDER
from tests.simulation.explore.state import IDS
from tests.simulation.explore.tape import Run

OPERATOR = Caller(tenant="a", scope="operator")


def _dispatch(world: World, args: tuple[Any, ...]) -> object:
    job, do = args
    return work(world, IDS[job], "dispatch", 1, lambda: dispatch(world, IDS[job], Do(do)))


def _store(world: World, args: tuple[Any, ...]) -> object:
    return work(world, IDS[args[0]], "store", 1, lambda: store(world, IDS[args[0]]))


def _dead(world: World, args: tuple[Any, ...]) -> object:
    job, step = args
    return work(world, IDS[job], step, RECEIVES_ENOUGH, lambda: "never reached")


def _look(world: World, args: tuple[Any, ...]) -> None:
    reconcile.look(world, IDS[args[0]])


def _tend(world: World, args: tuple[Any, ...]) -> None:
    admission.tend(world, PROVIDER)


def _webhook(world: World, args: tuple[Any, ...]) -> object:
    job, incarnation, submission, said = args
    ref = None
    if submission is not None:
        ref = f"{IDS[job]}.{submission}.{url_token(SECRET, IDS[job], incarnation, submission)}"
    return webhook.take(world, Delivery(provider=PROVIDER, ref=ref, headers={}, body=said.encode()))


def _cancel(world: World, args: tuple[Any, ...]) -> object:
    return jobs.cancel(world, OPERATOR, IDS[args[0]])


def _person(world: World, args: tuple[Any, ...]) -> object:
    job, word, version, provider_job_id = args
    command = jobs.Resolution(kind=word, attention_version=version, provider_job_id=provider_job_id)
    return jobs.resolve(world, OPERATOR, IDS[job], command)


def _publish(world: World, args: tuple[Any, ...]) -> object:
    """Relay, with the row as the stream brought it, which may be long past."""
    store: Any = world.store
    return relay(world, replace(store.image(args[0]), out="publish"))


def _operator(world: World, args: tuple[Any, ...]) -> object:
    return jobs.set_provider(world, OPERATOR, PROVIDER, pause=args[0])


def _client(world: World, args: tuple[Any, ...]) -> object:
    job, tenant, start_within_s = args
    command = Submission(provider=PROVIDER, model="m", body=BODY, digest=b"\0" * 32, start_within_s=start_within_s)
    return submit(world, Caller(tenant=tenant, scope="user"), f"key {job}", command)


def _question(world: World, args: tuple[Any, ...]) -> object:
    return restore.question(world, [IDS[args[0]]])


def _anew(world: World, args: tuple[Any, ...]) -> object:
    """From what submit has logged."""
    job, tenant, incarnation, start_within_s, created_at = args
    line = {
        "message": "submitted", "job": IDS[job], "tenant": tenant, "provider": PROVIDER, "model": "m",
        "incarnation": incarnation, "payload": bytes(32).hex(), "start_within_s": start_within_s,
        "created_at": created_at,
    }  # fmt: skip
    return restore.make_anew(world, [line])


RUNS: dict[str, Run] = {
    "dispatch": _dispatch,
    "store": _store,
    "dead": _dead,
    "look": _look,
    "tend": _tend,
    "webhook": _webhook,
    "cancel": _cancel,
    "person": _person,
    "publish": _publish,
    "operator": _operator,
    "client": _client,
    "question": _question,
    "anew": _anew,
}
