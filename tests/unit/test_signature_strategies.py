"""The strategies beside Standard Webhooks v1, each against a published vector where there is one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.errors import ConfigurationError
from mediajobs.messages import Verified
from mediajobs.signatures import (
    BadSignature,
    Ed25519Form,
    HmacForm,
    TimestampedForm,
    cheap_ed25519,
    ed25519,
    public_keys,
    sign_body,
    sign_timestamped,
    unsigned,
    verify_body,
    verify_ed25519,
    verify_standard_asymmetric,
    verify_static,
    verify_timestamped,
)

NOW_S = 1_800_000_000
NOW = NOW_S * 1000
BODY = b'{"id": "p-1"}'
SECRET = "a-literal-secret-of-24-c"

# RFC 8032, first test of Ed25519.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
EMPTY_SIGNED = bytes.fromhex(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
    "55141438e7a100b"
)
KEY = Ed25519PrivateKey.from_private_bytes(SEED)
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1")
OTHER_PUBLIC = OTHER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


# --- timestamped hex -----------------------------------------------------------------------------------

MUX = TimestampedForm(header="Mux-Signature")
MUX_VALUE = "t=1565125718,v1=854ece4c22acef7c66b57d4e504153bc512595e8e9c772ece2a68150548c19a7"


def timestamped(
    value: str | tuple[str, ...], form: TimestampedForm = MUX, now: int = NOW, body: bytes = BODY
) -> Verified:
    values = (value,) if isinstance(value, str) else value
    return verify_timestamped([SECRET], form, {form.header.lower(): values}, body, now)


def test_the_published_mux_vector_verifies() -> None:
    """As Mux's own backend made it; the secret is the key as it is written."""
    headers = {"mux-signature": (MUX_VALUE,)}
    made = verify_timestamped(["SuperSecret123"], MUX, headers, b'{"test":"body"}', 1_565_125_718_000)
    assert made.timestamp == 1_565_125_718_000
    assert sign_timestamped("SuperSecret123", 1_565_125_718, b'{"test":"body"}', MUX) == MUX_VALUE


def test_other_names_and_several_signatures_are_a_matter_of_form() -> None:
    """ElevenLabs writes v0; a rotation sends two; other schemes are passed over."""
    form = TimestampedForm(header="ElevenLabs-Signature", signature="v0")
    good = sign_timestamped(SECRET, NOW_S, BODY, form)
    stamp, mac = good.split(",")
    for value in (good, f"{stamp},v0={'0' * 64},{mac}", f"{mac},{stamp}", f"{stamp}, {mac}", f"v1=x,{good},v2=y"):
        assert timestamped(value, form).timestamp == NOW
    with pytest.raises(BadSignature) as caught:
        timestamped(good, TimestampedForm(header=form.header))
    assert "no v1 signature" in caught.value.reason


@pytest.mark.parametrize(("stamp", "reason"), [
    (str(NOW_S - 301), "in the past"), (str(NOW_S + 301), "in the future"), (str(NOW_S * 1000), "plain digits"),
    (f"{NOW_S}.5", "plain digits"), (f" {NOW_S}", "plain digits"), (f"+{NOW_S}", "plain digits"),
    ("\uff11\uff18", "plain digits"), ("nan", "plain digits"), ("inf", "plain digits"), ("1e30", "plain digits"),
    ("", "plain digits"), (f"-{NOW_S}", "plain digits"), ("9" * 400, "plain digits"),
])  # fmt: skip
def test_a_time_that_is_odd_or_far_is_refused_though_rightly_signed(stamp: str, reason: str) -> None:
    """CASES 32: over the literal text, both sides, finite."""
    mac = hmac.new(SECRET.encode(), stamp.encode() + b"." + BODY, hashlib.sha256).hexdigest()
    with pytest.raises(BadSignature) as caught:
        timestamped(f"t={stamp},v1={mac}")
    assert reason in caught.value.reason


@pytest.mark.parametrize("away", [-300, -299, 0, 299, 300])
def test_inside_the_window_it_counts(away: int) -> None:
    """Both ways."""
    assert timestamped(sign_timestamped(SECRET, NOW_S + away, BODY, MUX)).timestamp == NOW + away * 1000


