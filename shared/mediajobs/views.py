"""How a job looks from outside. Pure: a job in, plain JSON values out.

What is not named here is never shown: slots, tokens, digests, keys of objects, the provider's links.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mediajobs.callbacks import Registration
from mediajobs.jobs.model import Attention, Job, Output
from mediajobs.jobs.rules_people import decisions
from mediajobs.jobs.states import PUBLIC_STATUS, TERMINAL, ErrorCode, State
from mediajobs.messages import Progress
from mediajobs.pauses import PauseReason, Provider
from mediajobs.uploads import Form

SCHEMA_VERSION = "1"
LIVE_SCHEMA_VERSION = "1"
OPERATOR = "operator"

STAGE: dict[State, str] = {
    State.PENDING: "queued",
    State.SUBMITTING: "submitting",
    State.RUNNING: "generating",
    State.STORING: "storing",
}

# What an event says of a failure. The job's own text may be the provider's, and providers quote prompts.
FAILURE: dict[ErrorCode, str] = {
    ErrorCode.REJECTED: "the provider refused the request as it is",
    ErrorCode.CONTENT_MODERATED: "the provider's moderation refused the input or the result",
    ErrorCode.PROVIDER_ERROR: "the provider took the job and could not do it",
    ErrorCode.INVALID_RESULT: "what the provider delivered is not the media that was asked for",
    ErrorCode.EXPIRED_IN_QUEUE: "the job was not submitted before its start deadline",
    ErrorCode.FAILED_BY_OPERATOR: "an operator ended the job",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def public(
    job: Job,
    *,
    progress: Progress | None = None,
    urls: Sequence[tuple[Output, str, int]] | None = None,
    metadata: Mapping[str, str] | None = None,
    caller_scope: str = "user",
    now: int | None = None,
) -> dict[str, Any]:
    """The job as the API shows it; with `now`, an output that is past its keeping says so.

    `metadata` is left out where it was not read (lists, answers to cancel and resolve); `urls` are
    (output, URL, expiry in ms). An operator also sees whose job it is and what may be decided.
    """
    operator = caller_scope == OPERATOR
    shown: dict[str, Any] = {"request_id": job.id}
    if operator:
        shown["tenant"] = job.tenant
    shown |= {
        "status": PUBLIC_STATUS[job.state],
        "stage": STAGE.get(job.state),
        "provider_stage": _provider_stage(job, progress),
        "provider": job.provider,
        "model": job.model,
        "progress": _percent(job, progress),
        "attention": _attention(job, job.attention, operator=operator) if job.attention else None,
        "findings": [
            {
                "kind": str(finding.kind),
                "provider_job_id": finding.provider_job_id,
                "since": iso(finding.since),
                "acknowledged": finding.acknowledged,
            }
            for finding in job.findings
        ],
        "cancel_requested": job.cancel_requested,
        "outputs": _outputs(job.outputs, urls or (), now),
        "error": {"code": str(job.error.code), "message": job.error.message} if job.error else None,
    }
    if metadata is not None:
        shown["metadata"] = dict(metadata)
    return shown | {
        "created_at": iso(job.created_at),
        "updated_at": iso(job.updated_at),
        "history": [parse_history(entry) for entry in job.history],
    }


def message(job: Job, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The publication: the public job without URLs and without words that are not ours.

    `id` is the one under which every repeat of it is sent.
    """
    shown = public(job, metadata=metadata)
    if job.error:
        shown["error"]["message"] = FAILURE[job.error.code]
    return {
        "schema_version": SCHEMA_VERSION,
        "type": f"job.{PUBLIC_STATUS[job.state]}",
        "id": job.publication_id,
        "timestamp": iso(job.since),
        "final_version": job.final_version,
        **shown,
    }


def live_event(job: Job, progress: Progress | None = None) -> dict[str, Any]:
    """How the job stands, for its live channel: small, and without anything that only its owner may see at leisure.

    `version` orders events: one with a smaller version than an earlier one is out of date. `progress` is None where
    nothing is known of it, and 100 only when succeeded. `final` is said once the job has ended.
    """
    known = progress is not None or job.state is State.SUCCEEDED
    return {
        "schema_version": LIVE_SCHEMA_VERSION,
        "request_id": job.id,
        "version": job.version,
        "status": PUBLIC_STATUS[job.state],
        "stage": STAGE.get(job.state),
        "provider_stage": _provider_stage(job, progress),
        "progress": _percent(job, progress) if known else None,
        "attention": str(job.attention.reason) if job.attention else None,
        "final": job.state in TERMINAL,
        "at": iso(progress.at if progress else job.updated_at),
    }


