"""Standard Webhooks v1: HMAC-SHA256 over `id.timestamp.body`, in base64, several signatures to a header."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Sequence

from mediajobs.errors import ConfigurationError
from mediajobs.messages import Verified
from mediajobs.signatures.common import (
    LEAST_KEY_BYTES,
    MOST_ID_CHARACTERS,
    MOST_SIGNATURES,
    BadSignature,
    Headers,
    decoded,
    digest,
    fresh,
    named,
    only,
    text_of,
)

# The shortest base64 text of 16 bytes: what a secret written without `whsec_` must have at the least.
_LEAST_PLAIN_CHARACTERS = 22

# A v1 signature is the base64 of 32 bytes, so its form is fixed. Senders part several by a space; a gateway that
# joins two headers into one puts a comma between them as well.
_SIGNATURE = re.compile(r"(?:^|[\s,])v1,([A-Za-z0-9+/]{43}=)(?=[\s,]|$)", re.ASCII)
_ID = re.compile(r"[!-\-/-~]+", re.ASCII)  # visible ASCII without the dot, which parts the signed fields


def verify_standard(
    secrets: Sequence[str],
    headers: Headers,
    body: bytes,
    now_ms: int,
    tolerance_s: int = 300,
) -> Verified:
    """Returns what was signed if any v1 signature was made with any of the secrets, at most `tolerance_s` away.

    `headers` has lower-case names and every value of each. Raises BadSignature, or ConfigurationError for a secret
    that cannot be used: one bad secret refuses all, so that the mistake is seen before the good one is retired.
    """
    keys = [key for name, secret in named(secrets) for key in _keys(secret, name)]
    event_id, signed, timestamp = signed_content(headers, body, now_ms, tolerance_s)
    _match([_mac(key, signed) for key in keys], headers.get("webhook-signature", ()))
    return Verified(event_id=event_id, timestamp=timestamp, body_digest=digest(body))


def signed_content(headers: Headers, body: bytes, now_ms: int, tolerance_s: int) -> tuple[str, bytes, int]:
    """The event's id, the bytes that a signature covers, and when they were signed."""
    event_id = only(headers, "webhook-id")
    stamp = only(headers, "webhook-timestamp")
    if len(event_id) > MOST_ID_CHARACTERS or not _ID.fullmatch(event_id):
        raise BadSignature("webhook-id is not plain text without a dot")
    timestamp = fresh(stamp, "webhook-timestamp", now_ms, tolerance_s)
    return event_id, f"{event_id}.{stamp}.".encode("ascii") + body, timestamp


def sign_standard(secret: str, event_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature` for this delivery."""
    signed = f"{event_id}.{timestamp_s}.".encode() + body
    return "v1," + _mac(_keys(secret, "The webhook secret")[0], signed)


def _mac(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def _match(expected: list[str], values: Sequence[str]) -> None:
    """Returns if any signature is an expected one; looks at all of them, found or not."""
    given = [signature for value in values for signature in _SIGNATURE.findall(value)]
    if len(given) > MOST_SIGNATURES:
        raise BadSignature(f"webhook-signature holds more than {MOST_SIGNATURES} signatures")
    found = False
    for signature in given:
        for right in expected:
            found |= hmac.compare_digest(signature, right)
    if not found:
        raise BadSignature("no signature matches" if given else "webhook-signature holds no v1 signature")


def _keys(secret: object, name: str) -> list[bytes]:
    """The keys a secret may stand for, likeliest first. Messages never quote it.

    Written with `whsec_` it is base64. Without, senders differ: most mean base64 all the same, some the text itself.
    """
    if not isinstance(secret, str):
        raise ConfigurationError(f"{name} is not text.")
    text = text_of(secret.strip().removeprefix("v1,"), name)
    encoded = text.removeprefix("whsec_")
    prefixed = encoded != text
    key = decoded(encoded)
    if prefixed and (key is None or len(key) < LEAST_KEY_BYTES):
        raise ConfigurationError(f"{name} must be whsec_ and the base64 of at least {LEAST_KEY_BYTES} bytes.")
    if not prefixed and len(text.rstrip("=")) < _LEAST_PLAIN_CHARACTERS:
        raise ConfigurationError(f"{name} is too short: it needs at least {_LEAST_PLAIN_CHARACTERS} characters.")
    keys = [] if key is None else [key]
    return keys if prefixed else [*keys, text.encode()]
