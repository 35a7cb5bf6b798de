"""An operator's hand on callbacks: register a tenant's URL, read, rotate the secret, end."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

from mediajobs import callbacks
from mediajobs.callbacks import Ended, Registration
from mediajobs.errors import (
    Conflict,
    Forbidden,
    MediaJobsError,
    NoAnswer,
    NotFound,
    NotSent,
    Unavailable,
    Unprocessable,
    UnsafeUrl,
)
from mediajobs.messages import Caller
from mediajobs.ports import World
from mediajobs.steps.notify import listen, send

CHALLENGE = "callback.challenge"
MOST_ECHO_BYTES = 4096

# As cli/keys.py makes tenants.
_TENANT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


def read(world: World, caller: Caller, tenant: str) -> Registration:
    """The tenant's registration, also one that has ended."""
    _operators_only(caller)
    found = world.callbacks.registration(_named(tenant))
    if found is None:
        raise NotFound("No callback is registered for this tenant.")
    return found


def register(world: World, caller: Caller, tenant: str, address: str) -> tuple[Registration, str | None]:
    """Let the tenant's events go to this URL, once whoever is there has answered a challenge.

    Also the secret, where this made a new one: it is shown this once. A registration that stands keeps its secrets.
    """
    _operators_only(caller)
    before = world.callbacks.registration(_named(tenant))
    now = world.clock.now()
    if before is None or before.ended:
        secret = _fresh_secret(world)
        # A new life of the same row: the revision goes on, so that a delivery of the old one cannot write over it.
        after = callbacks.opened(tenant, address, secret, now)
    else:
        secret, after = None, callbacks.moved(before, address)
    _challenge(world, after)
    saved = _save(world, before, after)
    try:
        listen(world)
    except MediaJobsError:
        if secret is not None:
            # Its secret was shown to nobody: sent again, the same request makes another one.
            kept = replace(after, revision=(before.revision if before else 0) + 1)
            world.callbacks.save(kept, callbacks.over(kept, Ended.OPERATOR, now))
        raise
    return saved, secret


def rotate(world: World, caller: Caller, tenant: str, overlap_s: int) -> tuple[Registration, str]:
    """A new secret beside the old ones, which end after `overlap_s`; until then events are signed with each."""
    before = _standing(world, caller, tenant)
    secret = _fresh_secret(world)
    after = callbacks.rotated(before, secret, world.clock.now(), overlap_s * 1000)
    if after is None:
        raise Conflict("Too many secrets are in force; wait until the oldest has ended, or end all by overlap_s 0.")
    return _save(world, before, after), secret


def end(world: World, caller: Caller, tenant: str) -> Registration:
    """Nothing is sent to this tenant any more, what is on its way neither."""
    before = _standing(world, caller, tenant)
    saved = _save(world, before, callbacks.over(before, Ended.OPERATOR, world.clock.now()))
    listen(world)
    return saved


def _challenge(world: World, registration: Registration) -> None:
    """Only who wants our callbacks gives the challenge back; raises Unprocessable otherwise."""
    word = world.chance.token() + world.chance.token()
    body = json.dumps({"type": CHALLENGE, "challenge": word}).encode()
    try:
        answer = send(world, registration, f"challenge-{world.chance.token()}", body, most=MOST_ECHO_BYTES)
    except UnsafeUrl as error:
        raise Unprocessable(f"This URL cannot be used: {error}.", errors=_wrong("may not be reached")) from error
    except (NotSent, NoAnswer) as error:
        what = "could not be connected to" if isinstance(error, NotSent) else "gave no answer to the challenge in time"
        raise Unprocessable(f"The receiver {what}; nothing was registered.", errors=_wrong("did not answer")) from error
    if not 200 <= answer.status < 300 or not _echoes(answer.body, word):
        text = (
            'The receiver must answer the challenge with 2xx and {"challenge": …}, the word it was sent; '
            f"it answered {answer.status}. Nothing was registered."
        )
        raise Unprocessable(text, errors=_wrong("did not give the challenge back"))


def _echoes(body: bytes, word: str) -> bool:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("challenge") == word


def _wrong(message: str) -> list[dict[str, str]]:
    return [{"field": "url", "message": message}]


def _save(world: World, before: Registration | None, after: Registration) -> Registration:
    if not world.callbacks.save(before, after):
        raise Unavailable("The registration has just changed; look at it and send the request again.", retry_after_s=1)
    return after


def _standing(world: World, caller: Caller, tenant: str) -> Registration:
    found = read(world, caller, tenant)
    if found.ended:
        raise NotFound("This tenant's registration has ended; register it again.")
    return found


def _fresh_secret(world: World) -> str:
    """`whsec_` and the base64 of 52 characters with 256 random bits."""
    key = "".join(world.chance.token() for _ in range(4))
    return "whsec_" + base64.b64encode(key.encode()).decode()


def _operators_only(caller: Caller) -> None:
    if not caller.operator:
        raise Forbidden("Only a key of scope operator may do this.")


def _named(tenant: str) -> str:
    if not _TENANT.fullmatch(tenant):
        raise NotFound("There is no such tenant: up to 50 lower-case letters, digits and dashes.")
    return tenant
