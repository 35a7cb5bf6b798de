"""The shape of every answer, for the API's description and its tests. The functions do not import this."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mediajobs.jobs.states import ErrorCode, FindingKind, Reason

Time = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", json_schema_extra={"format": "date-time"})
]
RequestId = Annotated[str, Field(pattern=r"^[a-z2-7]{26}$")]
Status = Literal["pending", "running", "succeeded", "failed", "canceled"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Accepted(_Shape):
    """The job is recorded. A replay carries its present status and the header Idempotency-Replayed."""

    request_id: RequestId
    status: Status


class Upload(_Shape):
    """Where to post one file: a POST of multipart/form-data with these fields, and the file last as `file`."""

    upload: str = Field(description="What stands for the file in a job's input.", pattern="^upload:[0-9a-z.-]+$")
    url: str
    fields: dict[str, str]
    max_bytes: int
    form_expires_at: Time = Field(description="Until then the file can be posted.")
    expires_at: Time = Field(description="Until then new jobs can name it; a job keeps a copy of its own.")


class Attention(_Shape):
    """An open question that stops automatic submission, never polling."""

    reason: Reason
    since: Time
    version: int = Field(description="What a decision names as attention_version.")
    evidence: str
    decisions: list[Literal["adopt", "resubmit", "fail", "wait", "retry"]] = Field(
        description="What an operator may decide; empty for others."
    )


class Finding(_Shape):
    """Something a person should know; it blocks nothing and ends by acknowledge."""

    kind: FindingKind
    provider_job_id: str
    since: Time
    acknowledged: bool


class _Media(_Shape):
    content_type: str
    size: int
    sha256: str
    width: int | None = Field(default=None, description="Pixels, as it is shown; left out where the file is vague.")
    height: int | None = None
    duration_ms: int | None = None


class Output(_Media):
    """A stored and checked result."""

    kept_until: Time | None = Field(
        default=None, description="Until then the file is kept; fetch what you need for longer."
    )
    expired: bool | None = Field(default=None, description="true: the file is deleted; only what is said here is left.")
    url: str | None = Field(default=None, description="Serves until url_expires_at; only where one job is read.")
    url_expires_at: Time | None = None


class Failure(_Shape):
    """Why the job failed, in words that a caller can act on."""

    code: ErrorCode
    message: str


class Entry(_Shape):
    """A change of state (from, to) or a note."""

    version: int | None = None
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    note: str | None = None
    source: str | None = None
    at: Time | None = None
    attempt: int | None = None
    provider_job_id: str | None = None
    event_id: str | None = None
    body_sha256: str | None = None


class Live(_Shape):
    """How to listen to this job, and to no other, until the token expires; docs/live.md has the protocol."""

    endpoint: str = Field(description="A WebSocket of AppSync Events.")
    channel: str
    token: str = Field(description="May be given to a browser.")
    expires_at: Time


class LiveEvent(_Shape):
    """What comes over a job's live channel. One with a smaller version than an earlier one is out of date."""

    schema_version: Literal["1"]
    request_id: RequestId
    version: int = Field(ge=1)
    status: Status
    stage: Literal["queued", "submitting", "generating", "storing"] | None
    provider_stage: str | None
    progress: int | None = Field(ge=0, le=100, description="null: nothing new is said of it.")
    attention: Reason | None
    final: bool = Field(description="The job has ended; nothing that comes later counts.")
    at: Time


class Job(_Shape):
    """A job as its tenant sees it; `tenant` is shown to operators only."""

    request_id: RequestId
    tenant: str | None = None
    status: Status
    stage: Literal["queued", "submitting", "generating", "storing"] | None = Field(
        description="null once it has ended."
    )
    provider_stage: str | None = Field(description="The provider's own word.")
    provider: str
    model: str
    progress: int = Field(ge=0, le=100, description="Never goes back; 100 only when succeeded.")
    attention: Attention | None
    findings: list[Finding]
    cancel_requested: bool
    outputs: list[Output]
    error: Failure | None
    metadata: dict[str, str] | None = Field(
        default=None, description="The caller's own; left out of lists and of answers to cancel and resolve."
    )
    created_at: Time
    updated_at: Time
    history: list[Entry] = Field(description="The first entry and the last twenty.")
    live: Live | None = Field(
        default=None, description="Only where one job is read, has not ended, and live progress is on."
    )


