"""A submit that cannot be taken: the right 4xx with a stable type, and nothing written."""

from __future__ import annotations

import json

import pytest

from tests.e2e.client import JSON, Api, Header, is_problem
from tests.e2e.crowd import PROMPT

pytestmark = pytest.mark.usefixtures("untouched")

GOOD = {"provider": "sim", "model": "image-1", "input": {"prompt": PROMPT}}
KEY: Header = ("Idempotency-Key", "misuse")


def document(**fields: object) -> bytes:
    return json.dumps(GOOD | fields).encode()


def with_input(text: str) -> bytes:
    """A body with this JSON text, right or wrong, as a field of the input."""
    return b'{"provider":"sim","model":"image-1","input":{"x":' + text.encode() + b"}}"


UNREADABLE = {
    "nothing": b"",
    "blank": b"  \n",
    "half an object": b'{"provider":',
    "a list": b"[]",
    "a text": b'"sim"',
    "null": b"null",
    "not UTF-8": b"\xff\xfe\x00",
    "a byte order mark": b"\xef\xbb\xbf" + document(),
    "NaN": with_input("NaN"),
    "Infinity": with_input("-Infinity"),
    "1e400": with_input("1e400"),
    "too many digits": with_input("9" * 5000),
    "a name twice": b'{"provider":"sim","provider":"sim-nokey","model":"image-1","input":{}}',
    "a name twice inside": with_input('{"a":1,"a":2}'),
    "half a surrogate pair": with_input('"\\ud800"'),
    "deep nesting": with_input("[" * 5000 + "]" * 5000),
    "a form": b"provider=sim&model=image-1",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_body_that_cannot_be_read(caller: Api, name: str) -> None:
    """400, whatever is wrong with it."""
    answer = caller.raw_submit(UNREADABLE[name], [JSON, KEY])
    assert is_problem(answer, 400, "bad-request"), answer


WRONG = {
    "unknown provider": (document(provider="nobody"), "provider"),
    "unknown model": (document(model="nothing-1"), "model"),
    "provider of another kind": (document(provider=7), "provider"),
    "no input": (json.dumps({"provider": "sim", "model": "image-1"}).encode(), "input"),
    "input of another kind": (document(input=[1]), "input"),
    "a field too many": (document(priority=1), "priority"),
    "metadata of another kind": (document(metadata={"n": 1}), "metadata.n"),
    "seventeen pairs": (document(metadata={f"n{n}": "x" for n in range(17)}), "metadata"),
    "much metadata": (document(metadata={"n": "x" * 3000}), "metadata"),
    "no time to start": (document(start_within=0), "start_within"),
}


@pytest.mark.parametrize("name", WRONG)
def test_field_that_is_wrong(caller: Api, name: str) -> None:
    """422 that names the field."""
    body, field = WRONG[name]
    answer = caller.raw_submit(body, [JSON, KEY])
    assert is_problem(answer, 422, "unprocessable"), answer
    assert any(error["field"].startswith(field) for error in answer.json["errors"]), answer


@pytest.mark.parametrize("size", [65_537, 1_000_000])
def test_body_that_is_too_large(caller: Api, size: int) -> None:
    """413 beyond 64 KB, at a megabyte too."""
    body = with_input('"' + "a" * size + '"')
    assert is_problem(caller.raw_submit(body, [JSON, KEY]), 413, "too-large")


KEYS: dict[str, list[Header]] = {
    "none": [],
    "empty": [("Idempotency-Key", "")],
    "blank": [("Idempotency-Key", "  ")],
    "empty quotes": [("Idempotency-Key", '""')],
    "256 characters": [("Idempotency-Key", "k" * 256)],
    "3000 characters": [("Idempotency-Key", "k" * 3000)],
    "a face": [("Idempotency-Key", "\N{GRINNING FACE}".encode())],
    "an accent": [("Idempotency-Key", "clé".encode())],
    "two in one": [("Idempotency-Key", "a,b")],
    "two headers": [("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
    "a blank inside": [("Idempotency-Key", "a b")],
    "one quote": [("Idempotency-Key", '"a')],
    "a tab": [("Idempotency-Key", "a\tb")],
}


@pytest.mark.parametrize("name", KEYS)
def test_key_that_cannot_be_used(caller: Api, name: str) -> None:
    """400 by one rule that the answer tells, never a 500 of the store behind."""
    answer = caller.raw_submit(document(), [JSON, *KEYS[name]])
    assert is_problem(answer, 400, "bad-request"), answer
    assert "Idempotency-Key" in answer.json["detail"]


@pytest.mark.parametrize("key", [b"a\x00b", b"a\x7fb"])
def test_key_with_a_control_character(caller: Api, key: bytes) -> None:
    """Refused before or by us, but refused."""
    assert caller.raw_submit(document(), [JSON, ("Idempotency-Key", key)]).status == 400
