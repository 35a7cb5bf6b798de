"""What stands in the table before an event: jobs in their states, made by the product's own rules."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from events.fixed import CALLBACK_SECRET, IDEMPOTENCY_KEY, NOW, PROMPT, PROVIDER_URL, TENANT, TOKENS_KEY
from mediajobs import callbacks
from mediajobs.adapters.callbacks import registration_item
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.adapters.table import expressions as ex
from mediajobs.adapters.table import items
from mediajobs.api import schemas
from mediajobs.callbacks import Ended, Registration
from mediajobs.jobs.birth import new_job
from mediajobs.jobs.decide import Change, decide
from mediajobs.jobs.events import (
    Answered,
    AnswerKind,
    Cancel,
    Claim,
    Event,
    Published,
    Status,
    Stored,
    TurnedAway,
    Word,
)
from mediajobs.jobs.model import Job, Link, Output, request_id
from mediajobs.jobs.states import ErrorCode, Source
from mediajobs.ports import ProviderAdapter
from mediajobs.signatures import input_token, url_token
from mediajobs.steps.dispatch import digest_of
from mediajobs.uploads import replaced

CALLBACK_BASE = "https://jobs.example.com"
MAX_IN_FLIGHT = 4
TTL = NOW // 1000 + 60 * 86_400
SUBMIT = {
    "provider": "sim",
    "model": "video-1",
    "input": {"prompt": PROMPT},
    "metadata": {"order": "1042"},
}
# It may be named for another hour.
FILE = f"{NOW // 1000 + 3600}-fileofevents7.png"
SUBMIT_WITH_FILE = SUBMIT | {"input": {"prompt": PROMPT, "image": f"upload:{FILE}"}}
_CONFIGURATION = Path(__file__).resolve().parents[1] / "local" / "providers.toml"
_S = 1000

Item = dict[str, Any]


def configuration(provider_url: str = PROVIDER_URL) -> str:
    """The laptop's providers at that address."""
    return string.Template(_CONFIGURATION.read_text(encoding="utf-8")).safe_substitute(PROVIDER_URL=provider_url)


class Story:
    """One job from its submit on. Each scene has a key of its own, so that scenes can stand side by side."""

    def __init__(
        self,
        scene: str,
        provider_url: str,
        *,
        key: str = "",
        provider: str = "sim",
        created: int = NOW - _S,
        submit: Mapping[str, Any] = SUBMIT,
    ) -> None:
        self.input = submit["input"]
        self.command = schemas.submission({**submit, "provider": provider})
        self.adapter = _adapter(provider, provider_url)
        self.traits = self.adapter.traits("video-1")
        self.provider_url = provider_url
        self.provider_job_id = f"job-of-{scene}"
        self.claimer = "claimedbythis"
        self.bound = False
        self.job = new_job(
            job_id=request_id(TENANT, key or f"events-{scene}"),
            tenant=TENANT,
            provider=provider,
            model="video-1",
            payload_digest=self.command.digest,
            incarnation="incarnation22",
            start_within_s=self.command.start_within_s,
            traits=self.traits,
            now=created,
        )

    def then(self, event: Event, at: int) -> Story:
        """The story with this event in it, which must change the job."""
        change = decide(self.job, event, at, self.traits)
        assert isinstance(change, Change), f"{event} is ignored: {change}"  # noqa: S101 a scene is told wrongly
        self.job = change.after
        return self

    def claimed(self, at: int, slot: str = "001") -> Story:
        body = cast("dict[str, object]", replaced(self.input, lambda name: input_url(self.job, name)))
        digest = digest_of(self.adapter.request(self.job, body, webhook_url(self.job)))
        return self.then(Claim(token=self.claimer, digest=digest, slot=slot), at)

    def answered(self, kind: AnswerKind, at: int, **fields: Any) -> Story:
        return self.then(Answered(kind=kind, token=self.claimer, submission=1, **fields), at)

    def running(self, at: int, slot: str = "001") -> Story:
        self.claimed(at - 500, slot)
        return self.answered(AnswerKind.ACCEPTED, at, provider_job_id=self.provider_job_id)

    def storing(self, at: int, *, link_life_s: int = 3600) -> Story:
        self.running(at - 2 * _S)
        link = Link(
            url=f"{self.provider_url}/files/{self.provider_job_id}/0.mp4",
            content_type="video/mp4",
            expires_at=NOW + link_life_s * _S,
        )
        return self.then(self.word(Status.SUCCEEDED, links=(link,)), at)

    def succeeded(self, at: int) -> Story:
        self.storing(at - 500)
        key = f"results/{self.job.id}/{self.job.incarnation}/runrunrunrunr/0"
        output = Output(key=key, content_type="video/mp4", size=3141, sha256="ab" * 32)
        return self.then(Stored(outputs=(output,)), at)

    def word(self, status: Status, **fields: Any) -> Word:
        return Word(
            status=status,
            provider_job_id=self.provider_job_id,
            submission=1,
            source=Source.WEBHOOK,
            raw=str(status),
            event_id=f"msg_of_{self.provider_job_id}",
            body_digest="cd" * 32,
            **fields,
        )

    def items(self) -> Iterator[Item]:
        """Everything of this job that stands in the table."""
        made = items.rows(self.job)
        yield made.head
        yield ex.put_input(self.job.id, self.job.payload_digest, self.command.body, TTL)["Item"]
        if self.job.slot is not None:
            yield ex.put_row(self.job.provider, self.job.slot, self.job.id, NOW)["Item"]
        if self.bound:
            yield ex.bind(self.job.provider, self.provider_job_id, self.job.id)["Item"]


