"""Webhooks as a provider signs them, rightly or in whatever odd way a test wants: over each field's literal text."""

from __future__ import annotations

import base64
import hmac

Headers = dict[str, str | list[str]]

KEY = b"the key of these cases.."
NEW_KEY = b"another key of the cases"
# In the URL-safe alphabet this one has other characters than in the plain one.
ODD_KEY = b"\xfb\xef\xbe" * 8


def secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


SECRET = secret(KEY)
NEW_SECRET = secret(NEW_KEY)


def mac(body: bytes, event_id: str, stamp: str, key: bytes = KEY) -> str:
    """The base64 that follows `v1,`."""
    signed = f"{event_id}.{stamp}.".encode() + body
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def signed(body: bytes, event_id: str, stamp: str, key: bytes = KEY) -> Headers:
    return headers(event_id, stamp, f"v1,{mac(body, event_id, stamp, key)}")


def headers(event_id: str, stamp: str | None, signature: str | list[str]) -> Headers:
    """The three headers; without `stamp` two."""
    given: Headers = {"Webhook-Id": event_id, "Webhook-Signature": signature, "Content-Type": "application/json"}
    return given if stamp is None else {**given, "Webhook-Timestamp": stamp}
