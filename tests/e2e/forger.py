"""Whoever knows the address of a job's webhook, and as much of the secret as a test gives."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass

from local.stack import Stack
from mediajobs.signatures import url_token
from tests.e2e.client import Answer, Header, send
from tests.e2e.truth import Provider, heads, rows


@dataclass(frozen=True)
class Forger:
    """Somebody who knows the address of a job's webhook, and as much of the secret as a test gives."""

    url: str
    ref: str
    secrets: list[str]
    token_key: bytes

    def headers(self, body: bytes, *, moment: str | None = None, event: str = "msg_1") -> dict[str, str]:
        stamp = moment if moment is not None else str(int(time.time()))
        return {
            "webhook-id": event,
            "webhook-timestamp": stamp,
            "webhook-signature": sign_text(self.secrets, event, stamp, body),
        }

    def post(self, body: bytes, headers: dict[str, str] | list[Header], path: str | None = None) -> Answer:
        lines: list[Header] = list(headers.items()) if isinstance(headers, dict) else headers
        where = f"/v1/webhooks/sim/{self.ref}" if path is None else path
        return send(self.url, "POST", where, [("Content-Type", "application/json"), *lines], body)


def sign_text(secrets: list[str], event: str, stamp: str, body: bytes) -> str:
    """Rightly signed over the literal text of the timestamp, whatever it is."""
    signed = f"{event}.{stamp}.".encode() + body
    keys = (base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets)
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join("v1," + base64.b64encode(digest).decode() for digest in digests)


def forger_of(stack: Stack, job_id: str, provider: Provider) -> Forger:
    """All that the provider knows of this job."""
    key = tokens_key(stack)
    ref = f"{job_id}.1.{url_token(key, job_id, heads(rows(stack))[job_id].incarnation, 1)}"
    return Forger(stack.info["api_url"], ref, provider.secrets("sim"), key)


def tokens_key(stack: Stack) -> bytes:
    """With which the stack signs its own tokens."""
    found = stack.client("secretsmanager").get_secret_value(SecretId=f"{stack.info['stack_name']}/tokens")
    key: bytes = found["SecretString"].strip().encode()
    return key