def webhook_url(job: Job) -> str:
    """The URL that dispatch gives to the provider for the job's submission."""
    return f"{CALLBACK_BASE}/v1/webhooks/{job.provider}/{reference(job)}"


def input_url(job: Job, name: str) -> str:
    """The URL at which the provider reads a file of the job's input."""
    token = input_token(TOKENS_KEY.encode(), job.id, job.incarnation, name)
    return f"{CALLBACK_BASE}/v1/inputs/{job.id}.{token}/{name}"


def reference(job: Job) -> str:
    token = url_token(TOKENS_KEY.encode(), job.id, job.incarnation, job.submission)
    return f"{job.id}.{job.submission}.{token}"


@cache
def _adapter(provider: str, provider_url: str) -> ProviderAdapter:
    nothing = cast("Any", None)  # requests are built here, never sent
    return Registry(load(configuration(provider_url)), nothing, nothing).get(provider)


def story(name: str, provider_url: str = PROVIDER_URL) -> Story:
    """The job of a scene."""
    return _STORIES[name](provider_url)


def scene(name: str, provider_url: str = PROVIDER_URL) -> list[Item]:
    """The items of a scene."""
    if name in _REGISTRATIONS:
        return [registration_item(_REGISTRATIONS[name](f"{provider_url}{HOOK}"), 1)]
    if name == "busy":
        rows = range(1, MAX_IN_FLIGHT + 1)
        return [ex.put_row("sim", f"{row:03d}", f"anothersjob{row}", NOW - 60 * _S)["Item"] for row in rows]
    return list(story(name, provider_url).items())


HOOK = "/hooks/media-jobs"


def _registered(address: str) -> Registration:
    return callbacks.opened(TENANT, address, CALLBACK_SECRET, NOW - 86_400 * _S)


def _failing(address: str) -> Registration:
    """Four times in a row, the last a moment ago."""
    fields = {"failures": 4, "failing_since": NOW - 60 * _S, "trouble": "answered 500", "held_until": NOW + 30 * _S}
    return replace(_registered(address), **fields)  # type: ignore[arg-type]


_REGISTRATIONS: dict[str, Callable[[str], Registration]] = {
    "registered": _registered,
    "failing": _failing,
    "failed-before": lambda address: replace(_failing(address), held_until=NOW - _S),
    "ended-registration": lambda address: callbacks.over(_registered(address), Ended.OPERATOR, NOW - 60 * _S),
}


def _pending(url: str) -> Story:
    return Story("pending", url, key=IDEMPOTENCY_KEY)


def _submitting(url: str) -> Story:
    return Story("submitting", url, created=NOW - 2 * _S).claimed(NOW - _S)


def _killed(url: str) -> Story:
    """A dispatcher was killed after it had sent the request, and its lease is over."""
    return Story("killed", url, created=NOW - 95 * _S).claimed(NOW - 91 * _S)


