"""What the strategies share: headers, timestamps, and secrets as people write them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence

from mediajobs.errors import ConfigurationError, Unauthorized

MOST_SIGNATURES = 2000
MOST_ID_CHARACTERS = 256
LEAST_KEY_BYTES = 16
LEAST_LITERAL = 12
TOLERANCE_S = 300

Headers = Mapping[str, Sequence[str]]  # names in lower case, every value of each

_SECONDS = re.compile(r"[0-9]{1,11}", re.ASCII)
_TEXT = re.compile(r"[!-~]+", re.ASCII)


class BadSignature(Unauthorized):
    """Not rightly signed and fresh. The sender is told nothing more; `reason` is for the operator's log."""

    def __init__(self, reason: str) -> None:
        super().__init__("The webhook's signature was not accepted.")
        self.reason = reason


def digest(body: bytes) -> str:
    """What `Verified.body_digest` holds."""
    return hashlib.sha256(body).hexdigest()


def only(headers: Headers, name: str) -> str:
    """The header's one value: of two that differ nobody can tell which was signed."""
    values = set(headers.get(name.lower(), ()))
    if len(values) != 1:
        raise BadSignature(f"{name} is missing" if not values else f"{name} came with several values")
    return values.pop()


def plain_text(value: str, name: str) -> str:
    """The value where it is visible ASCII of a bounded length; else nothing odd gets into a key or a log."""
    if len(value) > MOST_ID_CHARACTERS or not _TEXT.fullmatch(value):
        raise BadSignature(f"{name} is not a short plain text")
    return value


def fresh(stamp: str, name: str, now_ms: int, tolerance_s: int) -> int:
    """The timestamp in milliseconds. Only plain digits: a number in another dress was not what the sender signed."""
    if not _SECONDS.fullmatch(stamp):
        raise BadSignature(f"{name} is not whole seconds in plain digits")
    timestamp = int(stamp) * 1000
    if now_ms - timestamp > tolerance_s * 1000:
        raise BadSignature(f"{name} is {(now_ms - timestamp) // 1000} s in the past")
    if timestamp - now_ms > tolerance_s * 1000:
        raise BadSignature(f"{name} is {(timestamp - now_ms) // 1000} s in the future")
    return timestamp


def literal_keys(secrets: Sequence[str]) -> list[bytes]:
    """Secrets that are the key as they are written, a `whsec_` at their front included."""
    return [literal(secret, name) for name, secret in named(secrets)]


def base64_keys(secrets: Sequence[str]) -> list[bytes]:
    """Secrets that are base64, after their `whsec_` where there is one."""
    keys = []
    for name, secret in named(secrets):
        key = decoded(text_of(secret, name).removeprefix("whsec_"))
        if key is None or len(key) < LEAST_KEY_BYTES:
            raise ConfigurationError(f"{name} must be the base64 of at least {LEAST_KEY_BYTES} bytes.")
        keys.append(key)
    return keys


def named(secrets: Sequence[str]) -> list[tuple[str, object]]:
    """Each secret with the name it has in messages, which never quote it."""
    if isinstance(secrets, str) or not secrets:
        raise ConfigurationError('No webhook secret is set: put at least one into "webhook_secrets".')
    return [(f"Webhook secret {number}", secret) for number, secret in enumerate(secrets, 1)]


def literal(secret: object, name: str) -> bytes:
    text = text_of(secret, name)
    if len(text.removeprefix("whsec_")) < LEAST_LITERAL:
        raise ConfigurationError(f"{name} is too short: it needs at least {LEAST_LITERAL} characters.")
    return text.encode("utf-8", "surrogatepass")


def text_of(secret: object, name: str) -> str:
    """The secret without the blanks that pasting adds."""
    if not isinstance(secret, str):
        raise ConfigurationError(f"{name} is not text.")
    text = secret.strip()
    if text.startswith(("{", "[", '"')):
        raise ConfigurationError(f"{name} looks like JSON: write the secret itself.")
    return text


def decoded(text: str) -> bytes | None:
    """Base64 of either alphabet, padded or not; None for anything else."""
    plain = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
