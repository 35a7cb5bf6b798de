"""The body's bytes, strict JSON, and its one canonical form."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.api import bodies
from mediajobs.errors import BadRequest, TooLarge


def canonical(text: str) -> bytes:
    return bodies.canonical(bodies.parse(text.encode()))


def test_base64_is_undone_only_where_the_flag_is_true_itself() -> None:
    """A flag that is a word, a number or absent leaves the body as it is."""
    wrapped = base64.b64encode(b'{"a": 1}').decode()
    assert bodies.raw({"body": wrapped, "isBase64Encoded": True}) == b'{"a": 1}'
    for flag in (False, "true", "false", 1, None, [True]):
        assert bodies.raw({"body": wrapped, "isBase64Encoded": flag}) == wrapped.encode()
    assert bodies.raw({"body": wrapped}) == wrapped.encode()


def test_every_byte_survives_the_gateway() -> None:
    """A byte order mark, 0xFF and a newline at the end reach a signature's check untouched."""
    sent = b"\xef\xbb\xbf{ }\xff\x00\r\n"
    assert bodies.raw({"body": base64.b64encode(sent).decode(), "isBase64Encoded": True}) == sent


@pytest.mark.parametrize("body", ["not base64!", "YQ", "YQ=", "YQ==\n", "é", "YQ==YQ==", "\ud800"])
def test_what_is_marked_base64_and_is_not_is_refused(body: str) -> None:
    """The caller is told; nothing is guessed."""
    with pytest.raises(BadRequest):
        bodies.raw({"body": body, "isBase64Encoded": True})


def test_a_body_over_the_limit_is_refused_before_it_is_decoded() -> None:
    """64 KiB is the last size that passes; the answer says what to do."""
    fits = json.dumps({"a": "x" * (bodies.LIMIT - 9)}).encode()
    assert len(fits) == bodies.LIMIT
    assert bodies.parse(fits)
    with pytest.raises(TooLarge, match="POST /v1/uploads"):
        bodies.parse(fits + b" ")
    for size in (bodies.LIMIT + 1, 1_000_000):
        event = {"body": base64.b64encode(b"x" * size).decode(), "isBase64Encoded": True}
        with pytest.raises(TooLarge):
            bodies.raw(event, limit=bodies.LIMIT)
        with pytest.raises(TooLarge):
            bodies.raw({"body": "x" * size}, limit=bodies.LIMIT)
    with pytest.raises(TooLarge):  # nobody has looked whether it is base64
        bodies.raw({"body": "!" * 2 * bodies.LIMIT, "isBase64Encoded": True}, limit=bodies.LIMIT)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"  \n",
        b"null",
        b"[]",
        b"42",
        b'"x"',
        b"{",
        b'{"a":}',
        b"{'a':1}",
        b'{"a":1}x',
        b'{"a":1,}',
        b"\xef\xbb\xbf{}",
        b'{"a":"\xff"}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e400}',
        b'{"a":-1e400}',
        b'{"a":1e-400}',
        b'{"a":1e99999999999999999999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":1' + b"0" * 308 + b"}",
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b"[" * 60_000,
        b'{"a":\x01}',
        b'{"a":"line\nbreak"}',
        b"True",
    ],
)
def test_what_is_not_one_plain_json_object_is_refused(sent: bytes) -> None:
    """Whatever is wrong with it is a 400, never another exception."""
    with pytest.raises(BadRequest):
        bodies.parse(sent)


def test_depth_is_counted_outside_of_strings_only() -> None:
    """Brackets in a prompt are text."""
    text = "[" * 500
    assert bodies.parse(json.dumps({"prompt": text, "quoted": '\\"[['}).encode())["prompt"] == text
    deep: Any = 1
    for _ in range(bodies.DEPTH - 1):
        deep = [deep]
    assert bodies.parse(json.dumps({"a": deep}).encode())
    with pytest.raises(BadRequest, match="levels"):
        bodies.parse(json.dumps({"a": [deep]}).encode())


