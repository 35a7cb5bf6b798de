"""Ed25519 with the sender's published keys (JWKS). The signed message is four lines: request id, user id, timestamp
and the hex SHA-256 of the raw body.

Checked in two steps, so that a request which cannot be right never causes the keys to be fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mediajobs.messages import Verified
from mediajobs.signatures import ed25519
from mediajobs.signatures.common import (
    TOLERANCE_S,
    BadSignature,
    Headers,
    decoded,
    digest,
    fresh,
    only,
    plain_text,
)

MOST_KEYS = 10
MOST_KEYSET_BYTES = 64 * 1024

_HEX = re.compile(r"[0-9a-fA-F]{128}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ed25519Form:
    """What the four headers' names begin with."""

    prefix: str = "X-Fal-Webhook"
    tolerance_s: int = TOLERANCE_S


@dataclass(frozen=True, slots=True)
class Candidate:
    """A delivery whose form and time are right; its signature has not been looked at."""

    message: bytes
    signature: bytes
    verified: Verified


def cheap_ed25519(form: Ed25519Form, headers: Headers, body: bytes, now_ms: int) -> Candidate:
    """Everything that can be checked without a key; raises BadSignature."""
    names = [f"{form.prefix}-{part}" for part in ("Request-Id", "User-Id", "Timestamp", "Signature")]
    request_id, user_id, stamp, signature = (only(headers, name) for name in names)
    plain_text(request_id, names[0])
    plain_text(user_id, names[1])
    if not _HEX.fullmatch(signature):
        raise BadSignature(f"{names[3]} is not the hex of {ed25519.SIGNATURE_BYTES} bytes")
    timestamp = fresh(stamp, names[2], now_ms, form.tolerance_s)
    body_digest = digest(body)
    message = f"{request_id}\n{user_id}\n{stamp}\n{body_digest}".encode("ascii")
    verified = Verified(event_id=request_id, timestamp=timestamp, body_digest=body_digest)
    return Candidate(message, bytes.fromhex(signature), verified)


def verify_ed25519(keys: Sequence[bytes], candidate: Candidate) -> Verified:
    """Returns what was signed if the signature was made with any of the keys."""
    if not ed25519.matches(keys, candidate.signature, candidate.message):
        raise BadSignature("no published key matches the signature")
    return candidate.verified


def public_keys(body: bytes) -> tuple[bytes, ...]:
    """The Ed25519 keys of a JWKS, the first ten at most; empty where it has none or is none. Never raises.

    Keys of other kinds are passed over. Padding is taken or left: base64url has none, live key sets have been seen
    with it.
    """
    if len(body) > MOST_KEYSET_BYTES:
        return ()
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    entries = document.get("keys") if isinstance(document, dict) else None
    found = [_key(entry) for entry in entries] if isinstance(entries, list) else []
    return tuple(dict.fromkeys(key for key in found if key is not None))[:MOST_KEYS]


def _key(entry: object) -> bytes | None:
    if not isinstance(entry, dict) or entry.get("kty", "OKP") != "OKP" or entry.get("crv", "Ed25519") != "Ed25519":
        return None
    x = entry.get("x")
    key = decoded(x) if isinstance(x, str) else None
    return key if key is not None and len(key) == ed25519.KEY_BYTES and any(key) else None
