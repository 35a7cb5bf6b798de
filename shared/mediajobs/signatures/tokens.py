"""The tokens in our own URLs: those that providers call, and those at which they read a job's files."""

from __future__ import annotations

import base64
import hashlib
import hmac

from mediajobs.errors import ConfigurationError
from mediajobs.signatures.common import LEAST_KEY_BYTES


def url_token(secret: bytes, request_id: str, incarnation: str, submission: int) -> str:
    """Twenty-six characters of [a-z2-7] that only the holder of `secret` can make for this job's submission."""
    return _token(secret, "webhook-url", request_id, incarnation, str(submission))


def token_matches(secret: bytes, token: str, request_id: str, incarnation: str, submission: int) -> bool:
    """Whether `token` is the one for this submission, in constant time."""
    return _same(token, url_token(secret, request_id, incarnation, submission))


def input_token(secret: bytes, request_id: str, incarnation: str, name: str) -> str:
    """The same for one file of the job's input."""
    return _token(secret, "input-url", request_id, incarnation, name)


def input_token_matches(secret: bytes, token: str, request_id: str, incarnation: str, name: str) -> bool:
    """Whether `token` is the one for this file, in constant time."""
    return _same(token, input_token(secret, request_id, incarnation, name))


def _token(secret: bytes, label: str, *parts: str) -> str:
    """The label keeps tokens of one use apart from others made with the same key."""
    if len(secret) < LEAST_KEY_BYTES:
        raise ConfigurationError("The key for our own URLs is missing or short: it needs at least 16 bytes.")
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    for part in (label, *parts):
        mac.update(len(part.encode()).to_bytes(4, "big") + part.encode())
    return base64.b32encode(mac.digest()[:16]).decode().rstrip("=").lower()


def _same(token: str, right: str) -> bool:
    return hmac.compare_digest(right.encode(), token.encode("utf-8", "replace"))
