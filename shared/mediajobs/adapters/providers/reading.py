"""Values that come from outside, made safe to keep: JSON, ids, words, numbers, times, waits. Pure.

Nothing here raises but `Unusable`, whatever the bytes are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from mediajobs.messages import MOST_KEPT_URL

MOST_ID_BYTES = 256
MOST_MESSAGE = 200
MOST_WORD = 60
MOST_URL = MOST_KEPT_URL
DEEPEST = 64
LONGEST_WAIT_S = 900.0

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")
_URL = re.compile(r"(https?://[^/\s\"'<>?#]{1,255})[^\s\"'<>]+")


class Unusable(ValueError):
    """The content cannot be used; the text says why and quotes nothing of it."""


def document(body: bytes, *, strict: bool) -> object:
    """The JSON value in `body`, a byte order mark allowed, NaN read as null: an event is not lost for a metric in it.

    Strict, for what arrives unasked: a repeated name makes it unusable. Else, for an answer that may speak of a paid
    job, the last of a repeated name counts.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(
            text,
            object_pairs_hook=_unique if strict else None,
            parse_constant=_nothing,
        )
    except Unusable:
        raise
    except (ValueError, RecursionError):
        raise Unusable("the body is not JSON") from None
    if _too_deep(value):
        raise Unusable("the body is nested too deeply")
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unusable("a name is repeated in the body")
    return found


def _nothing(_: str) -> object:
    return None


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def identifier(value: object) -> str:
    """A provider's job id: it becomes part of keys and URLs, so nothing odd passes."""
    if not isinstance(value, str) or not value:
        raise Unusable("the job's id is missing or not a text")
    if not value.isprintable() or value != value.strip() or value in (".", ".."):
        raise Unusable("the job's id has characters that no id has")
    if len(value.encode()) > MOST_ID_BYTES:
        raise Unusable(f"the job's id is longer than {MOST_ID_BYTES} bytes")
    return value


def words(value: object, most: int = MOST_MESSAGE) -> str:
    """Any value as a bounded line of text; a text as it is, anything else as JSON, nothing as ''."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)
    # Lone surrogates cannot be stored: they become question marks.
    return " ".join(text.encode("utf-8", "replace").decode().split())[:most]


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` without our secrets, and without the paths of links: a webhook URL's ends in its token."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return _URL.sub(r"\1/***", text)


def percent(value: object, scale: int) -> int | None:
    """Progress as 0 to 100; None where there is none or it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return math.floor(min(max(value, 0), scale) * 100 / scale + 1e-9)


def size(value: object) -> int | None:
    """A number of bytes, where it is one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        return None
    return value


def wait_s(headers: Mapping[str, str], now: int | None) -> float | None:
    """Seconds that Retry-After asks for, from 0 to 15 minutes; None where it is missing or means nothing.

    A date counts from the answer's own Date where it has one, so that a wrong clock on either side does not matter.
    """
    text = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(text):
        return min(max(float(text), 0.0), LONGEST_WAIT_S)  # float() of a long row of digits is inf
    until, base = _date(text), _date(headers.get("date", ""))
    base = now if base is None else base
    if until is None or base is None:
        return None
    return min(max((until - base) / 1000, 0.0), LONGEST_WAIT_S)


def _date(text: str) -> int | None:
    try:
        when = parsedate_to_datetime(text)
        return int(when.replace(tzinfo=when.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
