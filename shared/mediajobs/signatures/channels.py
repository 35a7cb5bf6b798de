"""A job's live channel, and the token that opens this one channel until it expires. No table is read to check one."""

from __future__ import annotations

import base64
import hashlib
import re

from mediajobs.signatures.tokens import mac, same

NAMESPACE = "jobs"

# What AppSync takes as a segment, in lower case alone: nothing may hang on whether it tells cases apart.
_SEGMENT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")
_MAPPED = "x--"
_TOKEN = re.compile(r"([a-z0-9-]{1,50})\.([a-z2-7]{26})\.([1-9][0-9]{9,11})\.([a-z2-7]{26})")


def channel(tenant: str, job_id: str) -> str:
    """`/jobs/<tenant>/<request_id>`; a tenant whose name is no segment stands there as a digest of it."""
    return _path(_segment(tenant), job_id)


def channel_token(secret: bytes, tenant: str, job_id: str, expires_s: int) -> str:
    """Opens the job's channel, and no other, before `expires_s` (seconds since the epoch)."""
    segment = _segment(tenant)
    return f"{segment}.{job_id}.{expires_s}.{_signed(secret, segment, job_id, expires_s)}"


def opened_by(secret: bytes, token: str, now_ms: int) -> str | None:
    """The one channel that the token opens; None for what we did not make, and for what has expired."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    segment, job_id, expires_s, given = match[1], match[2], int(match[3]), match[4]
    if not same(_signed(secret, segment, job_id, expires_s), given):
        return None
    return _path(segment, job_id) if now_ms < expires_s * 1000 else None


def _path(segment: str, job_id: str) -> str:
    return f"/{NAMESPACE}/{segment}/{job_id}"


def _signed(secret: bytes, segment: str, job_id: str, expires_s: int) -> str:
    return mac(secret, "live-channel", segment, job_id, str(expires_s))


def _segment(tenant: str) -> str:
    if _SEGMENT.fullmatch(tenant) and not tenant.startswith(_MAPPED):
        return tenant
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).digest()[:16]
    return _MAPPED + base64.b32encode(digest).decode().rstrip("=").lower()
