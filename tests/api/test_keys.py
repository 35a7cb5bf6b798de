"""Headers, the Idempotency-Key and who calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.api import keys
from mediajobs.errors import BadRequest, Unauthorized


def key(*values: str, name: str = "Idempotency-Key") -> str:
    return keys.idempotency_key({"multiValueHeaders": {name: list(values)}})


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("a", "a"),
        ('"a"', "a"),
        (" a ", "a"),
        ("\ta", "a"),
        ('" a"', None),
        ('"a b"', None),
        ("a b", None),
        ("x" * 255, "x" * 255),
        ('"' + "x" * 255 + '"', "x" * 255),
        ("x" * 256, None),
        ('"' + "x" * 256 + '"', None),
        ("x" * 3000, None),
        ("", None),
        ("   ", None),
        ('""', None),
        ('"', None),
        ('"a', None),
        ('a"', None),
        ('a"b', None),
        ('"a"b"', None),
        ('"a\\"b"', 'a"b'),
        ('"a\\\\b"', "a\\b"),
        ("a\\b", "a\\b"),
        ('"a\\b"', None),
        ('"a";x=1', None),
        ("a;b", "a;b"),
        ("😀", None),
        ("é", None),
        ("a\nb", None),
        ("a\n", None),
        ("\x00", None),
        ("a\x7f", None),
        ("../x", "../x"),
        ("a,b", None),
        ("a, b", None),
        ('"a,b"', "a,b"),
        ('"a", "b"', None),
        ("'a'", "'a'"),
        ("a#b|c%00", "a#b|c%00"),
        ("6f1c0b5e-5b0b-4a57-9f6a-3f0d8f7f1c1e", "6f1c0b5e-5b0b-4a57-9f6a-3f0d8f7f1c1e"),
    ],
)
def test_a_key_is_one_visible_ascii_word_bare_or_quoted(sent: str, read: str | None) -> None:
    """One documented rule; everything else is a 400 that says what a key is."""
    if read is None:
        with pytest.raises(BadRequest, match="a UUID will do"):
            key(sent)
    else:
        assert key(sent) == read


def test_no_key_or_several_are_refused() -> None:
    """Two copies of the header may not mean the first, nor the last."""
    for event in ({}, {"headers": None, "multiValueHeaders": None}, {"multiValueHeaders": {"Idempotency-Key": []}}):
        with pytest.raises(BadRequest, match="missing"):
            keys.idempotency_key(event)
    with pytest.raises(BadRequest, match="more than once"):
        key("a", "b")
    with pytest.raises(BadRequest, match="more than once"):
        key("a", "a")
    with pytest.raises(BadRequest, match="more than once"):
        keys.idempotency_key({"multiValueHeaders": {"Idempotency-Key": ["a"], "idempotency-key": ["b"]}})


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY", "iDeMpOtEnCy-kEy"])
def test_the_case_of_a_headers_name_means_nothing(name: str) -> None:
    """API Gateway passes it as the client wrote it; an emulator writes it small."""
    assert key("k", name=name) == "k"
    assert keys.idempotency_key({"headers": {name: "k"}}) == "k"
    assert keys.idempotency_key({"headers": {name: "k"}, "multiValueHeaders": {name.lower(): ["k"]}}) == "k"


def test_every_value_of_a_header_is_kept() -> None:
    """Several signatures may come in several headers."""
    event = {
        "headers": {"webhook-signature": "v1,b", "Only-Here": "x"},
        "multiValueHeaders": {"Webhook-Signature": ["v1,a", "v1,b"], "Odd": [1, None, "y"]},
    }
    assert keys.headers(event) == {"webhook-signature": ("v1,a", "v1,b"), "odd": ("y",), "only-here": ("x",)}


@given(st.text())
def test_any_text_is_a_key_or_a_400(text: str) -> None:
    """And a key never holds what a log line or a table could stumble over."""
    try:
        read = key(text)
    except BadRequest:
        return
    assert 1 <= len(read) <= 255
    assert all("!" <= c <= "~" for c in read)


@pytest.mark.parametrize(
    "context",
    [
        None,
        {},
        {"authorizer": None},
        {"authorizer": {}},
        {"authorizer": {"tenant": "acme"}},
        {"authorizer": {"tenant": "", "scope": "user"}},
        {"authorizer": {"tenant": 7, "scope": "user"}},
        {"authorizer": {"tenant": "acme", "scope": "root"}},
        {"authorizer": {"tenant": "acme", "scope": ["user"]}},
        "authorizer",
    ],
)
def test_nobody_is_assumed_where_the_authorizer_says_nothing(context: Any) -> None:
    """A route wired without its authorizer answers 401, not everybody's jobs."""
    with pytest.raises(Unauthorized):
        keys.caller({"requestContext": context})


def test_the_caller_is_who_the_authorizer_says() -> None:
    """A principalId or anything else in the context changes nothing."""
    event = {"requestContext": {"authorizer": {"tenant": "acme", "scope": "operator", "principalId": "x"}}}
    caller = keys.caller(event)
    assert (caller.tenant, caller.operator) == ("acme", True)
