"""Everything that can happen to a job, as named records. `decide` is total over these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mediajobs.jobs.model import Link, Output
from mediajobs.jobs.states import ErrorCode, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a provider (and model) is like, as far as the rules need it. Seconds."""

    provider: str
    idempotent: bool = False
    key_life_s: int = 0
    lookup: bool = False
    cancel: bool = False
    webhooks: bool = True  # trusted ones; where False the poll carries the job
    account_webhooks: bool = False  # one URL for the account: events find their job by the provider's id
    expected_s: float = 300
    max_run_s: float = 7200
    poll_floor_s: float = 10
    lost_after: int = 3
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A dispatcher wants the exclusive right to submit. `slot` is the row it would take, if any is free."""

    token: str
    digest: str
    slot: str | None
    paused: bool = False
    probe: bool = False
    submission: int | None = None  # the one that the request was built for; None: not checked


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """The provider is full, paused, or it is another job's turn; `place` is the key in the waiting room."""

    place: str


class AnswerKind(StrEnum):
    """What the provider's answer to a submit proves."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BLOCKED = "blocked"
    NOT_ACCEPTED = "not_accepted"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One attempt's answer. `token` and `submission` are the claim's."""

    kind: AnswerKind
    token: str
    submission: int
    provider_job_id: str | None = None
    poll_url: str | None = (
        None  # where the provider says this job is to be asked for, where that is not the usual place
    )
    code: ErrorCode = ErrorCode.REJECTED
    message: str = ""
    retry_at: int | None = None


class Status(StrEnum):
    """The provider's word for a job, in ours. Unknown words reach no terminal state."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """The provider says something of one of its jobs, by webhook, poll or lookup."""

    status: Status
    provider_job_id: str
    submission: int | None  # None where the source cannot tell
    source: Source
    links: tuple[Link, ...] = ()
    code: ErrorCode = ErrorCode.PROVIDER_ERROR
    message: str = ""
    raw: str = ""
    event_id: str = ""
    body_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A lookup by our reference found nothing, which proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A poll was told that the bound id is unknown."""

    provider_job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """The caller asks for a cancel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Time has passed; whatever is over is over."""


class DecisionKind(StrEnum):
    """What a person may answer to an open question."""

    ADOPT = "adopt"
    RESUBMIT = "resubmit"
    FAIL = "fail"
    WAIT = "wait"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's answer to the question raised at `attention_version`."""

    kind: DecisionKind
    attention_version: int
    provider_job_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """Dispatch asked the provider: the id a person named exists and has not failed."""

    provider_job_id: str
    submission: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRefused:
    """Dispatch asked the provider: the id a person named cannot be adopted."""

    provider_job_id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """The provider job id that was to be bound belongs to another job."""

    provider_job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """A person has read a finding."""

    provider_job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """All outputs are stored and checked."""

    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """The result is not the media asked for, after a fresh link too."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoUrl:
    """There is no link that serves and the provider has none."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A send of the publication returned."""

    ttl: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed:
    """A step failed for a reason of ours. `enough`: it died so often without a word that a person must look."""

    step: str
    message: str
    retry_at: int
    enough: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Reconcile takes this look at the job and sets the next one."""

    due_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The table was put back to an earlier moment: what the row does not know of may have happened since."""


Event = (
    Claim
    | TurnedAway
    | Answered
    | Word
    | Absent
    | Gone
    | Cancel
    | Tick
    | Decision
    | Adopted
    | AdoptRefused
    | Clash
    | Acknowledge
    | Stored
    | Invalid
    | NoUrl
    | Published
    | StepFailed
    | Moved
    | Restored
)
