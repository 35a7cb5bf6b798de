"""The job: one frozen record of one user action, and the parts it is made of. Pure data."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field

from mediajobs.jobs.states import ErrorCode, FindingKind, Outcome, Reason, State

DUE_SHARDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The latest try to submit; written before the call is made."""

    no: int
    outcome: Outcome
    token: str  # random, of the invocation that made it: only its owner may say it was not accepted
    started: int
    lease_until: int
    digest: str  # of the request's bytes; a retry that would differ is never sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """An open question. `version` is the job's version when it was raised; a decision names it."""

    reason: Reason
    since: int
    version: int
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Append-only; ended by acknowledge, and never raised twice for one provider job."""

    kind: FindingKind
    provider_job_id: str
    since: int
    acknowledged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where the provider offers one result. `expires_at` in milliseconds, None where it does not say."""

    url: str
    content_type: str = ""
    size: int | None = None
    expires_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One stored and checked result."""

    key: str  # S3 key, under the run that wrote it: no run overwrites another's
    content_type: str
    size: int
    sha256: str
    width: int | None = None  # pixels; None where the file does not say
    height: int | None = None
    duration_ms: int | None = None
    kept_until: int | None = None  # when the bucket's lifecycle may delete it; None: of an earlier release


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A long download under way: what another run needs to go on with it. Its parts are told by S3 itself."""

    number: int  # of the output
    key: str
    upload_id: str
    address: str  # the link without its query: a fresh link to the same file differs only there
    validator: str  # the strong ETag that the server gave
    length: int
    created: int  # S3 counts an object's age from here
    owner: str  # the run that is at it
    lease_until: int  # when that run has certainly ended; 0: it has given it back
    attempts: int = 0  # requests for it, over all runs
    received: int = 0  # bytes that came, over all runs


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a job failed; `message` is bounded and never holds a secret."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Our record of one user action (the table's `head` item). Written whole, under the version read."""

    id: str
    tenant: str
    provider: str
    model: str
    state: State
    version: int
    incarnation: str  # random per row: tells this job from an earlier one of the same key
    created_at: int
    updated_at: int
    since: int  # when the present state was entered
    start_deadline: int
    start_within_s: int
    payload_digest: bytes  # SHA-256 of the canonical body
    submission: int = 1
    slot: str | None = None  # name of the slot row held
    attempt: Attempt | None = None
    first_sent_at: int | None = None  # when the oldest unsettled request of this submission left
    unsettled: bool = False
    absent: int = 0  # lookups that did not find our reference
    misses: int = 0  # polls answered "unknown id"
    failures: int = 0  # failures of a step for a reason of ours
    patience: int = 1  # doubled by a person's `wait`
    retry_at: int | None = None
    provider_job_id: str | None = None
    poll_url: str | None = None  # where the provider said to ask for it, where that is not the usual place
    adopt: str | None = None  # a person's answer that dispatch still has to check
    cancel_requested: bool = False
    attention: Attention | None = None
    findings: tuple[Finding, ...] = ()
    wait: str | None = None  # key in the waiting room: round#created#id
    links: tuple[Link, ...] = ()
    outputs: tuple[Output, ...] = ()
    error: JobError | None = None
    provider_word: str | None = None  # the provider's last word for the job, raw
    due_at: int | None = None
    final_version: int | None = None
    published_at: int | None = None
    ttl: int | None = None  # SECONDS, as DynamoDB wants it
    out: str | None = None  # words for relay: dispatch store cancel next publish live
    history: tuple[str, ...] = ()
    history_count: int = 0
    written_by: str = ""  # random per write: tells our own resent write from another's
    extra: dict[str, object] = field(default_factory=dict)  # attributes of a newer release, kept

    @property
    def reference(self) -> str:
        """Our reference at the provider and the key it may honour: one per submission."""
        return f"{self.id}.{self.submission}.{self.incarnation}"

    @property
    def publication_id(self) -> str:
        """The same for every try to publish this job's end. Needs `final_version`.

        No dot in it: Standard Webhooks signs `id.timestamp.body`.
        """
        return f"{self.id}-{self.incarnation}-{self.final_version}"


def request_id(tenant: str, key: str) -> str:
    """The job's id: 26 characters of [a-z2-7], the same for the same tenant and unquoted key."""
    digest = hashlib.sha256()
    for part in (tenant.encode(), key.encode()):
        digest.update(len(part).to_bytes(4, "big") + part)
    return base64.b32encode(digest.digest()[:16]).decode().rstrip("=").lower()


def due_shard(job_id: str) -> str:
    """The shard of the due index (and of the attention index) that a job lives in."""
    return str(sum(job_id.encode()) % DUE_SHARDS)
