"""Brings one job from function to function by hand, and notes what each step took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.bed import Bed, Item
from bench.prices import SQS_PER_MESSAGE
from bench.wire import Sent
from events.cases_webhook import completed, delivery
from events.fixed import NOW
from events.scenes import SUBMIT, reference
from events.shapes import api, change, message, records
from mediajobs.adapters.table.items import HEAD, read
from mediajobs.adapters.table.values import size
from mediajobs.jobs.model import Job

ACCEPTED = "at-the-provider"
SECOND = 1000


class LineError(Exception):
    """A function did something else than this bench foresaw, so its count would mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One invocation: units, and requests by service."""

    name: str
    sent: tuple[Sent, ...]
    messages: int = 0  # taken from a queue by it: the event source's own requests come on top
    calls: int = 0  # to the API

    @property
    def writes(self) -> float:
        return sum(each.writes for each in self.sent)

    @property
    def reads(self) -> float:
        return sum(each.reads for each in self.sent)

    @property
    def refused(self) -> int:
        return sum(each.refused for each in self.sent)

    @property
    def requests(self) -> Counter[str]:
        counted = Counter(each.service for each in self.sent)
        counted["sqs"] += SQS_PER_MESSAGE * self.messages
        counted["api"] += self.calls
        return +counted


@dataclass(frozen=True, slots=True)
class Told:
    """The job and what it is to its provider."""

    job: Job
    provider_job_id: str
    provider_url: str


@dataclass
class Line:
    """One job's way: its invocations, what the provider was asked, and its head at each write."""

    bed: Bed
    key: str
    now: int = NOW
    steps: list[Step] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    job_id: str = ""
    _images: list[Item] = field(default_factory=list)
    _relayed: int = 0  # so many heads were looked at for words

    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def invoke(self, name: str, function: str, event: object, **counts: int) -> Any:
        """Hand over the event, note what it took and how the job stands then; the answer."""
        self.bed.wire.take()
        self.bed.provider.asked.clear()
        result = self.bed.invoke(function, event, self.now)
        self.asked += self.bed.provider.asked
        self.steps.append(Step(name=name, sent=self.bed.wire.take(), **counts))
        if result.error is not None:
            raise LineError(f"{name}: {result.stack}")
        self._images += self.bed.changes()
        return result.answer

    @property
    def heads(self) -> list[Item]:
        """The job's head as each write left it."""
        return [image for image in self._images if (image["pk"]["S"], image["sk"]["S"]) == (f"J#{self.job_id}", HEAD)]

    def submit(self, model: str = "video-1") -> None:
        self.bed.changes()
        event = api("POST", "/v1/jobs", body=SUBMIT | {"model": model}, headers={"Idempotency-Key": self.key})
        answer = self.invoke("submit", "submit", event, calls=1)
        require(answer["statusCode"] == 202, "submit", answer)
        self.job_id = answer["multiValueHeaders"]["Location"][0].removeprefix("jobs/")

    def relay(self, words: str, name: str = "") -> None:
        """Hand over the changes of this job that have something to tell, which must be these words."""
        mine = [image for image in self.heads[self._relayed :] if "out" in image]
        self._relayed = len(self.heads)
        said = [image["out"]["S"] for image in mine]
        require(said == [words], "relay", said)
        self._batch(name or f"relay: {words}", "relay", records(*map(change, mine)))

    def wake(self, name: str) -> None:
        """Relay carries out another job's word `next`: a slot was given back."""
        image = self.bed.head(self.job_id) | {"out": {"S": "next"}}
        self._batch(name, "relay", records(change(image)))

    def dispatch(self, *answers: Mapping[str, Any], name: str = "dispatch") -> None:
        """Take this job's message, which SQS may still hold back; the provider answers so."""
        self.bed.provider.tell(answers)
        self.bed.messages("DispatchQueue")
        event = records(message({"job": self.job_id, "do": "submit"}, queue="dispatch"))
        self._batch(name, "dispatch", event, messages=1)
        require(self.bed.provider.unused() == 0, name, self.bed.provider.asked)

    def accepted(self, name: str = "dispatch") -> None:
        self.dispatch({"status": 201, "body": {"id": self.provider_job_id, "status": "queued"}}, name=name)

    def told(self) -> Told:
        """The job as it stands."""
        return Told(self.job(), self.provider_job_id, self.bed.provider.url)

    def completed(self) -> None:
        """The provider's webhook says that the result is ready."""
        self.webhook("webhook", completed(self.told()), event_id=f"msg_{self.job_id}")

    def webhook(self, name: str, content: bytes, *, event_id: str) -> None:
        event = delivery(content, reference(self.job()), at=self.now, event_id=event_id)
        answer = self.invoke(name, "webhook", event, calls=1)
        require(answer["statusCode"] == 200, name, answer)

    def store(self, *answers: Mapping[str, Any], name: str = "store") -> None:
        self.bed.provider.tell(answers)
        self.bed.messages("StoreQueue")
        self._batch(name, "store", records(message({"job": self.job_id}, queue="store")), messages=1)
        require(self.bed.provider.unused() == 0, name, self.bed.provider.asked)

    def tick(self, name: str, *answers: Mapping[str, Any]) -> None:
        self.bed.provider.tell(answers)
        self.invoke(name, "reconcile", {"scheduled_time": f"t{self.now}"})
        require(self.bed.provider.unused() == 0, name, self.bed.provider.asked)

    @property
    def provider_job_id(self) -> str:
        return f"{ACCEPTED}-{self.job_id}"

    def job(self) -> Job:
        return read(self.bed.head(self.job_id)).job

    def _batch(self, name: str, function: str, event: object, **counts: int) -> None:
        answer = self.invoke(name, function, event, **counts)
        require(answer == {"batchItemFailures": []}, name, answer)


def happy(bed: Bed, key: str) -> Line:
    """A job whose slot is free at once, with one output behind a short link, settled by its webhook."""
    line = Line(bed, key)
    line.submit()
    line.relay("dispatch")
    line.accepted()
    line.pass_time(3)
    settled(line)
    return line


def settled(line: Line) -> None:
    """From the provider's webhook to the published mark."""
    line.completed()
    line.relay("store next live")
    line.store({"file": "video/mp4"})
    line.relay("publish live")
    require(line.job().published_at is not None, "publish", line.job().state)


def head_bytes(heads: Sequence[Item]) -> dict[str, int]:
    """The greatest size of the head in each state, and once it is published."""
    largest: dict[str, int] = {}
    for item in heads:
        name = "published" if "pub" in item else item["state"]["S"]  # as mediajobs.adapters.table.items has them
        largest[name] = max(largest.get(name, 0), size(item))
    return largest


def require(holds: bool, name: str, found: object) -> None:  # noqa: FBT001 it reads like an assertion
    """Raise where a function did not do what is counted here."""
    if not holds:
        raise LineError(f"{name}: {found}")
