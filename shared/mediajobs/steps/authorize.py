"""Who is let in: an API key is known by its SHA-256 only, a live token by its signature; the table holds neither."""

from __future__ import annotations

import hashlib
import re

from mediajobs.messages import Caller
from mediajobs.ports import Store, World
from mediajobs.signatures.channels import opened_by

SCOPES = ("user", "operator")

# Long enough not to be guessed; whatever else is sent costs no read.
_FORM = re.compile(r"[A-Za-z0-9_-]{20,200}")


def authorize(store: Store, api_key: str) -> Caller | None:
    """Who this key belongs to; None for every key that is not plainly somebody's."""
    if not _FORM.fullmatch(api_key):
        return None
    found = store.api_key(hashlib.sha256(api_key.encode()).hexdigest())
    if found is None:
        return None
    tenant, scope = found
    if not tenant or scope not in SCOPES:
        return None
    return Caller(tenant=tenant, scope=scope)


def may_listen(world: World, token: str, operation: str, channel: str | None) -> bool:
    """A token lets its holder connect, and subscribe to its one channel, written exactly so; publish never.

    AppSync's own pages write channels with and without the first slash, so both stand for it. A rotated secret is
    fetched once.
    """
    own = next((found for refresh in (False, True) if (found := _opened(world, token, refresh=refresh))), None)
    if own is None:
        return False
    if operation == "EVENT_CONNECT":
        return not channel
    return operation == "EVENT_SUBSCRIBE" and channel in (own, own[1:])


def _opened(world: World, token: str, *, refresh: bool) -> str | None:
    return opened_by(world.secrets.tokens(refresh=refresh), token, world.clock.now())
