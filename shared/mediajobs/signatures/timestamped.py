"""One header with a timestamp and hex signatures: `t=1565125718,v1=854e…`. HMAC-SHA256 over `timestamp.body`."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mediajobs.messages import Verified
from mediajobs.signatures.common import (
    TOLERANCE_S,
    BadSignature,
    Headers,
    base64_keys,
    digest,
    fresh,
    literal_keys,
    only,
)

MOST_PARTS = 64
_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampedForm:
    """How a provider writes the header, and its secrets."""

    header: str
    timestamp: str = "t"
    signature: str = "v1"
    base64_secret: bool = False
    tolerance_s: int = TOLERANCE_S


def verify_timestamped(
    secrets: Sequence[str], form: TimestampedForm, headers: Headers, body: bytes, now_ms: int
) -> Verified:
    """Returns what was signed if any signature of the form's name was made with any of the secrets.

    Nothing but the timestamp and the body is signed, so those two are the event's identity.
    """
    keys = base64_keys(secrets) if form.base64_secret else literal_keys(secrets)
    stamp, given = _parts(only(headers, form.header), form)
    timestamp = fresh(stamp, f"the timestamp in {form.header}", now_ms, form.tolerance_s)
    signed = stamp.encode("ascii") + b"." + body
    expected = [hmac.digest(key, signed, "sha256").hex() for key in keys]
    found = False
    for signature in given:
        for right in expected:
            found |= hmac.compare_digest(signature.lower(), right)
    if not found:
        raise BadSignature("no signature matches")
    body_digest = digest(body)
    return Verified(event_id=f"sha256:{body_digest}", timestamp=timestamp, body_digest=body_digest)


def sign_timestamped(secret: str, timestamp_s: int, body: bytes, form: TimestampedForm) -> str:
    """The header's value for this delivery."""
    key = (base64_keys if form.base64_secret else literal_keys)([secret])[0]
    mac = hmac.digest(key, f"{timestamp_s}.".encode() + body, "sha256").hex()
    return f"{form.timestamp}={timestamp_s},{form.signature}={mac}"


def _parts(value: str, form: TimestampedForm) -> tuple[str, list[str]]:
    """The one timestamp and every signature of this name; parts of other names belong to other schemes."""
    parts = value.split(",", MOST_PARTS)
    if len(parts) > MOST_PARTS:
        raise BadSignature(f"{form.header} has more than {MOST_PARTS} parts")
    pairs = [part.strip(" ").partition("=") for part in parts]
    stamps = {text for name, _, text in pairs if name == form.timestamp}
    if len(stamps) != 1:
        raise BadSignature(f"{form.header} has no timestamp, or several")
    given = [text for name, _, text in pairs if name == form.signature and _HEX.fullmatch(text)]
    if not given:
        raise BadSignature(f"{form.header} holds no {form.signature} signature")
    return stamps.pop(), given
