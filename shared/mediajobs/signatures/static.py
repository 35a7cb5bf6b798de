"""A secret that comes in a header as it is, and no proof at all. What either says is a hint."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from mediajobs.messages import Verified
from mediajobs.signatures.common import BadSignature, Headers, digest, literal_keys, only


def verify_static(
    secrets: Sequence[str], header: str, prefix: str, headers: Headers, body: bytes, now_ms: int
) -> Verified:
    """Returns the delivery if the header holds any of the secrets, after `prefix`."""
    keys = literal_keys(secrets)
    value = only(headers, header)
    text = value.removeprefix(prefix)
    if prefix and text == value:
        raise BadSignature(f"{header} does not begin with its prefix")
    # Digests have one length, so that not even the length of the right one can be measured.
    given = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    found = False
    for key in keys:
        found |= hmac.compare_digest(given, hashlib.sha256(key).digest())
    if not found:
        raise BadSignature(f"{header} holds another secret")
    return _seen(body, now_ms, proven=True)


def unsigned(ref: str | None, body: bytes, now_ms: int) -> Verified:
    """The delivery, unproven: only the token in a job's own URL vouches for it, so one without is refused."""
    if ref is None:
        raise BadSignature("this provider signs nothing, and the URL names no job")
    return _seen(body, now_ms, proven=False)


def _seen(body: bytes, now_ms: int, *, proven: bool) -> Verified:
    body_digest = digest(body)
    return Verified(event_id=f"sha256:{body_digest}", timestamp=now_ms, body_digest=body_digest, proven=proven)
