"""When a link ends, by what it says of itself, and how times are written. Pure.

A provider may say nothing, or less than the truth: a signed link carries its end in itself, and storage keeps to that.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST = 1e9  # 2001 as seconds: what is less is a duration perhaps, but no time
# Seconds reach the year 5138 before they are taken for milliseconds (then of 1973); and so on by thousands.
_SCALES = ((1e11, 1000.0), (1e14, 1.0), (1e17, 1e-3), (1e20, 1e-6))
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")
_DATED = re.compile(r"(x-[a-z]+)-date")  # x-amz-date and x-amz-expires, x-goog-, x-oss-, x-tos-
_NAMES = ("expires", "expire", "expiry", "expires_at", "expiresat", "exp", "x-expires", "se")
_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]+\.(eyJ[A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*")
_EDGE = re.compile(r"(?:^|[~*!])exp=([0-9]{10})(?:[~*!]|$)")  # a token of fields within one parameter


def moment(value: object) -> int | None:
    """A time in milliseconds since the epoch; None for anything else.

    From seconds, milliseconds, microseconds or nanoseconds, as number or text; ISO 8601, also without dashes; or an
    HTTP date. Without a zone it is UTC.
    """
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return _dated(text, datetime.fromisoformat) or _dated(text, parsedate_to_datetime)
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= _FIRST:
        return None
    return next((int(value * scale) for below, scale in _SCALES if value < below), None)


def of_url(url: str) -> int | None:
    """When this link ends, in milliseconds: the earliest of all that it says; None where it says nothing."""
    path, _, query = url.partition("#")[0].partition("?")
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return None
    said = {name.lower(): value for name, value in reversed(pairs)}
    return min([*_signed(said), *_named(said), *_tokens([path, *said.values()]), *_policy(said)], default=None)


def _dated(text: str, read: Callable[[str], datetime]) -> int | None:
    try:
        when = read(text)
        seconds = when.replace(tzinfo=when.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return int(seconds * 1000) if seconds >= _FIRST else None  # year 1 and 1970 stand for "never said"


def _signed(said: Mapping[str, str]) -> Iterator[int]:
    """Signed at a time, for so many seconds."""
    for name, value in said.items():
        match = _DATED.fullmatch(name)
        start, life = moment(value), said.get(f"{match[1]}-expires", "") if match else ""
        if start is not None and life.isascii() and life.isdigit() and len(life) < 10:
            yield start + int(life) * 1000


def _named(said: Mapping[str, str]) -> Iterator[int]:
    for name in _NAMES:
        end = moment(said.get(name, ""))
        if end is not None:
            yield end
    for value in said.values():
        for match in _EDGE.finditer(value):
            yield int(match[1]) * 1000


def _tokens(texts: list[str]) -> Iterator[int]:
    """`exp` of a JWT, wherever it stands."""
    for text in texts:
        for match in _TOKEN.finditer(text):
            claims = _json(match[1])
            end = moment(claims.get("exp")) if isinstance(claims, dict) else None
            if end is not None:
                yield end


def _policy(said: Mapping[str, str]) -> Iterator[int]:
    """CloudFront's own policy: JSON in a base64 of its own."""
    policy = _json(said.get("policy", "").replace("-", "+").replace("~", "/").rstrip("_"))
    try:
        end = moment(policy["Statement"][0]["Condition"]["DateLessThan"]["AWS:EpochTime"])  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        return
    if end is not None:
        yield end


def _json(text: str) -> object:
    """What base64 holds, None where that is no JSON."""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return json.loads(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