@pytest.mark.parametrize(
    "value",
    ["", ",", "=", "t", "t=", "v1=", f"t={NOW_S}", f"t={NOW_S},v1=", f"t={NOW_S},v1=zz", f"t={NOW_S},t=1,v1={'0' * 64}",
     f"t={NOW_S}," + "v1=00," * 100, f"v1={'0' * 64}", "\x00", "t=\u00e9"],
)  # fmt: skip
def test_a_header_of_another_form_is_refused(value: str) -> None:
    """One error, whatever it is."""
    with pytest.raises(BadSignature):
        timestamped(value)


def test_two_headers_or_none_are_refused() -> None:
    """Nobody can tell which was signed."""
    good = sign_timestamped(SECRET, NOW_S, BODY, MUX)
    assert timestamped((good, good)).timestamp == NOW
    for values in ((), (good, MUX_VALUE)):
        with pytest.raises(BadSignature):
            timestamped(values)


def test_one_secret_has_two_meanings() -> None:
    """`whsec_` means the text itself here and its base64 there: the form says which."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    decoded = TimestampedForm(header="X-S", base64_secret=True)
    literal = TimestampedForm(header="X-S")
    by_base64, by_text = (sign_timestamped(secret, NOW_S, BODY, form) for form in (decoded, literal))
    assert by_base64 != by_text
    for value, form, other in ((by_base64, decoded, literal), (by_text, literal, decoded)):
        assert verify_timestamped([secret], form, {"x-s": (value,)}, BODY, NOW)
        with pytest.raises(BadSignature):
            verify_timestamped([secret], other, {"x-s": (value,)}, BODY, NOW)


# --- body HMAC -----------------------------------------------------------------------------------------

BFL = HmacForm(header="X-BFL-Signature", prefix="sha256=")


@pytest.mark.parametrize(
    "form",
    [
        BFL,
        HmacForm(header="Signature"),
        HmacForm(header="S", encoding="base64"),
        HmacForm(header="S", base64_secret=True),
    ],
)
def test_a_body_that_was_signed_verifies_and_its_digest_is_its_identity(form: HmacForm) -> None:
    """CASES 17: an id in an unsigned header would let the same delivery be a new one each time."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = {form.header.lower(): (sign_body(secret, BODY, form),), "x-event-id": ("1",)}
    first = verify_body([secret], form, headers, BODY, NOW)
    again = verify_body([secret], form, {**headers, "x-event-id": ("2",)}, BODY, NOW + 10**9)
    assert first.event_id == again.event_id == f"sha256:{hashlib.sha256(BODY).hexdigest()}"
    with pytest.raises(BadSignature):
        verify_body([secret], form, headers, BODY + b" ", NOW)
    with pytest.raises(BadSignature):
        verify_body(["another-secret-that-is-long-and-new-"], form, headers, BODY, NOW)


@pytest.mark.parametrize(
    "value", ["", "sha256=", "sha256=zz", "0" * 64, "sha1=" + "0" * 64, "sha256=" + "0" * 64, "\u00e9"]
)
def test_a_signature_of_another_form_is_refused(value: str) -> None:
    """The prefix is part of the form."""
    with pytest.raises(BadSignature):
        verify_body([SECRET], BFL, {"x-bfl-signature": (value,)}, BODY, NOW)


# --- static header, nothing ----------------------------------------------------------------------------


def test_a_static_header_is_compared_whole() -> None:
    """With its prefix, and with any of several secrets."""
    headers = {"authorization": (f"Bearer {SECRET}",)}
    assert verify_static(["an-older-secret-here", SECRET], "Authorization", "Bearer ", headers, BODY, NOW).proven
    for value in (SECRET, f"Bearer {SECRET} ", f"bearer {SECRET}", "Bearer ", f"Bearer {SECRET[:-1]}", "\udcff"):
        with pytest.raises(BadSignature):
            verify_static([SECRET], "Authorization", "Bearer ", {"authorization": (value,)}, BODY, NOW)


def test_what_nobody_signs_is_unproven_and_needs_a_jobs_own_url() -> None:
    """The token in the URL is checked where the job is known."""
    assert unsigned("ref", BODY, NOW).proven is False
    with pytest.raises(BadSignature):
        unsigned(None, BODY, NOW)