@pytest.mark.parametrize(
    "sent",
    [
        b'"' + b'\\"' * 32_000,
        b'{"a":0.1' + b"0" * 60_000 + b"}",
        b'{"a":[' + b"1e300," * 10_000 + b"1]}",
        b'{"a":' + b'"' * 60_000,
        b"{" + b",".join(b'"%d":0' % n for n in range(6_000)) + b',"5999":1}',
    ],
)
def test_hostile_bodies_cost_no_time(sent: bytes) -> None:
    """Work is linear in the body: a second of the processor's time would be a hundred times too long."""
    started = time.process_time()
    with contextlib.suppress(BadRequest, TooLarge):
        bodies.canonical(bodies.parse(sent))
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "same",
    [
        ['{"a":1}', '{"a":1.0}', '{"a":10e-1}', '{ "a" : 1.000 }', '{"a":0.1E1}'],
        ['{"a":0.75}', '{"a":75e-2}', '{"a":0.750}'],
        ['{"a":0}', '{"a":-0}', '{"a":0.0}', '{"a":-0.0}', '{"a":0e9}'],
        ['{"a":1,"b":2}', '{"b":2,"a":1}'],
        ['{"a":"é"}', '{"a":"\\u00e9"}'],
        [f'{{"a":{2**70}}}', '{"a":1180591620717411303424.0}', '{"a":1.180591620717411303424e21}'],
        ['{"a":-1.5e300}', '{"a":-15e299}', '{"a":-15' + "0" * 299 + "}", '{"a":-15' + "0" * 299 + ".00}"],
    ],
)
def test_the_same_value_has_one_form(same: list[str]) -> None:
    """However a client's library wrote it, a resent request is the same request."""
    assert len({canonical(text) for text in same}) == 1


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ('{"a":1}', '{"a":true}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":0}', '{"a":false}'),
        ('{"a":null}', "{}"),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        (f'{{"a":{2**70}}}', f'{{"a":{2**70 + 1}}}'),
        ('{"a":0.1}', '{"a":0.1000000000000000055511151231257827}'),
        ('{"a":{}}', '{"a":[]}'),
    ],
)
def test_different_values_have_different_forms(one: str, another: str) -> None:
    """Nothing is rounded and no kind passes for another."""
    assert canonical(one) != canonical(another)


def test_numbers_keep_their_value_and_kind() -> None:
    """Big whole numbers stay whole, fractions stay exact to the last digit sent."""
    sent = {"seed": 2**70, "strength": 0.75, "sum": 0.1 + 0.2, "small": 1e-7, "big": 1e21, "n": -5}
    kept = json.loads(canonical(json.dumps(sent)))
    assert kept == sent
    assert isinstance(kept["seed"], int)
    assert isinstance(kept["strength"], float)
    digits = "0.123456789012345678901234567890123456789"
    assert canonical(f'{{"a":{digits}}}') == f'{{"a":{digits}}}'.encode()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("-1.5e300", "-1.5e+300"),
        (repr(2.0**1000), repr(2.0**1000)),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        (str(2**70), str(2**70)),
        ("123456789012345678" + "0" * 9, "123456789012345678" + "0" * 9),
        ("1.5e-300", "1.5E-300"),
    ],
)
def test_a_large_number_is_written_as_shortly_as_its_value_allows(sent: str, kept: str) -> None:
    """A provider is not sent three hundred digits for what was five characters; no digit is lost for it either."""
    assert canonical(f'{{"a":{sent}}}') == f'{{"a":{kept}}}'.encode()
    assert Decimal(kept) == Decimal(sent)


def test_half_a_surrogate_pair_is_no_text() -> None:
    """It would be neither stored nor sent."""
    with pytest.raises(BadRequest, match="surrogate"):
        canonical('{"a":"\\ud800"}')
    assert canonical('{"a":"\\ud83d\\ude00"}') == '{"a":"😀"}'.encode()


def test_a_body_that_grows_over_the_limit_in_canonical_form_is_refused() -> None:
    """Otherwise a table item could grow out of a small request."""
    with pytest.raises(TooLarge):
        canonical('{"a":[' + ",".join(["1e20"] * 5000) + "]}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_canonical_is_a_fixed_point_and_keeps_the_value(value: dict[str, Any]) -> None:
    """Reading a canonical body back and writing it again changes nothing."""
    try:
        parsed = bodies.parse(json.dumps(value).encode())
        first = bodies.canonical(parsed)
    except BadRequest:
        return  # a denormal or half a surrogate pair
    assert bodies.canonical(bodies.parse(first)) == first
    assert bodies.parse(first) == parsed
    assert json.loads(first, parse_int=float) == json.loads(json.dumps(value), parse_int=float)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_a_decimal_is_written_exactly(number: Decimal) -> None:
    """By value: what is read back is the number that was sent, digit for digit."""
    text = f"{number:f}"
    try:
        kept = bodies.canonical(bodies.parse(f'{{"a":{text}}}'.encode()))
    except BadRequest:
        return  # smaller than a double can hold
    assert Decimal(kept[5:-1].decode()) == number
