"""Standard Webhooks v1 signatures and the token in our webhook URLs. Pure: time and secrets are parameters.

Whatever a sender can put into a request ends in one `BadSignature`; whatever an operator can put into a secret
ends in one `ConfigurationError`, never in a check that lets everybody in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence

from mediajobs.errors import ConfigurationError, Unauthorized
from mediajobs.messages import Verified

MOST_SIGNATURES = 2000
MOST_ID_CHARACTERS = 256
_LEAST_KEY_BYTES = 16
# The shortest base64 text of 16 bytes: what a secret written without `whsec_` must have at the least.
_LEAST_PLAIN_CHARACTERS = 22

# A v1 signature is the base64 of 32 bytes, so its form is fixed. Senders part several by a space; a gateway that
# joins two headers into one puts a comma between them as well.
_SIGNATURE = re.compile(r"(?:^|[\s,])v1,([A-Za-z0-9+/]{43}=)(?=[\s,]|$)", re.ASCII)
_ID = re.compile(r"[!-\-/-~]+", re.ASCII)  # visible ASCII without the dot, which parts the signed fields
_SECONDS = re.compile(r"[0-9]{1,11}", re.ASCII)


class BadSignature(Unauthorized):
    """Not rightly signed and fresh. The sender is told nothing more; `reason` is for the operator's log."""

    def __init__(self, reason: str) -> None:
        super().__init__("The webhook's signature was not accepted.")
        self.reason = reason


def verify_standard(
    secrets: Sequence[str],
    headers: Mapping[str, Sequence[str]],
    body: bytes,
    now_ms: int,
    tolerance_s: int = 300,
) -> Verified:
    """Returns what was signed if any v1 signature was made with any of the secrets, at most `tolerance_s` away.

    `headers` has lower-case names and every value of each. Raises BadSignature, or ConfigurationError for a secret
    that cannot be used: one bad secret refuses all, so that the mistake is seen before the good one is retired.
    """
    keys = _keys_of_all(secrets)
    event_id = _only(headers, "webhook-id")
    stamp = _only(headers, "webhook-timestamp")
    if len(event_id) > MOST_ID_CHARACTERS or not _ID.fullmatch(event_id):
        raise BadSignature("webhook-id is not plain text without a dot")
    timestamp = _fresh(stamp, now_ms, tolerance_s)
    signed = f"{event_id}.{stamp}.".encode("ascii") + body
    _match([_mac(key, signed) for key in keys], headers.get("webhook-signature", ()))
    return Verified(event_id=event_id, timestamp=timestamp, body_digest=hashlib.sha256(body).hexdigest())


def sign_standard(secret: str, event_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature` for this delivery."""
    signed = f"{event_id}.{timestamp_s}.".encode() + body
    return "v1," + _mac(_keys(secret, "The webhook secret")[0], signed)


def url_token(secret: bytes, request_id: str, incarnation: str, submission: int) -> str:
    """Twenty-six characters of [a-z2-7] that only the holder of `secret` can make for this job's submission."""
    if len(secret) < _LEAST_KEY_BYTES:
        raise ConfigurationError("The key for webhook URLs is missing or short: it needs at least 16 bytes.")
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    # The label keeps these tokens apart from others made with the same key.
    for part in ("webhook-url", request_id, incarnation, str(submission)):
        mac.update(len(part.encode()).to_bytes(4, "big") + part.encode())
    return base64.b32encode(mac.digest()[:16]).decode().rstrip("=").lower()


def token_matches(secret: bytes, token: str, request_id: str, incarnation: str, submission: int) -> bool:
    """Whether `token` is the one for this submission, in constant time."""
    right = url_token(secret, request_id, incarnation, submission)
    return hmac.compare_digest(right.encode(), token.encode("utf-8", "replace"))


def _mac(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def _only(headers: Mapping[str, Sequence[str]], name: str) -> str:
    """The header's one value: of two that differ nobody can tell which was signed."""
    values = set(headers.get(name, ()))
    if len(values) != 1:
        raise BadSignature(f"{name} is missing" if not values else f"{name} came with several values")
    return values.pop()


def _fresh(stamp: str, now_ms: int, tolerance_s: int) -> int:
    """The timestamp in milliseconds. Only plain digits: a number in another dress was not what the sender signed."""
    if not _SECONDS.fullmatch(stamp):
        raise BadSignature("webhook-timestamp is not whole seconds in plain digits")
    timestamp = int(stamp) * 1000
    if now_ms - timestamp > tolerance_s * 1000:
        raise BadSignature(f"webhook-timestamp is {(now_ms - timestamp) // 1000} s in the past")
    if timestamp - now_ms > tolerance_s * 1000:
        raise BadSignature(f"webhook-timestamp is {(timestamp - now_ms) // 1000} s in the future")
    return timestamp


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


def _keys_of_all(secrets: Sequence[str]) -> list[bytes]:
    if isinstance(secrets, str) or not secrets:
        raise ConfigurationError('No webhook secret is set: put at least one into "webhook_secrets".')
    return [key for no, secret in enumerate(secrets, 1) for key in _keys(secret, f"Webhook secret {no}")]


def _keys(secret: object, name: str) -> list[bytes]:
    """The keys a secret may stand for, likeliest first. Messages never quote it.

    Written with `whsec_` it is base64. Without, senders differ: most mean base64 all the same, some the text itself.
    """
    if not isinstance(secret, str):
        raise ConfigurationError(f"{name} is not text.")
    text = secret.strip().removeprefix("v1,")
    if text.startswith(("{", "[", '"')):
        raise ConfigurationError(f"{name} looks like JSON: write the secret itself.")
    encoded = text.removeprefix("whsec_")
    prefixed = encoded != text
    decoded = _decoded(encoded)
    if prefixed and (decoded is None or len(decoded) < _LEAST_KEY_BYTES):
        raise ConfigurationError(f"{name} must be whsec_ and the base64 of at least {_LEAST_KEY_BYTES} bytes.")
    if not prefixed and len(text.rstrip("=")) < _LEAST_PLAIN_CHARACTERS:
        raise ConfigurationError(f"{name} is too short: it needs at least {_LEAST_PLAIN_CHARACTERS} characters.")
    keys = [] if decoded is None else [decoded]
    return keys if prefixed else [*keys, text.encode()]


def _decoded(text: str) -> bytes | None:
    """Base64 of either alphabet, padded or not; None for anything else."""
    plain = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
