"""Named records that travel between functions, adapters and steps. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Link
from mediajobs.jobs.states import ErrorCode

MOST_KEPT_URL = 4096


class Do(StrEnum):
    """What a message to dispatch asks for."""

    SUBMIT = "submit"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls the API, as the authorizer established it."""

    tenant: str
    scope: str  # "user" | "operator"

    @property
    def operator(self) -> bool:
        return self.scope == "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request, complete: these bytes and nothing else are sent."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One HTTP answer. Header names are lower case; `body` is bounded by the client."""

    status: int
    headers: dict[str, str]
    body: bytes


class ReportKind(StrEnum):
    """What came of asking a provider about a job."""

    WORD = "word"  # it said something of the job: see `status`
    GONE = "gone"  # it does not know the id
    ABSENT = "absent"  # a lookup by our reference found nothing
    UNAVAILABLE = "unavailable"  # no usable answer; says nothing about the job
    REFUSED = "refused"  # it will not do that (cancel of a finished job, adoption)
    BLOCKED = "blocked"  # the account's fault: 401, 402, 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A provider's answer to poll, lookup or cancel, or the content of a webhook."""

    kind: ReportKind
    provider_job_id: str | None = None
    status: Status = Status.UNKNOWN
    raw: str = ""  # the provider's own word, bounded
    stage: str | None = None
    progress: int | None = None  # 0..100
    links: tuple[Link, ...] = ()
    code: ErrorCode = ErrorCode.PROVIDER_ERROR
    message: str = ""  # bounded, no secret
    reference: str | None = None  # our reference, where the provider echoes it
    retry_after_s: float | None = None
    confirm: bool = False  # a webhook that says too little by itself: ask the provider

    @property
    def kept_links(self) -> tuple[Link, ...]:
        """The links, as a row may keep them: none where one is a file itself, for which store will ask again."""
        return () if any(len(link.url) > MOST_KEPT_URL for link in self.links) else self.links


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook request as it arrived: raw bytes, header names in lower case, every value kept."""

    provider: str
    ref: str | None
    headers: dict[str, tuple[str, ...]]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A delivery whose signature and timestamp were checked. `event_id` is part of what was signed.

    Not `proven`: the provider signs nothing, and all that vouches for the delivery is the token in the job's own URL.
    """

    event_id: str
    timestamp: int  # milliseconds
    body_digest: str  # SHA-256 of the raw body, hex
    proven: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job is; persisted at most once a second."""

    percent: int
    at: int
    stage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list. `cursor` is opaque; None on the last page."""

    ids: tuple[str, ...]
    cursor: str | None
