"""Webhook signatures: what is accepted, and that nothing else is."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.errors import ConfigurationError, Unauthorized
from mediajobs.messages import Verified
from mediajobs.signatures import BadSignature, sign_standard, token_matches, url_token, verify_standard

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
STAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
NEW_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def verify(
    *,
    secrets: Sequence[str] = (SECRET,),
    event_id: str | None = ID,
    stamp: str | None = str(STAMP),
    signatures: Sequence[str] | None = (SIGNATURE,),
    body: bytes = BODY,
    now: int = STAMP,
) -> Verified:
    headers: dict[str, tuple[str, ...]] = {}
    if event_id is not None:
        headers["webhook-id"] = (event_id,)
    if stamp is not None:
        headers["webhook-timestamp"] = (stamp,)
    if signatures is not None:
        headers["webhook-signature"] = tuple(signatures)
    return verify_standard(secrets, headers, body, now * 1000)


def reason(**spoiled: object) -> str:
    with pytest.raises(BadSignature) as caught:
        verify(**spoiled)  # type: ignore[arg-type]
    return caught.value.reason


def signed(text: str, key: bytes = KEY, body: bytes = BODY) -> str:
    """A right signature over these literal fields."""
    return "v1," + base64.b64encode(hmac.digest(key, text.encode() + body, "sha256")).decode()


def test_reference_vector_verifies_and_says_what_was_signed() -> None:
    """Published with the standard; the secret is good without its prefix too."""
    expected = Verified(event_id=ID, timestamp=STAMP * 1000, body_digest=hashlib.sha256(BODY).hexdigest())
    assert verify() == expected
    assert verify(secrets=[SECRET.removeprefix("whsec_")]) == expected
    assert sign_standard(SECRET, ID, STAMP, BODY) == SIGNATURE


def test_openai_vectors_verify() -> None:
    """One with base64 in the secret, one whose secret is the text itself."""
    body = (
        b'{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210, '
        b'"type": "response.completed", "data": {"id": "resp_123"}}'
    )
    verify(
        secrets=["whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c="],
        event_id="wh_685c059ae39c8190af8c71ed1022a24d",
        stamp="1750861210",
        now=1750861210,
        body=body,
        signatures=["v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY="],
    )
    verify(
        secrets=["synthetic-webhook-secret"],
        event_id="evt_synthetic",
        stamp="1750000000",
        now=1750000000,
        body='{"synthetic": "café"}'.encode(),
        signatures=["v1,qzuLCtHIXTcfJr8yxIcKC07cOqyNSgdmZRut6AFa+RA="],
    )


@pytest.mark.parametrize(
    "signatures",
    [
        [f"{OTHER} {OTHER.replace('v1', 'v2')} {SIGNATURE} {OTHER}"],
        [f"{SIGNATURE} {OTHER}"],
        [f"junk {SIGNATURE}"],
        [f"v1,AAA, {SIGNATURE}"],
        [f"{OTHER},{SIGNATURE}"],
        [f"{OTHER}, {SIGNATURE}"],
        [f"v1a,xyz {SIGNATURE}"],
        [OTHER, SIGNATURE],
        [SIGNATURE, "", ","],
        [" ".join([OTHER] * 1999 + [SIGNATURE])],
    ],
)
def test_one_right_signature_among_several_is_enough(signatures: list[str]) -> None:
    """Rotation sends two, gateways join headers with a comma, later versions stand beside ours."""
    assert verify(signatures=signatures).event_id == ID


@pytest.mark.parametrize(
    "signatures",
    [
        None,
        [],
        [""],
        [","],
        ["v1"],
        ["v1,"],
        ["v1 v1"],
        ["v1,dawfeoifkpqwoekfpqoekf"],
        [SIGNATURE[:11]],
        [SIGNATURE.removeprefix("v1,")],
        [SIGNATURE.replace("v1,", "v2,")],
        [SIGNATURE.replace("v1,", "v1a,")],
        [SIGNATURE.replace("v1,", "V1,")],
        [SIGNATURE.replace("v1,", "v1, ")],
        [SIGNATURE + "AAAA"],
        ["x" + SIGNATURE],
        [OTHER],
        ["v1,YQ"],
        ["v1,\udcff\u00e9"],
        ["v1,a,b"],
        [" ".join([SIGNATURE] * 2001)],
    ],
)
def test_no_right_v1_signature_is_refused(signatures: list[str] | None) -> None:
    """Whatever the header holds, and with bounded work."""
    assert "signature" in reason(signatures=signatures)


def test_either_of_two_secrets_verifies() -> None:
    """While a secret is rotated, both are in use, in either order."""
    fresh = sign_standard(NEW_SECRET, ID, STAMP, BODY)
    for secrets in ([SECRET, NEW_SECRET], [NEW_SECRET, SECRET]):
        verify(secrets=secrets)
        verify(secrets=secrets, signatures=[fresh])
    assert reason(signatures=[fresh])


@pytest.mark.parametrize("field", ["event_id", "stamp"])
def test_missing_header_is_refused(field: str) -> None:
    assert "missing" in reason(**{field: None})


def test_other_body_id_or_timestamp_is_refused() -> None:
    """All three are signed, so none can be changed to replay the others."""
    assert reason(body=BODY + b" ")
    assert reason(event_id=ID + "x")
    assert reason(stamp=str(STAMP + 1))


@pytest.mark.parametrize("event_id", ["", "a.b", "a b", "é", "a\n", "x" * 257, "a, a"])
def test_unusable_id_is_refused_though_rightly_signed(event_id: str) -> None:
    """A dot would let the fields be divided anew; a long one would not fit where it is kept."""
    assert "webhook-id" in reason(event_id=event_id, signatures=[signed(f"{event_id}.{STAMP}.")])


def test_header_sent_twice_is_taken_only_if_both_agree() -> None:
    """Of two ids nobody can tell which was signed."""
    headers = {"webhook-id": (ID, ID), "webhook-timestamp": (str(STAMP),), "webhook-signature": (SIGNATURE,)}
    assert verify_standard([SECRET], headers, BODY, STAMP * 1000).event_id == ID
    with pytest.raises(BadSignature):
        verify_standard([SECRET], headers | {"webhook-id": (ID, "other")}, BODY, STAMP * 1000)


@pytest.mark.parametrize("away", [0, 299, 300, -299, -300])
def test_timestamp_within_the_window_is_accepted(away: int) -> None:
    assert verify(now=STAMP + away).timestamp == STAMP * 1000


def test_timestamp_outside_the_window_is_refused_and_the_direction_named() -> None:
    """Both ways: a clock that runs ahead is no licence to replay later."""
    assert "301 s in the past" in reason(now=STAMP + 301)
    assert "301 s in the future" in reason(now=STAMP - 301)
    assert "in the past" in reason(now=STAMP + 7200)


@pytest.mark.parametrize(
    "stamp",
    [
        f"{STAMP}000",
        f"{STAMP}.5",
        f" {STAMP} ",
        f"{STAMP}\n",
        f"+{STAMP}",
        f"-{STAMP}",
        f"{STAMP}_0",
        "".join(chr(0xFF10 + int(digit)) for digit in str(STAMP)),
        "\uff11\uff17",
        "nan",
        "inf",
        "1e30",
        "0x60",
        "",
        "-1",
        "0",
        "hello",
        "9" * 400,
    ],
)
def test_timestamp_in_another_dress_is_refused_though_rightly_signed(stamp: str) -> None:
    """Signed over the literal text, so only the form can refuse it."""
    assert "timestamp" in reason(stamp=stamp, signatures=[signed(f"{ID}.{stamp}.")])


def test_retry_hours_later_with_a_fresh_timestamp_is_the_same_event() -> None:
    """What identifies a delivery is the signed id, not the moment of the attempt."""
    later = STAMP + 7200
    again = verify(stamp=str(later), now=later, signatures=[sign_standard(SECRET, ID, later, BODY)])
    assert (again.event_id, again.body_digest) == (verify().event_id, verify().body_digest)


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        SECRET.removeprefix("whsec_"),
        NEW_SECRET,
        NEW_SECRET.rstrip("="),
        NEW_SECRET.removeprefix("whsec_"),
        NEW_SECRET + "\n",
        " " + NEW_SECRET,
        "v1," + NEW_SECRET,
        "whsec_" + base64.urlsafe_b64encode(b"\xfb\xff\xfe" * 8).decode(),
        "whsec_" + base64.b64encode(bytes(16)).decode(),
    ],
)
def test_every_usual_way_to_write_a_secret_works(secret: str) -> None:
    """With or without prefix and padding, in either alphabet, pasted with a line end."""
    text = secret.strip().removeprefix("v1,").removeprefix("whsec_").rstrip("=").translate(str.maketrans("-_", "+/"))
    key = base64.b64decode(text + "=" * (-len(text) % 4))
    verify(secrets=[secret], signatures=[signed(f"{ID}.{STAMP}.", key)])
    assert sign_standard(secret, ID, STAMP, BODY) == signed(f"{ID}.{STAMP}.", key)


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "   ",
        "whsec_",
        "v1,",
        "v1,whsec_",
        "whsec_!!!!",
        "whsec_" + base64.b64encode(bytes(8)).decode(),
        "whsec_" + base64.b64encode(bytes(15)).decode(),
        base64.b64encode(bytes(8)).decode(),
        base64.b64encode(bytes(15)).decode(),
        "secret",
        '{"api_key": "k", "webhook_secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]}',
        '["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]',
        '"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"',
        None,
        7,
    ],
)
def test_unusable_secret_refuses_everything_and_says_so(secret: str) -> None:
    """Fail closed: not even an HMAC made with the empty key passes, and a good secret beside it does not help."""
    for key in (b"", KEY, str(secret).encode()):
        for secrets in ([secret], [SECRET, secret], [secret, SECRET]):
            with pytest.raises(ConfigurationError) as caught:
                verify(secrets=secrets, signatures=[signed(f"{ID}.{STAMP}.", key)])
            assert "MfKQ9r8G" not in str(caught.value)
    with pytest.raises(ConfigurationError):
        sign_standard(secret, ID, STAMP, BODY)


@pytest.mark.parametrize("secrets", [[], (), SECRET])
def test_no_list_of_secrets_is_a_fault_of_configuration(secrets: Sequence[str]) -> None:
    """Also one secret where a list belongs."""
    with pytest.raises(ConfigurationError):
        verify(secrets=secrets)


def test_refusals_look_alike_from_outside() -> None:
    """The reason is for the operator's log alone."""
    seen = set()
    for spoiled in ({"signatures": [OTHER]}, {"now": STAMP + 999}, {"event_id": None}, {"stamp": "nan"}):
        with pytest.raises(Unauthorized) as caught:
            verify(**spoiled)
        seen.add((caught.value.status, caught.value.detail, str(caught.value), tuple(caught.value.members)))
    assert len(seen) == 1