def provider(state: Provider, limit: int) -> dict[str, Any]:
    """A provider's slots and pause, for operators. A person's pause has no end of its own."""
    pause = state.pause
    ends = pause.reason is not None and pause.reason is not PauseReason.OPERATOR
    return {
        "provider": state.name,
        "in_flight": len(state.held),
        "limit": limit,
        "pause": None
        if pause.reason is None
        else {
            "reason": str(pause.reason),
            "until": iso(pause.until) if ends else None,
            "note": pause.note,
        },
    }


def upload(form: Form) -> dict[str, Any]:
    """The form by which a caller hands a file in."""
    return {
        "upload": f"upload:{form.upload.name}",
        "url": form.url,
        "fields": form.fields,
        "max_bytes": form.most_bytes,
        "form_expires_at": iso(form.until),
        "expires_at": iso(form.upload.until),
    }


def callback(registration: Registration, secret: str | None = None) -> dict[str, Any]:
    """A tenant's registration, for operators. A secret is shown only where it has just been made."""

    def time(ms: int | None) -> str | None:
        return None if ms is None else iso(ms)

    shown: dict[str, Any] = {
        "tenant": registration.tenant,
        "url": registration.address,
        "status": "ended" if registration.ended else "active",
        "since": iso(registration.since),
        "ended_at": time(registration.ended_at),
        "ended_by": registration.ended and str(registration.ended),
        "failing_since": time(registration.failing_since),
        "failures": registration.failures,
        "trouble": registration.trouble or None,
        "secrets": [{"since": iso(one.since), "until": time(one.until)} for one in registration.secrets],
    }
    return shown if secret is None else shown | {"secret": secret}


def iso(ms: int) -> str:
    """ISO 8601, UTC, milliseconds: 2027-01-15T08:00:00.000Z."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_history(entry: str) -> dict[str, Any]:
    """One entry of `job.history` by name; empty fields are left out, and what cannot be read is shown as it is."""
    fields = entry.split("|")
    try:
        parsed: dict[str, Any] = {"version": int(fields[0])}
        if fields[1].startswith("~"):
            parsed["note"] = fields[1][1:]
            rest = fields[2:]
        else:
            parsed["from"] = fields[1] or None
            parsed["to"] = fields[2]
            rest = fields[3:]
        parsed["source"] = rest[0]
        parsed["at"] = iso(int(rest[1]))
        if len(rest) > 2 and rest[2]:
            parsed["attempt"] = int(rest[2])
    except (ValueError, IndexError, OverflowError):
        return {"note": entry}
    for name, value in zip(("provider_job_id", "event_id", "body_sha256"), rest[3:], strict=False):
        if value:
            parsed[name] = _hex(value) if name == "body_sha256" else value
    return parsed


def _provider_stage(job: Job, progress: Progress | None) -> str | None:
    if job.state in TERMINAL:
        return None
    return (progress.stage if progress else None) or job.provider_word


def _percent(job: Job, progress: Progress | None) -> int:
    """100 means done and stored, so nothing else may say it."""
    if job.state is State.SUCCEEDED:
        return 100
    return max(0, min(99, progress.percent)) if progress else 0


def _attention(job: Job, attention: Attention, *, operator: bool) -> dict[str, Any]:
    return {
        "reason": str(attention.reason),
        "since": iso(attention.since),
        "version": attention.version,
        "evidence": attention.evidence,
        "decisions": [str(word) for word in decisions(job)] if operator else [],
    }


def _outputs(
    outputs: Sequence[Output], urls: Sequence[tuple[Output, str, int]], now: int | None
) -> list[dict[str, Any]]:
    links = {output.key: (url, expires_at) for output, url, expires_at in urls}
    shown = []
    for output in outputs:
        one: dict[str, Any] = {
            "content_type": output.content_type,
            "size": output.size,
            "sha256": output.sha256,
        }
        measures = (("width", output.width), ("height", output.height), ("duration_ms", output.duration_ms))
        one |= {name: value for name, value in measures if value is not None}
        if output.kept_until is not None:
            one["kept_until"] = iso(output.kept_until)
            if now is not None and output.kept_until <= now:
                one["expired"] = True
        if output.key in links:
            url, expires_at = links[output.key]
            one |= {"url": url, "url_expires_at": iso(expires_at)}
        shown.append(one)
    return shown


def _hex(digest: str) -> str:
    """Entries keep a digest in base64 or hex; people compare hex."""
    if len(digest) == 64:
        return digest
    try:
        raw = base64.b64decode(digest + "=" * (-len(digest) % 4), validate=True)
    except (binascii.Error, ValueError):
        return digest
    return raw.hex() if len(raw) == 32 else digest
