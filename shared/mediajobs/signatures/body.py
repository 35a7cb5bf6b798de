"""HMAC-SHA256 of the raw body alone, in hex or base64, perhaps with a prefix.

It proves who wrote the body, not when: whoever has seen one delivery can send it again for ever. So what it says is
a hint, and the body itself is the event's identity; an id in an unsigned header would be anybody's to change.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mediajobs.messages import Verified
from mediajobs.signatures.common import BadSignature, Headers, base64_keys, digest, literal_keys, only

_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HmacForm:
    """How a provider writes the header, and its secrets."""

    header: str
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    base64_secret: bool = False


def verify_body(secrets: Sequence[str], form: HmacForm, headers: Headers, body: bytes, now_ms: int) -> Verified:
    """Returns what was signed if the header's one signature was made with any of the secrets."""
    keys = base64_keys(secrets) if form.base64_secret else literal_keys(secrets)
    given = _given(only(headers, form.header).strip(" "), form)
    found = False
    for key in keys:
        found |= hmac.compare_digest(given, hmac.digest(key, body, "sha256"))
    if not found:
        raise BadSignature("the signature does not match")
    body_digest = digest(body)
    return Verified(event_id=f"sha256:{body_digest}", timestamp=now_ms, body_digest=body_digest)


def sign_body(secret: str, body: bytes, form: HmacForm) -> str:
    """The header's value for this delivery."""
    mac = hmac.digest((base64_keys if form.base64_secret else literal_keys)([secret])[0], body, "sha256")
    return form.prefix + (mac.hex() if form.encoding == "hex" else base64.b64encode(mac).decode())


def _given(value: str, form: HmacForm) -> bytes:
    text = value.removeprefix(form.prefix)
    if form.prefix and text == value:
        raise BadSignature(f"{form.header} does not begin with its prefix")
    if form.encoding == "hex" and _HEX.fullmatch(text):
        return bytes.fromhex(text)
    if form.encoding == "base64" and _BASE64.fullmatch(text):
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            pass
    raise BadSignature(f"{form.header} is not the {form.encoding} of 32 bytes")
