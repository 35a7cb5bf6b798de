"""Whether what came is what was expected, as far as it was said."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any


def misfits(expected: Any, actual: Any, place: str = "") -> list[str]:
    """Every place where they differ. A name that is not expected may be there; a list must have its length."""
    if is_dataclass(actual) and not isinstance(actual, type):
        actual = asdict(actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            fault for name, value in expected.items() for fault in misfits(value, actual.get(name), f"{place}.{name}")
        ]
    if isinstance(expected, list) and isinstance(actual, list | tuple) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [fault for number, (want, have) in pairs for fault in misfits(want, have, f"{place}[{number}]")]
    return [] if expected == actual else [f"{place or 'it'} is {actual!r}, not {expected!r}"]


def opened(answer: Any) -> Any:
    """An answer to API Gateway with its body read and its headers by name; any other as it is."""
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return answer
    headers = {name: values[-1] for name, values in (answer.get("multiValueHeaders") or {}).items()}
    # What is no text is told by its headers.
    body = None if answer.get("isBase64Encoded") else json.loads(answer["body"], parse_constant=_refused)
    return answer | {"body": body, "headers": headers}


def _refused(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")