# --- secrets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", [[], [""], ["short"], ["whsec_"], ["whsec_short"], ["{}"], ['"x"'], [5], [SECRET, ""], SECRET]
)
def test_a_secret_that_cannot_be_used_refuses_all(bad: object) -> None:
    """CASES 24: an operator is told, and an HMAC with an empty key opens nothing."""
    mac = hmac.new(b"", BODY, hashlib.sha256).hexdigest()
    empty = {"x-bfl-signature": ("sha256=" + mac,), "mux-signature": (f"t={NOW_S},v1={mac}",), "a": ("",)}
    with pytest.raises(ConfigurationError):
        verify_body(bad, BFL, empty, BODY, NOW)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        verify_timestamped(bad, MUX, empty, BODY, NOW)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        verify_static(bad, "A", "", empty, BODY, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", [SECRET, SECRET + "\n", " " + SECRET])
def test_what_pasting_adds_does_not_matter(written: str) -> None:
    """A newline at the end of a secret would refuse every event for ever."""
    assert verify_body([written], BFL, {"x-bfl-signature": (sign_body(SECRET, BODY, BFL),)}, BODY, NOW)


# --- Ed25519 -------------------------------------------------------------------------------------------


def test_the_first_vector_of_rfc_8032_verifies() -> None:
    """The code path of fal and v1a."""
    assert ed25519.matches([PUBLIC], EMPTY_SIGNED, b"")
    assert ed25519.matches([bytes(32), b"\xff" * 32, PUBLIC], EMPTY_SIGNED, b"")
    assert not ed25519.matches([PUBLIC], EMPTY_SIGNED, b" ")
    assert not ed25519.matches([PUBLIC], EMPTY_SIGNED[:-1] + b"\0", b"")
    assert not ed25519.matches([], EMPTY_SIGNED, b"")


def v1a(*signatures: str, key: str | None = None, **headers: str) -> Verified:
    values = {"webhook-id": ("msg_1",), "webhook-timestamp": (str(NOW_S),), "webhook-signature": signatures}
    values |= {name.replace("_", "-"): (value,) for name, value in headers.items()}
    return verify_standard_asymmetric([key or "whpk_" + base64.b64encode(PUBLIC).decode()], values, BODY, NOW)


def signed_v1a(key: Ed25519PrivateKey = KEY) -> str:
    return "v1a," + base64.b64encode(key.sign(f"msg_1.{NOW_S}.".encode() + BODY)).decode()


@pytest.mark.parametrize(
    "key", ["whpk_" + base64.b64encode(PUBLIC).decode(), base64.urlsafe_b64encode(PUBLIC).decode()]
)
def test_a_v1a_signature_verifies_beside_others(key: str) -> None:
    """Old and new, v1 and unknown versions in one header."""
    assert v1a(signed_v1a(), key=key).event_id == "msg_1"
    assert v1a(f"v1,{'A' * 43}= {signed_v1a(OTHER)} v3,x {signed_v1a()}", key=key)
    assert v1a(f"{signed_v1a(OTHER)}, {signed_v1a()}", key=key)


@pytest.mark.parametrize(
    "signatures",
    [(), ("",), ("v1a,",), ("v1a",), (signed_v1a(OTHER),), (signed_v1a().replace("v1a", "v1"),), (signed_v1a()[:-1],),
     tuple([signed_v1a(OTHER)] * 9)],
)  # fmt: skip
def test_anything_else_is_no_v1a_signature(signatures: tuple[str, ...]) -> None:
    """And work is bounded: nine signatures are too many."""
    with pytest.raises(BadSignature):
        v1a(*signatures)


@pytest.mark.parametrize("stamp", [str(NOW_S - 301), str(NOW_S + 301), "now", ""])
def test_a_v1a_delivery_has_a_time_too(stamp: str) -> None:
    """The same window."""
    with pytest.raises(BadSignature):
        v1a(signed_v1a(), webhook_timestamp=stamp)


@pytest.mark.parametrize("bad", ["whsk_" + base64.b64encode(SEED * 2).decode(), "whpk_", "whpk_AAAA", "x" * 43 + "!",
                                 "whpk_" + base64.b64encode(bytes(32)).decode()])  # fmt: skip
def test_a_public_key_that_cannot_be_used_is_our_fault(bad: str) -> None:
    """A private key in its place is named as one."""
    with pytest.raises(ConfigurationError):
        v1a(signed_v1a(), key=bad)


def fal_headers(key: Ed25519PrivateKey = KEY, **changes: str) -> dict[str, tuple[str, ...]]:
    message = f"r-1\nu-1\n{NOW_S}\n{hashlib.sha256(BODY).hexdigest()}"
    mac = key.sign(message.encode()).hex()
    values = {"Request-Id": "r-1", "User-Id": "u-1", "Timestamp": str(NOW_S), "Signature": mac}
    values |= {name.replace("_", "-"): value for name, value in changes.items()}
    return {f"x-fal-webhook-{name.lower()}": (value,) for name, value in values.items()}


def test_four_headers_and_the_body_are_what_fal_signs() -> None:
    """The request id, which is signed, is the event's identity."""
    candidate = cheap_ed25519(Ed25519Form(), fal_headers(), BODY, NOW)
    assert verify_ed25519([OTHER_PUBLIC, PUBLIC], candidate).event_id == "r-1"
    with pytest.raises(BadSignature):
        verify_ed25519([OTHER_PUBLIC], candidate)
    for changes in ({"Request_Id": "r-2"}, {"User_Id": "u-2"}, {"Timestamp": str(NOW_S - 1)}):
        with pytest.raises(BadSignature):
            verify_ed25519([PUBLIC], cheap_ed25519(Ed25519Form(), fal_headers(**changes), BODY, NOW))


@pytest.mark.parametrize(
    "changes",
    [{"Timestamp": str(NOW_S - 301)}, {"Timestamp": str(NOW_S + 301)}, {"Timestamp": ""}, {"Request_Id": ""},
     {"Request_Id": "x" * 257}, {"Request_Id": "a\nb"}, {"User_Id": "\u00e9"}, {"Signature": "0" * 127},
     {"Signature": "g" * 128}, {"Signature": ""}],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_before_any_key_is_needed(changes: dict[str, str]) -> None:
    """So that it never causes a fetch."""
    with pytest.raises(BadSignature):
        cheap_ed25519(Ed25519Form(), fal_headers(**changes), BODY, NOW)


def test_a_key_set_is_read_with_and_without_padding_and_bounded() -> None:
    """Ten keys, 64 KB, and only keys of this kind."""
    text = base64.urlsafe_b64encode(PUBLIC).decode()
    for x in (text, text.rstrip("="), text + "=="):
        assert public_keys(json.dumps({"keys": [{"x": x}]}).encode()) == (PUBLIC,)
    others = [{"kty": "RSA", "n": "x"}, {"kty": "OKP", "crv": "X25519", "x": text}, {"x": "AAAA"}, {"x": 5}, 5, None]
    assert public_keys(json.dumps({"keys": [*others, {"kty": "OKP", "crv": "Ed25519", "x": text}]}).encode()) == (
        PUBLIC,
    )
    many = [{"x": base64.b64encode(bytes([n + 1]) * 32).decode()} for n in range(50)]
    assert len(public_keys(json.dumps({"keys": many}).encode())) == 10
    padded = json.dumps({"keys": [{"x": text}], "more": "x" * 70_000}).encode()
    assert public_keys(padded) == ()


@given(st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_what_is_no_key_set_has_no_keys(body: bytes) -> None:
    """Whatever stands at that address."""
    assert public_keys(body) == ()
    assert public_keys(b"[" * 5000) == public_keys(b"null") == public_keys(b'{"keys": {}}') == ()


@given(value=st.text(max_size=300), stamp=st.text(max_size=20), body=st.binary(max_size=50))
def test_nothing_a_sender_can_write_is_another_error(value: str, stamp: str, body: bytes) -> None:
    """Half characters, nulls, long rows of digits: one refusal."""
    headers = dict.fromkeys(("mux-signature", "x-bfl-signature", "a", "webhook-signature", "webhook-id"), (value,))
    headers |= {f"x-fal-webhook-{part}": (value,) for part in ("request-id", "user-id", "timestamp", "signature")}
    headers |= {"webhook-timestamp": (stamp,)}
    key = "whpk_" + base64.b64encode(PUBLIC).decode()
    for attempt in (
        lambda: verify_timestamped([SECRET], MUX, headers, body, NOW),
        lambda: verify_body([SECRET], BFL, headers, body, NOW),
        lambda: verify_static([SECRET], "A", "", headers, body, NOW),
        lambda: verify_standard_asymmetric([key], headers, body, NOW),
        lambda: cheap_ed25519(Ed25519Form(), headers, body, NOW),
    ):
        with pytest.raises(BadSignature):
            attempt()
