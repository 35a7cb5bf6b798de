"""Who calls, and under which key: what a request's headers and the authorizer say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mediajobs.errors import BadRequest, Unauthorized
from mediajobs.messages import Caller

SCOPES = ("user", "operator")
LONGEST_KEY = 255

_QUOTED = re.compile(r'"((?:[!#-\[\]-~]|\\["\\])*)"')
_BARE = re.compile(r"[!#-+\--~]+")  # visible ASCII but the quote and the comma
_ADVICE = (
    "Give each user action one Idempotency-Key of its own (a UUID will do) and send the same one at every retry: "
    f"1 to {LONGEST_KEY} visible ASCII characters, bare or in double quotes; a bare one holds no comma or quote."
)


def headers(event: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Every value of every header, names in lower case: API Gateway passes names as the client wrote them."""
    found: dict[str, tuple[str, ...]] = {}
    for name, values in _pairs(event.get("multiValueHeaders")):
        found[name] = found.get(name, ()) + values
    for name, values in _pairs(event.get("headers")):
        found.setdefault(name, values)
    return found


def _pairs(mapping: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not isinstance(mapping, Mapping):
        return
    for name, value in mapping.items():
        values = value if isinstance(value, list) else [value]
        yield str(name).lower(), tuple(one for one in values if isinstance(one, str))


def idempotency_key(event: Mapping[str, Any]) -> str:
    """The key without its quotes; `a` and `"a"` are the same key. Anything not plainly one key is refused."""
    values = headers(event).get("idempotency-key", ())
    if not values:
        raise BadRequest(f"The header Idempotency-Key is missing. {_ADVICE}")
    if len(values) > 1:
        raise BadRequest(f"The header Idempotency-Key came more than once. {_ADVICE}")
    text = values[0].strip(" \t")
    key = ""
    if quoted := _QUOTED.fullmatch(text):
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    elif _BARE.fullmatch(text):
        key = text
    if not 1 <= len(key) <= LONGEST_KEY:
        raise BadRequest(f"The Idempotency-Key cannot be used. {_ADVICE}")
    return key


def api_key(event: Mapping[str, Any]) -> str:
    """The one X-API-Key of the request; none or several prove nothing."""
    values = headers(event).get("x-api-key", ())
    if len(values) != 1:
        raise Unauthorized("Unauthorized")
    return values[0]


def caller(event: Mapping[str, Any]) -> Caller:
    """Who the authorizer says is calling. Nobody is assumed where it says nothing."""
    context = event.get("requestContext")
    proved = context.get("authorizer") if isinstance(context, Mapping) else None
    tenant = proved.get("tenant") if isinstance(proved, Mapping) else None
    scope = proved.get("scope") if isinstance(proved, Mapping) else None
    if not isinstance(tenant, str) or not tenant or scope not in SCOPES:
        raise Unauthorized("Send your API key in the header X-API-Key.")
    return Caller(tenant=tenant, scope=scope)
