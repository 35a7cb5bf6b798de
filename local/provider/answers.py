"""What a request is answered with, the ways of spoiling an answer included."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer. `cut` closes the connection without a word; `declared` lies about the length."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    declared: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request, read whole."""

    method: str
    path: str
    query: dict[str, str]
    # Lower-case names.
    headers: dict[str, str]
    body: bytes


CUT = Answer(status=0, cut=True)


def document(status: int, value: Any, **headers: str) -> Answer:
    return Answer(status=status, body=json.dumps(value).encode(), headers=headers)


def error(status: int, code: str, message: str, **headers: str) -> Answer:
    """An error in the provider's own form."""
    return document(status, {"error": {"code": code, "message": message}}, **headers)


def xml_error(status: int, code: str, message: str) -> Answer:
    """An error in the form of the file store."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status=status, body=text.encode(), content_type="application/xml")