def _running(url: str) -> Story:
    return Story("running", url, created=NOW - 5 * _S).running(NOW - 4 * _S)


def _bound(url: str) -> Story:
    """A provider that takes one webhook URL per account: events are found by its job id."""
    told = Story("bound", url, created=NOW - 5 * _S).running(NOW - 4 * _S)
    told.bound = True
    return told


def _due(url: str) -> Story:
    """The webhook did not come and the first poll is due."""
    return Story("due", url, created=NOW - 9 * _S).running(NOW - 8 * _S)


def _unpublished(url: str) -> Story:
    """Relay did not publish the end and reconcile's look is due."""
    return Story("unpublished", url, created=NOW - 130 * _S).succeeded(NOW - 120 * _S)


def _published(url: str) -> Story:
    return Story("published", url, created=NOW - 60 * _S).succeeded(NOW - 50 * _S).then(Published(ttl=TTL), NOW)


def _with_file(url: str) -> Story:
    return Story("with-file", url, key=IDEMPOTENCY_KEY, submit=SUBMIT_WITH_FILE)


def _killed_with_file(url: str) -> Story:
    """As `killed`, and its input names an upload."""
    told = Story("killed-with-file", url, created=NOW - 95 * _S, submit=SUBMIT_WITH_FILE)
    return told.claimed(NOW - 91 * _S)


def _reads_file(url: str) -> Story:
    return Story("reads-file", url, created=NOW - 5 * _S, submit=SUBMIT_WITH_FILE).running(NOW - 4 * _S)


def _failed(url: str) -> Story:
    told = Story("failed", url, created=NOW - 5 * _S).claimed(NOW - 4 * _S)
    return told.answered(AnswerKind.REJECTED, NOW - 3 * _S, code=ErrorCode.REJECTED, message="HTTP 422: no such size")


def _ambiguous(url: str) -> Story:
    """A provider without keys or lookup gave no usable answer: a person is asked."""
    told = Story("ambiguous", url, provider="sim-nokey", created=NOW - 100 * _S).claimed(NOW - 99 * _S)
    return told.answered(AnswerKind.AMBIGUOUS, NOW - 98 * _S, message="HTTP 500")


def _unsure(url: str) -> Story:
    """The same a moment ago: its request may still be on the wire."""
    told = Story("unsure", url, provider="sim-nokey", created=NOW - 5 * _S).claimed(NOW - 4 * _S)
    return told.answered(AnswerKind.AMBIGUOUS, NOW - 3 * _S, message="HTTP 500")


def _canceling(url: str) -> Story:
    return Story("canceling", url, created=NOW - 5 * _S).running(NOW - 4 * _S).then(Cancel(), NOW - _S)


def _late(url: str) -> Story:
    """Canceled at the provider, which then said that it had succeeded."""
    told = Story("late", url, created=NOW - 20 * _S).running(NOW - 19 * _S).then(Cancel(), NOW - 18 * _S)
    told.then(told.word(Status.CANCELED), NOW - 17 * _S)
    return told.then(told.word(Status.SUCCEEDED), NOW - 16 * _S)


def _waiting(url: str) -> Story:
    """Turned away by a full provider."""
    told = Story("waiting", url, created=NOW - 5 * _S)
    place = f"{1:010d}#{told.job.created_at:013d}#{told.job.id}"
    return told.then(TurnedAway(place=place), NOW - 4 * _S)


_STORIES: Mapping[str, Callable[[str], Story]] = {
    "pending": _pending,
    "submitting": _submitting,
    "killed": _killed,
    "with-file": _with_file,
    "killed-with-file": _killed_with_file,
    "reads-file": _reads_file,
    "running": _running,
    "bound": _bound,
    "due": _due,
    "storing": lambda url: Story("storing", url, created=NOW - 5 * _S).storing(NOW - _S),
    "link-expired": lambda url: Story("link-expired", url, created=NOW - 5 * _S).storing(NOW - _S, link_life_s=-60),
    "succeeded": lambda url: Story("succeeded", url, created=NOW - 5 * _S).succeeded(NOW - _S),
    "unpublished": _unpublished,
    "published": _published,
    "failed": _failed,
    "ambiguous": _ambiguous,
    "unsure": _unsure,
    "canceling": _canceling,
    "late": _late,
    "waiting": _waiting,
}
