"""What a request to the provider must look like: read strictly, refused by field."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from local.provider.answers import Answer, error
from local.provider.settings import MODELS

_MODERATED = "forbidden-word"
_MAX_PROMPT, _MAX_OUTPUTS = 2000, 4


class Unusable(Exception):
    """The request itself is at fault; carries the answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A job request that is fit to be accepted."""

    model: str
    outputs: int
    duration_s: float | None
    webhook_url: str
    reference: str
    # Why the job, accepted all the same, will fail: where a vendor looks at the input only later.
    fails: str = ""
    # What the vendor's double needs to know of the job later on.
    extra: dict[str, Any] = field(default_factory=dict)


def parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Unusable(error(400, "invalid_json", "The body is not JSON.")) from None
    if not isinstance(body, dict):
        raise Unusable(error(422, "invalid_input", "The body must be an object."))
    return body


def _no_number(word: str) -> float:
    raise ValueError(word)


def checked(body: dict[str, Any]) -> Wish:
    """The checked request; the message of a refusal names the field."""
    model, given = body.get("model"), body.get("input")
    if not isinstance(model, str) or model not in MODELS:
        raise _invalid("model", f"must be one of {sorted(MODELS)}")
    if not isinstance(given, dict):
        raise _invalid("input", "must be an object")
    _check_texts(given)
    count, duration_s = _checked_numbers(given)
    return Wish(
        model=model,
        outputs=count if model == "image-1" else 1,
        duration_s=duration_s,
        webhook_url=_checked_url(body),
        reference=_checked_text(body, "reference"),
        extra={"image": _checked_image(given)} if MODELS[model].from_picture else {},
    )


def _check_texts(given: dict[str, Any]) -> None:
    for name in ("prompt", "text"):
        value = given.get(name, "x")
        if not isinstance(value, str) or not value.strip() or len(value) > _MAX_PROMPT:
            raise _invalid(f"input.{name}", f"must be a text of 1 to {_MAX_PROMPT} characters")
        if _MODERATED in value:
            raise Unusable(error(400, "content_moderated", "The prompt breaks the content rules."))


def _checked_numbers(given: dict[str, Any]) -> tuple[int, float | None]:
    count, duration = given.get("count", 1), given.get("duration_s")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MAX_OUTPUTS:
        raise _invalid("input.count", f"must be a whole number from 1 to {_MAX_OUTPUTS}")
    if duration is not None and (isinstance(duration, bool) or not isinstance(duration, int | float)):
        raise _invalid("input.duration_s", "must be a number")
    return count, duration


def _checked_image(given: dict[str, Any]) -> str:
    """It is read once the job runs, as is usual."""
    url = given.get("image")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > _MAX_PROMPT:
        raise _invalid("input.image", "must be an http or https address")
    return url


def _checked_url(body: dict[str, Any]) -> str:
    url = _checked_text(body, "webhook_url")
    if url and not url.startswith(("http://", "https://")):
        raise _invalid("webhook_url", "must be an http or https address")
    return url


def _checked_text(body: dict[str, Any], name: str) -> str:
    value = body.get(name) or ""
    if not isinstance(value, str) or len(value) > _MAX_PROMPT:
        raise _invalid(name, "must be a text")
    return value


def _invalid(field: str, rule: str) -> Unusable:
    return Unusable(error(422, "invalid_input", f"{field} {rule}"))
