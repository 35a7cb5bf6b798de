"""Named records that travel between functions, adapters and steps. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Job, Link
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


@dataclass(frozen=True, slots=True)
class Written:
    """The change stands in the table; `job` is what was written."""

    job: Job


@dataclass(frozen=True, slots=True)
class Lost:
    """Another write came first; `job` is the row as it is now (None: it does not exist)."""

    job: Job | None


@dataclass(frozen=True, slots=True)
class SlotTaken:
    """The slot row exists already; the job itself was still as read."""


@dataclass(frozen=True, slots=True)
class Created:
    """The head was put."""

    job: Job


@dataclass(frozen=True, slots=True)
class Exists:
    """A head with this id stands already; nothing was written."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeked:
    """An object as it was at one moment: its whole size, its first bytes, and the mark of this very content."""

    size: int
    etag: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How much of a file is wanted, and how long it may take."""

    start: int = 0  # the first byte wanted
    validator: str = ""  # the strong ETag of the file whose rest it is: of another one the whole is answered
    seconds: float | None = None  # None: as long as any


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRules:
    """Which result links may be followed, and how large a result may be."""

    hosts: tuple[str, ...] = ()  # exact, or "*.example.com"; empty: any public host
    allow_http: bool = False
    allow_private: bool = False
    credential_hosts: tuple[str, ...] = ()
    max_bytes: int = 2 * 1024**3
    kind: str = "video"  # video | image | audio


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the steps need from the configuration."""

    max_in_flight: int
    callback_base: str | None = None  # None: webhooks are off
    job_days: int = 400
    result_days: int = 30
    detail_days: int = 60
    link_seconds: int = 900
    note_bytes: int = 64 * 1024**2  # a download that has stored so much is worth a note for the next run
    live_endpoint: str = ""  # where clients listen; empty: nothing is told live
    callback_hosts: tuple[str, ...] = ()  # which callbacks may reach by http and at private addresses
