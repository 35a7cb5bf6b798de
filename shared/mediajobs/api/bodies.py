"""From a request's bytes to JSON that means one thing only, and back to one canonical form of it.

Parsing is strict because the same bytes are kept, digested and sent to a provider: no NaN, no name twice, no
number that a double cannot hold, no half of a surrogate pair. In the canonical form names are sorted and numbers
stand by value (1, 1.0 and 10e-1 are the same), so that a client may resend its request from any JSON library. A large
number that a double tells shortly (1e+300) is written as the double is, and not in three hundred digits.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from mediajobs.errors import BadRequest, TooLarge

LIMIT = 64 * 1024
DEPTH = 64
_MAGNITUDE = 307  # decimal exponents that every double has, on both sides
_LONGEST_WHOLE = 21  # digits of a whole number that is written out, where a double would tell it as shortly
_NO_DOUBLE = "The body holds a number that no double can hold."

# A string is skipped whole; one that never ends is skipped to the end, so the scan stays linear.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def raw(event: Mapping[str, Any], *, limit: int | None = None) -> bytes:
    """The body as sent. Base64 is undone only where the gateway's flag is `true` itself, not a word for it."""
    body = event.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise BadRequest("The body did not arrive as text.")
    if event.get("isBase64Encoded") is not True:
        data = body.encode("utf-8", errors="surrogatepass")
    else:
        if limit is not None and len(body) > limit * 4 // 3 + 4:
            raise _too_large(len(body) * 3 // 4, limit)
        try:
            data = base64.b64decode(body, validate=True)
        except ValueError:
            raise BadRequest("The body is marked as base64 and is not.") from None
    if limit is not None and len(data) > limit:
        raise _too_large(len(data), limit)
    return data


def parse(data: bytes) -> dict[str, Any]:
    """The JSON object in the body. Whole numbers are ints however they were written, others Decimals."""
    if len(data) > LIMIT:
        raise _too_large(len(data), LIMIT)
    if not data.strip():
        raise BadRequest("The body is empty; send a JSON object.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The body is not UTF-8.") from None
    _bounded(text)
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_number,
            parse_int=_number,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    if not isinstance(value, dict):
        raise BadRequest("The body is JSON but not an object; send {…}.")
    return value


def canonical(value: object) -> bytes:
    """The one form of a JSON value: UTF-8, sorted names, no blanks, numbers by value. At most LIMIT bytes."""
    try:
        data = _write(value).encode("utf-8")
    except UnicodeEncodeError:
        raise BadRequest("A string in the body holds half of a surrogate pair, which is no character.") from None
    if len(data) > LIMIT:
        raise _too_large(len(data), LIMIT)
    return data


def _too_large(size: int, limit: int) -> TooLarge:
    return TooLarge(
        f"The body may have {limit} bytes; this one has {size}. "
        "Media goes in apart: ask for a form with POST /v1/uploads, post the file, and name it in `input` as "
        '"upload:…"; or give the URL of a file that is public.'
    )


def _bounded(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        mark = found[0][0]
        if mark in "[{":
            depth += 1
            if depth > DEPTH:
                raise BadRequest(f"The body is nested more than {DEPTH} levels deep.")
        elif mark in "]}":
            depth -= 1


def _no_constant(word: str) -> NoReturn:
    raise BadRequest(f"The body holds {word}, which is not JSON; leave the field out or give a number.")


def _number(text: str) -> int | Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond even Decimal
        raise BadRequest(_NO_DOUBLE) from None
    if number == 0:
        return 0
    if abs(number.adjusted()) > _MAGNITUDE:
        raise BadRequest(_NO_DOUBLE)
    return int(number) if number == number.to_integral_value() else number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, one in pairs:
        if name in value:
            raise BadRequest(f"The body names {name[:60]!r} twice in one object.")
        value[name] = one
    return value


def _write(value: object) -> str:
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return _whole(value)
        case float():
            return _write(_number(repr(value)))
        case Decimal():
            return _decimal(value)
        case dict():
            names = sorted(value)
            return "{" + ",".join(f"{_write(name)}:{_write(value[name])}" for name in names) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_write, value)) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON value")


def _whole(number: int) -> str:
    """All its digits, or a double's shortest form where it is long and that form is exactly this value."""
    text = str(number)
    if len(text.lstrip("-")) <= _LONGEST_WHOLE:
        return text
    short = repr(float(number))
    return short if Decimal(short) == number else text


def _decimal(number: Decimal) -> str:
    """The shortest text of exactly this value. Decimal.normalize() would round to 28 digits."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 NaN and Infinity never get here
    written = "".join(map(str, digits))
    kept = written.rstrip("0")
    return str(Decimal(f"{'-' * sign}{kept}e{exponent + len(written) - len(kept)}"))