class JobList(_Shape):
    """One page; ask for the next with its cursor."""

    jobs: list[Job]
    cursor: str | None = Field(description="null on the last page.")


class EventOutput(_Media):
    """A stored and checked result; its URL is had by reading the job."""

    kept_until: Time | None = Field(default=None, description="Until then the file is kept.")


class EventFailure(_Shape):
    """Why the job failed."""

    code: ErrorCode
    message: str = Field(
        description="What the code says, in our words. The provider's own, which may quote a prompt, are in the job."
    )


class Event(_Shape):
    """An ended job, as the topic and a callback tell it. Fields may be added under the same schema_version."""

    schema_version: Literal["1"]
    type: Literal["job.succeeded", "job.failed", "job.canceled"]
    id: str = Field(
        pattern=r"^[a-z2-7]{26}-[a-z0-9]{13}-[0-9]+$",
        description="The same for every repeat: the topic's deduplication id, a callback's webhook-id.",
    )
    timestamp: Time = Field(description="When the job ended.")
    final_version: int = Field(
        description="Of two events about one job the one with the greater number is right; there is a second one only "
        "after a restore of the table."
    )
    request_id: RequestId
    status: Literal["succeeded", "failed", "canceled"]
    stage: None
    provider_stage: None
    provider: str
    model: str
    progress: int = Field(ge=0, le=100)
    attention: Attention | None
    findings: list[Finding]
    cancel_requested: bool
    outputs: list[EventOutput]
    error: EventFailure | None
    metadata: dict[str, str] = Field(description="The caller's own; empty where the input is gone, after 60 days.")
    created_at: Time
    updated_at: Time
    history: list[Entry]


class Pause(_Shape):
    """Why nothing is submitted to a provider for now."""

    reason: Literal["retry_after", "blocked", "ambiguous", "operator"]
    until: Time | None = Field(description="The next look; null: until an operator ends it.")
    note: str


class Provider(_Shape):
    """A provider's slots and pause."""

    provider: str
    in_flight: int
    limit: int
    pause: Pause | None


class CallbackSecret(_Shape):
    """When a secret was made and how long it is signed with; itself it is never shown again."""

    since: Time
    until: Time | None = Field(description="null: until it is rotated.")


class Callback(_Shape):
    """Where a tenant's events go, and how its receiver fares."""

    tenant: str
    url: str
    status: Literal["active", "ended"]
    since: Time
    ended_at: Time | None
    ended_by: Literal["operator", "gone"] | None = Field(description="gone: the receiver answered 410.")
    failing_since: Time | None
    failures: int = Field(description="Attempts that failed in a row.")
    trouble: str | None = Field(description="The last failure.")
    secrets: list[CallbackSecret]
    secret: str | None = Field(
        default=None, description="The new signing secret, shown this once: after a first registration and a rotation."
    )


class Received(_Shape):
    """The event was taken."""

    verdict: str


class FieldError(_Shape):
    """What is wrong with one field of the request."""

    field: str
    message: str


class Problem(BaseModel):
    """RFC 9457. `type` is stable; `detail` says what to do next."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(pattern="^urn:mediajobs:problem:[a-z-]+$")
    title: str
    status: int
    detail: str
    instance: str | None = Field(
        default=None, description="The request's id, by which an operator finds it in the log."
    )
    errors: list[FieldError] | None = Field(default=None, description="With 422: each wrong field.")
    job: Job | None = Field(default=None, description="With 409: the job as it is now.")
    retry_after_s: float | None = None
