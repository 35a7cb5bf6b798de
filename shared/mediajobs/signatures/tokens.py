"""The tokens that we make ourselves: for URLs that providers call or read files at, and for live channels."""

from __future__ import annotations

import base64
import hashlib
import hmac

from mediajobs.errors import ConfigurationError
from mediajobs.signatures.common import LEAST_KEY_BYTES


def url_token(secret: bytes, request_id: str, incarnation: str, submission: int) -> str:
    """Twenty-six characters of [a-z2-7] that only the holder of `secret` can make for this job's submission."""
    return mac(secret, "webhook-url", request_id, incarnation, str(submission))


def token_matches(secret: bytes, token: str, request_id: str, incarnation: str, submission: int) -> bool:
    """Whether `token` is the one for this submission, in constant time."""
    return same(url_token(secret, request_id, incarnation, submission), token)


def input_token(secret: bytes, request_id: str, incarnation: str, name: str) -> str:
    """The same for one file of the job's input."""
    return mac(secret, "input-url", request_id, incarnation, name)


def input_token_matches(secret: bytes, token: str, request_id: str, incarnation: str, name: str) -> bool:
    """Whether `token` is the one for this file, in constant time."""
    return same(input_token(secret, request_id, incarnation, name), token)


def mac(secret: bytes, label: str, *parts: str) -> str:
    """Sixteen bytes of HMAC-SHA256 as [a-z2-7]. The label keeps tokens of one use apart from others of the same key."""
    if len(secret) < LEAST_KEY_BYTES:
        raise ConfigurationError("The key for our own tokens is missing or short: it needs at least 16 bytes.")
    made = hmac.new(secret, digestmod=hashlib.sha256)
    for part in (label, *parts):
        made.update(len(part.encode()).to_bytes(4, "big") + part.encode())
    return base64.b32encode(made.digest()[:16]).decode().rstrip("=").lower()


def same(right: str, given: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "replace"))
