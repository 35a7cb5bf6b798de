"""The provider and its result links as the product sees them: each call goes to the tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mediajobs.jobs.events import Answered, AnswerKind, Status, Traits
from mediajobs.jobs.model import Job, Link
from mediajobs.messages import Delivery, LinkRules, Report, ReportKind, Request, Rest, Verified
from tests import samples
from tests.simulation.explore.state import IDS
from tests.simulation.explore.tape import Tape

PROVIDER = "sim"


class Served:
    """A download: good media that differs from run to run, an error, or what is no media."""

    def __init__(self, answer: str) -> None:
        self._body = b"" if answer == "bad" else samples.png(2 + sum(answer.encode()) % 50)
        self.status = {"dead": 403, "cut": 503}.get(answer, 200)
        self.headers: dict[str, str] = {}

    def chunks(self) -> Iterator[bytes]:
        yield self._body

    def close(self) -> None: ...


class TapeHttp:
    def __init__(self, tape: Tape) -> None:
        self._ask = tape.ask

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Served:
        return Served(self._ask("stream", url))


class TapeAdapter:
    """A provider by its traits; a delivery's body says who, what and when."""

    name = PROVIDER

    def __init__(self, tape: Tape, traits: Traits, rotates_at: int | None, *, says_where: bool) -> None:
        self._tape, self._traits, self._rotates_at, self._says_where = tape, traits, rotates_at, says_where

    def traits(self, model: str) -> Traits:
        return self._traits

    def models(self) -> tuple[str, ...]:
        return ("m",)

    def check_input(self, model: str, body: dict[str, object]) -> None: ...

    def input_limits(self, model: str) -> dict[str, int]:
        return {}

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        # A base URL that is changed while a job is under way: the same request would not be the same bytes.
        late = self._rotates_at is not None and self._tape.now >= self._rotates_at
        return Request(method="POST", url="https://b.test" if late else "https://a.test", body=job.reference.encode())

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered:
        job_id, number, incarnation = request.body.decode().split(".")
        self._tape.ask("send", (IDS.index(job_id), incarnation, int(number), request.url), token)
        kind, provider_job_id, wait_s = self._tape.ask("answer", token)
        retry_at = None if wait_s is None else self._tape.now + wait_s * 1000
        return Answered(
            kind=AnswerKind(kind),
            token=token,
            submission=submission,
            provider_job_id=provider_job_id,
            poll_url=f"https://a.test/{provider_job_id}" if self._says_where and provider_job_id else None,
            retry_at=retry_at,
        )

    def poll(self, job: Job, provider_job_id: str) -> Report:
        return self._report(self._tape.ask("poll", provider_job_id))

    def lookup(self, job: Job) -> Report:
        return self._report(self._tape.ask("lookup", (IDS.index(job.id), job.incarnation, job.submission)))

    def cancel(self, job: Job) -> Report:
        return self._report(self._tape.ask("cancel", job.provider_job_id))

    def _report(self, said: tuple[str, str | None, str, str | None]) -> Report:
        kind, provider_job_id, status, reference = said
        links = (Link(url=f"https://media.test/{provider_job_id}"),) if status == Status.SUCCEEDED else ()
        return Report(
            kind=ReportKind(kind),
            provider_job_id=provider_job_id,
            status=Status(status),
            reference=reference,
            links=links,
            raw="confused" if status == Status.UNKNOWN else "",
        )

    def verify(self, delivery: Delivery, now: int) -> Verified:
        return Verified(event_id=delivery.body.decode(), timestamp=now, body_digest="0" * 64)

    def read(self, delivery: Delivery) -> Report:
        provider_job_id, status = delivery.body.decode().split(" ")
        return self._report(("word", provider_job_id, status, None))

    def link_rules(self, model: str) -> LinkRules:
        return LinkRules(kind="image")

    def link_headers(self) -> dict[str, str]:
        return {}


class TapeProviders:
    def __init__(self, adapter: TapeAdapter) -> None:
        self._adapter = adapter

    def names(self) -> tuple[str, ...]:
        return (PROVIDER,)

    def get(self, name: str) -> Any:
        return self._adapter

    def traits(self, name: str, model: str | None = None) -> Traits:
        return self._adapter.traits(model or "")
