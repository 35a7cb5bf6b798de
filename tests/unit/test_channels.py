"""A live token opens one channel until it expires, and cannot be made or bent by anybody without the key."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.errors import ConfigurationError
from mediajobs.jobs.model import request_id
from mediajobs.signatures import token_matches, url_token
from mediajobs.signatures.channels import channel, channel_token, opened_by

KEY = b"a-key-of-64-characters-a-key-of-64-characters-a-key-of-64-charac"
OTHER_KEY = KEY[::-1]
JOB = request_id("acme", "first")
EXPIRES_S = 1_800_003_600
BEFORE, AFTER = EXPIRES_S * 1000 - 1, EXPIRES_S * 1000
SEGMENT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,48}[A-Za-z0-9])?")


def token(tenant: str = "acme", job: str = JOB, expires_s: int = EXPIRES_S, key: bytes = KEY) -> str:
    return channel_token(key, tenant, job, expires_s)


def test_a_token_opens_its_channel_until_it_expires() -> None:
    """To the millisecond."""
    assert opened_by(KEY, token(), BEFORE) == f"/jobs/acme/{JOB}"
    assert opened_by(KEY, token(), AFTER) is None


def test_the_channel_is_the_one_that_is_published_to() -> None:
    """Both sides build it by one function."""
    assert opened_by(KEY, token("Acme Ltd."), BEFORE) == channel("Acme Ltd.", JOB)


@given(st.text(max_size=80))
def test_any_tenant_has_a_channel_that_appsync_takes(tenant: str) -> None:
    """Five segments at most, each up to 50 of letters, digits and dashes, with no dash at its ends."""
    segments = channel(tenant, JOB).split("/")[1:]
    assert len(segments) == 3
    assert all(SEGMENT.fullmatch(segment) for segment in segments)
    assert opened_by(KEY, token(tenant), BEFORE) == channel(tenant, JOB)


@given(st.text(max_size=30), st.text(max_size=30))
def test_two_tenants_never_share_a_channel(one: str, other: str) -> None:
    """Nor does one that is called like another's digest."""
    names = {one, other, one.upper(), channel(one, JOB).split("/")[2]}
    paths = {channel(name, JOB) for name in names}
    assert len(paths) == len(names)


@pytest.mark.parametrize(
    "bent",
    [
        "",
        "*",
        JOB,
        token() + "a",
        token() + "\n",
        " " + token(),
        token().upper(),
        token().replace("acme", "rival"),
        token().replace("acme", "*"),
        token().replace("acme", ""),
        token().replace(JOB, JOB[::-1]),
        token().replace(JOB, "*"),
        token().replace(str(EXPIRES_S), str(EXPIRES_S + 1)),
        token().replace(str(EXPIRES_S), f"0{EXPIRES_S}"),
        token().replace(str(EXPIRES_S), "1٨00003600"),
        token(key=OTHER_KEY),
        token()[:-1],
        f"Bearer {token()}",
        "acme." + url_token(KEY, JOB, "incarnation", 1),
    ],
)
def test_whatever_we_did_not_make_opens_nothing(bent: str) -> None:
    """Each part is signed, and has one way of being written."""
    assert opened_by(KEY, bent, BEFORE) is None


@given(st.data())
def test_no_single_character_of_a_token_may_differ(data: st.DataObject) -> None:
    right = token()
    place = data.draw(st.integers(0, len(right) - 1))
    other = data.draw(st.characters().filter(lambda each: each != right[place]))
    assert opened_by(KEY, right[:place] + other + right[place + 1 :], BEFORE) is None


def test_tokens_of_webhook_urls_and_of_channels_are_not_exchangeable() -> None:
    """They are made with one key; a label keeps them apart."""
    signed = token().rpartition(".")[2]
    assert not token_matches(KEY, signed, "acme", JOB, EXPIRES_S)
    assert not token_matches(KEY, signed, JOB, "acme", EXPIRES_S)


def test_a_missing_key_signs_nothing() -> None:
    with pytest.raises(ConfigurationError):
        token(key=b"short")