@given(
    st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]),
        st.lists(st.text(max_size=80), max_size=3),
    ),
    st.binary(max_size=40),
)
def test_hostile_headers_end_in_one_error(headers: dict[str, list[str]], body: bytes) -> None:
    """No input of a sender raises anything else."""
    with pytest.raises(BadSignature):
        verify_standard([SECRET], headers, body, STAMP * 1000)


TOKEN_KEY = bytes(range(32))
JOB = "abcdefghijklmnopqrstuvwxyz"


def test_url_token_is_26_plain_characters_and_matches_only_its_submission() -> None:
    """It stands in a URL, and a person's resubmit makes the old one worthless."""
    token = url_token(TOKEN_KEY, JOB, "inc", 1)
    assert len(token) == 26
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert token_matches(TOKEN_KEY, token, JOB, "inc", 1)
    assert not token_matches(TOKEN_KEY, token, JOB, "inc", 2)
    assert not token_matches(TOKEN_KEY, token, JOB, "other", 1)
    assert not token_matches(TOKEN_KEY, token, "other", "inc", 1)
    assert not token_matches(bytes(32), token, JOB, "inc", 1)


@pytest.mark.parametrize("token", ["", "a", "A" * 26, "\udcff", "é" * 26, "a" * 5000])
def test_foreign_url_token_does_not_match(token: str) -> None:
    assert not token_matches(TOKEN_KEY, token, JOB, "inc", 1)
    right = url_token(TOKEN_KEY, JOB, "inc", 1)
    assert not token_matches(TOKEN_KEY, right.upper(), JOB, "inc", 1)
    assert not token_matches(TOKEN_KEY, right + token[:1] + "=", JOB, "inc", 1)


def test_url_token_fields_cannot_run_into_each_other() -> None:
    """Each is written with its length."""
    tokens = {url_token(TOKEN_KEY, a, b, 1) for a, b in (("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"))}
    assert len(tokens) == 4


@pytest.mark.parametrize("key", [b"", b"short", bytes(15)])
def test_short_key_for_url_tokens_is_a_fault_of_configuration(key: bytes) -> None:
    with pytest.raises(ConfigurationError):
        url_token(key, JOB, "inc", 1)
    with pytest.raises(ConfigurationError):
        token_matches(key, "x", JOB, "inc", 1)
