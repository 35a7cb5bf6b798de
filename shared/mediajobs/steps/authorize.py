"""An API key is known by its SHA-256 only; the table never holds one."""

from __future__ import annotations

import hashlib
import re

from mediajobs.messages import Caller
from mediajobs.ports import Store

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
