"""When a link ends, by what it says itself, in every way in which times are written."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs import expiry

T = 1_800_000_000_000  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (1_800_000_000, T),
        (1_800_000_000.5, T + 500),
        (T, T),
        (T * 1000, T),
        (T * 1_000_000, T),
        ("1800000000", T),
        ("1800000000.25", T + 250),
        (f"{T}", T),
        (f"{T}000", T),
        ("2027-01-15T08:00:00Z", T),
        ("2027-01-15T08:00:00.123456789Z", T + 123),
        ("2027-01-15T13:30:00+05:30", T),
        ("20270115T080000Z", T),
        ("2027-01-15 08:00", T),
        ("2027-01-15", T - 8 * 3_600_000),
        ("Fri, 15 Jan 2027 08:00:00 GMT", T),
        ("Fri, 15 Jan 2027 03:00:00 -0500", T),
        (" 1800000000 ", T),
        (3600, None),
        ("3600", None),
        ("in an hour", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (-T, None),
        ("0001-01-01T00:00:00Z", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_time_is_read_in_every_common_form(value: object, ms: int | None) -> None:
    """A duration is no time, and neither is the year that means never."""
    assert expiry.moment(value) == ms


def token(claims: object) -> str:
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "x"}, claims)
    ]
    return ".".join([*parts, "c2lnbmF0dXJl"])


def policy(document: object) -> str:
    text = base64.b64encode(json.dumps(document).encode()).decode()
    return text.replace("+", "-").replace("=", "_").replace("/", "~")


CUSTOM = {"Statement": [{"Resource": "*", "Condition": {"DateLessThan": {"AWS:EpochTime": 1_800_000_000}}}]}
H = "https://cdn.example/film.mp4"


@pytest.mark.parametrize(
    ("url", "ms"),
    [
        (f"{H}?X-Amz-Date=20270115T070000Z&X-Amz-Expires=3600&X-Amz-Signature=abc", T),
        (f"{H}?x-amz-expires=3600&x-amz-date=20270115T070000Z", T),
        (f"{H}?X-Goog-Date=20270115T070000Z&X-Goog-Expires=3600", T),
        (f"{H}?x-oss-date=20270115T070000Z&x-oss-expires=3600", T),
        (f"{H}?Expires=1800000000&Signature=abc&Key-Pair-Id=K", T),
        (f"{H}?expires={T}", T),
        (f"{H}?x-expires=1800000000&x-signature=a%3D", T),
        (f"{H}?sv=2022-11-02&st=2027-01-15T07%3A00%3A00Z&se=2027-01-15T08%3A00%3A00Z&sr=b&sig=a%2Bb", T),
        (f"{H}?se=2027-01-15T08:00Z&sig=x", T),
        (f"{H}?token={token({'exp': 1_800_000_000})}", T),
        (f"https://cdn.example/{token({'exp': 1_800_000_000.0})}/film.mp4", T),
        (f"{H}?hdnts=st=1799990000~exp=1800000000~acl=/*~hmac=ab", T),
        (f"{H}?Policy={policy(CUSTOM)}&Signature=x", T),
        (f"{H}?Expires=1800000000&token={token({'exp': 1_800_003_600})}", T),
        (f"{H}?Expires=1800003600&token={token({'exp': 1_800_000_000})}", T),
        (f"{H}?Expires=1800000000&Expires=1800003600", T),
        (f"{H}#Expires=1800000000", None),
        (f"{H}?X-Amz-Expires=3600", None),
        (f"{H}?X-Amz-Date=20270115T070000Z", None),
        (f"{H}?X-Amz-Date=20270115T070000Z&X-Amz-Expires=-5", None),
        (f"{H}?X-Amz-Date=yesterday&X-Amz-Expires=3600", None),
        (f"{H}?Expires=3600", None),
        (f"{H}?token={token({'exp': 'soon'})}", None),
        (f"{H}?token={token([1])}", None),
        (f"{H}?token=eyJhbGciOi.eyJub3QganNvbg.x", None),
        (f"{H}?Policy=AAAA&se=&exp=x", None),
        (f"{H}?{'&'.join(f'a{n}=1' for n in range(300))}&Expires=1800000000", None),
        (H, None),
        ("", None),
    ],
    ids=lambda value: str(value)[:90],
)
def test_a_signed_link_tells_its_own_end(url: str, ms: int | None) -> None:
    """The earliest of all that it says; nothing where it says nothing."""
    assert expiry.of_url(url) == ms


@given(st.text(max_size=200), st.sampled_from(["", "Expires=", "se=", "Policy=", "token=eyJ", "X-Amz-Date="]))
def test_no_link_gives_a_fault(text: str, name: str) -> None:
    """Whatever a provider writes."""
    assert isinstance(expiry.of_url(f"{H}?{name}{text}"), int | None)
    assert isinstance(expiry.moment(text), int | None)
