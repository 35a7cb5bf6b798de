"""Standard Webhooks v1a: Ed25519 over the same bytes as v1.

The "secret" is the sender's public key, written `whpk_` and base64.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from mediajobs.errors import ConfigurationError
from mediajobs.messages import Verified
from mediajobs.signatures import ed25519
from mediajobs.signatures.common import BadSignature, Headers, decoded, digest, named, text_of
from mediajobs.signatures.standard import signed_content

# Each costs a curve operation for each key, unlike a v1 signature; a sender that rotates sends two.
MOST_V1A_SIGNATURES = 8

_SIGNATURE = re.compile(r"(?:^|[\s,])v1a,([A-Za-z0-9+/]{86}==)(?=[\s,]|$)", re.ASCII)


def verify_standard_asymmetric(
    public_keys: Sequence[str], headers: Headers, body: bytes, now_ms: int, tolerance_s: int = 300
) -> Verified:
    """As `verify_standard`, with the sender's public keys in the place of shared secrets."""
    keys = [_key(secret, name) for name, secret in named(public_keys)]
    event_id, signed, timestamp = signed_content(headers, body, now_ms, tolerance_s)
    given = [found for value in headers.get("webhook-signature", ()) for found in _SIGNATURE.findall(value)]
    if len(given) > MOST_V1A_SIGNATURES:
        raise BadSignature(f"webhook-signature holds more than {MOST_V1A_SIGNATURES} v1a signatures")
    if not given:
        raise BadSignature("webhook-signature holds no v1a signature")
    if not any(ed25519.matches(keys, base64.b64decode(signature), signed) for signature in given):
        raise BadSignature("no signature matches")
    return Verified(event_id=event_id, timestamp=timestamp, body_digest=digest(body))


def _key(secret: object, name: str) -> bytes:
    text = text_of(secret, name)
    if text.startswith("whsk_"):
        raise ConfigurationError(f"{name} is a private key: write the sender's public one, whpk_ and base64.")
    key = decoded(text.removeprefix("v1a,").removeprefix("whpk_"))
    if key is None or len(key) != ed25519.KEY_BYTES or not any(key):
        raise ConfigurationError(f"{name} must be whpk_ and the base64 of {ed25519.KEY_BYTES} bytes.")
    return key
