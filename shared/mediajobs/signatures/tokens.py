"""The token in our own webhook URLs."""

from __future__ import annotations

import base64
import hashlib
import hmac

from mediajobs.errors import ConfigurationError
from mediajobs.signatures.common import LEAST_KEY_BYTES


def url_token(secret: bytes, request_id: str, incarnation: str, submission: int) -> str:
    """Twenty-six characters of [a-z2-7] that only the holder of `secret` can make for this job's submission."""
    if len(secret) < LEAST_KEY_BYTES:
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
