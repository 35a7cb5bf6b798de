"""What the steps need from the world, as verbs of the field. Adapters implement these; fakes obey the same
contract suite (`tests/contract/`). Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mediajobs.callbacks import Callbacks
from mediajobs.clock import Chance, Clock
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import Answered, Traits
from mediajobs.jobs.model import Job, Transfer
from mediajobs.messages import (
    Created,
    Delivery,
    Do,
    Exists,
    LinkRules,
    Lost,
    Page,
    Peeked,
    Progress,
    Report,
    Request,
    Response,
    Rest,
    Settings,
    SlotTaken,
    Verified,
    Written,
)
from mediajobs.pauses import Pause, Provider


class Store(Protocol):
    """The table. Every write of a head is conditional on the version read; slot rows change in its transaction."""

    def put_input(self, job_id: str, body: bytes, digest: bytes, ttl: int) -> None:
        """Keep the canonical body by its content; putting it again is harmless."""
        ...

    def input(self, job: Job) -> bytes | None:
        """The canonical body whose digest the head names."""
        ...

    def create(self, job: Job) -> Created | Exists:
        """Put the head if no head of that id exists; our own resent put counts as Created."""
        ...

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        """The whole job, links and outputs included wherever they are kept."""
        ...

    def write(self, change: Change) -> Written | Lost | SlotTaken:
        """Write the head under `change.before.version`, put or delete its slot row in the same transaction.

        Raises Throttled or WriteConflict once its own bounded tries are used up.
        """
        ...

    def bind(self, provider: str, provider_job_id: str, job_id: str) -> str:
        """Reserve a provider job id for a job; returns the id of the job that has it (ours or another's)."""
        ...

    def bound(self, provider: str, provider_job_id: str) -> str | None:
        """The job that a provider job id was reserved for."""
        ...

    def provider(self, name: str) -> Provider:
        """Slot rows, pause and round in one strongly consistent Query."""
        ...

    def save_pause(self, provider: str, before: Pause, after: Pause) -> bool:
        """Write `after` (its revision raised by one) if the stored revision is still `before`'s."""
        ...

    def raise_round(self, provider: str, reached: int) -> None:
        """The waiting room's present round becomes at least `reached`."""
        ...

    def next_turn(self, provider: str, tenant: str, present: int) -> int:
        """The tenant's next round: the greater of `present` and its last + 1, kept atomically."""
        ...

    def give_back_turn(self, provider: str, tenant: str) -> None:
        """Lower the tenant's last round by one: a waiting job of its was canceled or expired."""
        ...

    def waiting(self, provider: str, most: int) -> tuple[str, ...]:
        """Ids of the first `most` jobs of the waiting room, in turn."""
        ...

    def due(self, until: int) -> Iterator[tuple[int, str]]:
        """(due_at, job id) of every job due at or before `until`, every page of every shard, oldest first."""
        ...

    def list_jobs(self, tenant: str, most: int, cursor: str | None) -> Page:
        """Newest first."""
        ...

    def list_attention(self, most: int, cursor: str | None) -> Page:
        """Jobs with an open question, all tenants, oldest first within each shard."""
        ...

    def load_many(self, ids: Sequence[str]) -> list[Job]:
        """Heads in the order asked for; missing ones left out."""
        ...

    def progress(self, job_id: str) -> Progress | None:
        """The last progress kept."""
        ...

    def save_progress(self, job_id: str, progress: Progress, ttl: int, *, every_ms: int) -> bool:
        """Keep it if it does not go back and the last one kept is `every_ms` old; False where refused."""
        ...

    def note_event(self, job_id: str, entry: str, ttl: int) -> None:
        """Append to the job's bounded list of verified events that changed nothing."""
        ...

    def events(self, job_id: str) -> tuple[str, ...]:
        """That list."""
        ...

    def transfers(self, job_id: str) -> tuple[Transfer, ...]:
        """Long downloads of a job's results that some run began, by output."""
        ...

    def save_transfer(self, job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        """Keep it, if the one that stands is still `owner`'s (None: none stands); False where it is not."""
        ...

    def first_seen(self, name: str, now: int, ttl: int) -> int:
        """When this name was first asked for (now, if never): the grace time of an unknown event."""
        ...

    def api_key(self, digest: str) -> tuple[str, str] | None:
        """(tenant, scope) of the API key with this SHA-256 in hex."""
        ...


class Queues(Protocol):
    """SQS."""

    def dispatch(self, job_id: str, do: Do, delay_s: int = 0) -> None:
        """Ask dispatch to look at a job, after 0 to 900 seconds."""
        ...

    def store(self, job_id: str, delay_s: int = 0, *, urgent: bool = False) -> None:
        """Ask store to fetch a job's results, after 0 to 900 seconds; urgent ones have a queue of their own."""
        ...


class Topic(Protocol):
    """SNS FIFO."""

    def publish(self, message: str, *, group: str, deduplication_id: str, tenant: str) -> None:
        """Returns only when SNS has the message. Subscriptions may filter by `tenant`."""
        ...


class Live(Protocol):
    """AppSync Events."""

    def publish(self, channel: str, event: str, *, last: bool) -> None:
        """Tell whoever subscribed to the channel. A `last` event, after which none follows, is tried harder.

        Raises a MediaJobsError where it was not taken; nobody keeps it then.
        """
        ...


class Upload(Protocol):
    """One object being written in parts; invisible until `finish`."""

    @property
    def id(self) -> str | None:
        """By which another run finds it again; None while nothing of it is kept."""
        ...

    @property
    def kept(self) -> int:
        """Bytes that another run would find, from the start on."""
        ...

    def write(self, data: bytes) -> None: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...


class Objects(Protocol):
    """S3."""

    def upload(self, key: str, content_type: str) -> Upload:
        """Start writing `key` with constant memory."""
        ...

    def resume(self, key: str, upload_id: str) -> Upload | None:
        """Go on with an upload that another run began; None where it is finished, aborted or swept."""
        ...

    def read(self, key: str) -> Iterator[bytes]:
        """A finished object, in pieces."""
        ...

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        """A presigned GET URL."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects of a run that was given up."""
        ...

    def form(self, key: str, *, content_type: str, most_bytes: int, seconds: int) -> tuple[str, dict[str, str]]:
        """URL and fields of a form that puts one file of this type, of 1 to `most_bytes` bytes, under this key."""
        ...

    def peek(self, key: str, most: int) -> Peeked | None:
        """The object's first `most` bytes; None where there is none."""
        ...

    def copy(self, source: str, key: str, *, etag: str, content_type: str) -> bool:
        """Copy the object as it was peeked at; False where it is gone. Raises Retryable where it has changed since."""
        ...


class Stream(Protocol):
    """A download under way: headers first, then chunks; closes its connection when left."""

    status: int
    headers: dict[str, str]

    def chunks(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


class Http(Protocol):
    """The only way out. Raises NotSent, NoAnswer or UnsafeUrl; never retries, takes no proxy from the environment."""

    def submit(self, request: Request) -> Response:
        """Send once on a fresh connection; redirects are answers, not followed."""
        ...

    def get(self, request: Request) -> Response:
        """Send a poll, lookup or cancel on a pooled connection; redirects are answers."""
        ...

    def post(self, request: Request, rules: LinkRules, *, most: int) -> Response:
        """Send once, to an address that the rules allow; redirects are answers. Reads `most` bytes of the body."""
        ...

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Stream:
        """Open a result link, following checked redirects; credentials never leave their host."""
        ...


class ProviderAdapter(Protocol):
    """One vendor, mapped. It never writes state and never raises for what a provider does."""

    name: str

    def traits(self, model: str) -> Traits: ...

    def models(self) -> tuple[str, ...]: ...

    def check_input(self, model: str, body: dict[str, object]) -> None:
        """Raise Unprocessable where the input cannot be right."""
        ...

    def input_limits(self, model: str) -> dict[str, int]:
        """The kinds of file that may be handed in for this model, and the most bytes of each."""
        ...

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        """The submit, byte for byte the same for the same job and submission. Without credentials in it:
        `submit` adds them, so a rotated API key does not change the digest.
        """
        ...

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered: ...

    def poll(self, job: Job, provider_job_id: str) -> Report: ...

    def lookup(self, job: Job) -> Report: ...

    def cancel(self, job: Job) -> Report: ...

    def verify(self, delivery: Delivery, now: int) -> Verified:
        """Raises Unauthorized for everything that is not rightly signed and fresh.

        Unavailable where the sender's published keys cannot be had, ConfigurationError for a secret of ours that
        cannot be used.
        """
        ...

    def challenge(self, delivery: Delivery) -> dict[str, str] | None:
        """What a test delivery wants to be sent back; None for every other one. Says nothing of who sent it."""
        ...

    def read(self, delivery: Delivery) -> Report:
        """Raises BadRequest for signed content that cannot be used."""
        ...

    def link_rules(self, model: str) -> LinkRules: ...

    def link_headers(self) -> dict[str, str]:
        """Credentials for result links on `credential_hosts`."""
        ...


class Providers(Protocol):
    """The configured providers."""

    def names(self) -> tuple[str, ...]: ...

    def get(self, name: str) -> ProviderAdapter:
        """Raises KeyError for an unknown name."""
        ...

    def traits(self, name: str, model: str | None = None) -> Traits:
        """What the adapter's `traits` are, without loading it; of the first model where none is named. Raises KeyError
        for an unknown name.
        """
        ...


class Secrets(Protocol):
    """Secrets Manager, cached; `refresh` forces at most one call per half minute and name."""

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, object]:
        """What its secret holds: {"api_key": str, "webhook_secrets": [str, …]}."""
        ...

    def tokens(self, *, refresh: bool = False) -> bytes:
        """The key that signs the tokens of webhook URLs and live channels."""
        ...


class Once(Protocol):
    """Idempotency: run once per name and key, replay the answer, raise InProgress while a twin runs."""

    def __call__(self, name: str, key: Sequence[str], function: Callable[[], str]) -> str: ...


class CreateOnce(Protocol):
    """Put a new job's head, or replay the one that stands: (job, replayed). Unprocessable: it has another payload."""

    def __call__(self, job: Job) -> tuple[Job, bool]: ...


class Metrics(Protocol):
    """Counters for operators."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None: ...


class Log(Protocol):
    """Structured lines; never a secret, never a prompt."""

    def info(self, message: str, **fields: object) -> None: ...
    def warning(self, message: str, **fields: object) -> None: ...
    def error(self, message: str, **fields: object) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything outside, handed to each step; a function is given only what its role allows."""

    clock: Clock
    chance: Chance
    store: Store
    queues: Queues
    topic: Topic
    live: Live
    objects: Objects
    http: Http
    providers: Providers
    secrets: Secrets
    once: Once
    create: CreateOnce
    callbacks: Callbacks
    metrics: Metrics
    log: Log
    settings: Settings
