"""The generic adapter over real HTTP, against the simulated provider under the laptop's own configuration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from local.provider.server import SimulatedProvider
from local.provider.settings import Settings
from mediajobs.adapters.http import WebHttp
from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.clock import SystemClock
from mediajobs.errors import Unauthorized
from mediajobs.jobs.birth import new_job
from mediajobs.jobs.events import Answered, AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Delivery, Report, ReportKind
from tests.fakes.secrets import MemorySecrets
from tests.local_provider import conftest as theirs
from tests.local_provider.kit import Receiver

receiver = theirs.receiver
CONFIGURATION = Path(__file__).parents[2] / "local" / "providers.toml"
FAST = Settings(expected_s=0.2, max_run_s=5.0, progress_per_s=20, webhook_timeout_s=2, retry_delays_s=(0.05,) * 4)
PATIENCE_S = 60  # for what comes soon on any machine that has time for it
PROMPT: dict[str, object] = {"prompt": "a red bicycle leaning on a garden wall"}


@dataclass
class Line:
    """One provider's adapter on the wire to its server."""

    server: SimulatedProvider
    adapter: GenericAdapter
    secrets: MemorySecrets

    def job(self, name: str = "a" * 26, model: str = "video-1", **changes: Any) -> Job:
        made = new_job(
            job_id=name,
            tenant="t",
            provider=self.adapter.name,
            model=model,
            payload_digest=b"",
            incarnation="incarnation23",
            start_within_s=60,
            traits=self.adapter.traits(model),
            now=0,
        )
        return replace(made, **changes)

    def submit(self, job: Job, given: dict[str, object] | None = None, webhook_url: str | None = None) -> Answered:
        request = self.adapter.request(job, given or PROMPT, webhook_url)
        return self.adapter.submit(request, "token", job.submission, SystemClock().now())

    def fault(self, job: Job, **faults: object) -> None:
        self.server.faults.configure({"script": [{"reference": job.reference, "fault": faults}]})

    def charges(self) -> int:
        return len(self.server.ledger.jobs)


@pytest.fixture
def server() -> Iterator[SimulatedProvider]:
    provider = SimulatedProvider(settings=FAST)
    provider.start()
    yield provider
    provider.stop()


def line(server: SimulatedProvider, name: str) -> Line:
    secrets = MemorySecrets()
    keys = server.credentials
    secrets.put(name, keys.api_keys[name], *keys.webhook_secrets[name])
    configuration = load(CONFIGURATION.read_text().replace("${PROVIDER_URL}", server.base_url))
    adapter = Registry(configuration, WebHttp(), secrets).get(name)
    assert isinstance(adapter, GenericAdapter)
    return Line(server, adapter, secrets)


@pytest.fixture
def sim(server: SimulatedProvider) -> Line:
    return line(server, "sim")


@pytest.fixture
def nokey(server: SimulatedProvider) -> Line:
    return line(server, "sim-nokey")


def until(ask: Callable[[], Report], status: Status) -> Report:
    """The report once it says so."""
    end = time.monotonic() + PATIENCE_S
    while (report := ask()).status is not status:
        assert time.monotonic() < end, report
        time.sleep(0.02)
    return report


def test_a_job_runs_from_submit_to_its_links(sim: Line) -> None:
    """Polled, with type, size and end of each link."""
    job = sim.job(model="image-1")
    answered = sim.submit(job, {**PROMPT, "count": 2})
    assert answered.kind is AnswerKind.ACCEPTED
    assert answered.provider_job_id is not None
    report = until(lambda: sim.adapter.poll(job, str(answered.provider_job_id)), Status.SUCCEEDED)
    assert report.reference == job.reference
    assert [link.content_type for link in report.links] == ["image/png", "image/png"]
    assert all(link.size and link.expires_at and link.url.startswith("http://127.0.0.1") for link in report.links)


def test_the_same_key_makes_one_job_and_names_it_again(sim: Line) -> None:
    """The answer was cut; the same bytes under the same key learn the id."""
    job = sim.job()
    sim.fault(job, close_after=1)
    assert sim.submit(job).kind is AnswerKind.AMBIGUOUS
    again = sim.submit(job)
    assert again.kind is AnswerKind.ACCEPTED
    assert sim.charges() == 1
    assert sim.adapter.lookup(job).provider_job_id == again.provider_job_id


@pytest.mark.parametrize(
    ("fault", "kind", "charges"),
    [
        ("unavailable_before", AnswerKind.NOT_ACCEPTED, 0),
        ("rate_limited_before", AnswerKind.NOT_ACCEPTED, 0),
        ("unavailable_after", AnswerKind.AMBIGUOUS, 1),
        ("error_after", AnswerKind.AMBIGUOUS, 1),
        ("close_after", AnswerKind.AMBIGUOUS, 1),
        ("no_id_after", AnswerKind.AMBIGUOUS, 1),
    ],
)
def test_what_was_not_accepted_was_not_charged(nokey: Line, fault: str, kind: AnswerKind, charges: int) -> None:
    """A 503 before and a 503 after differ, and each is told from the other."""
    job = nokey.job()
    nokey.fault(job, **{fault: 1})
    answered = nokey.submit(job)
    assert (answered.kind, nokey.charges()) == (kind, charges)
    assert (answered.retry_at is not None) == (kind is AnswerKind.NOT_ACCEPTED)


def test_a_blocked_account_and_a_wrong_request_are_told_apart(sim: Line) -> None:
    """The one pauses the provider, the other ends the job."""
    assert sim.submit(sim.job(), {"prompt": ""}).kind is AnswerKind.REJECTED
    moderated = sim.submit(sim.job(), {"prompt": "forbidden-word"})
    assert (moderated.kind, moderated.code) == (AnswerKind.REJECTED, ErrorCode.CONTENT_MODERATED)
    sim.server.faults.block("sim", time.time() + 60)
    assert sim.submit(sim.job()).kind is AnswerKind.BLOCKED
    assert sim.charges() == 0


def test_a_rotated_key_is_fetched_once(sim: Line) -> None:
    """The first answer is 401, which is listed, so the second send is safe."""
    right = sim.server.credentials.api_keys["sim"]
    sim.secrets.put("sim", "an-old-key")
    sim.secrets.provider("sim", refresh=True)
    assert sim.submit(sim.job()).kind is AnswerKind.BLOCKED
    sim.secrets.put("sim", right)
    assert sim.submit(sim.job()).kind is AnswerKind.ACCEPTED
    assert sim.charges() == 1


def test_no_connection_proves_that_nothing_was_accepted(server: SimulatedProvider) -> None:
    """Nobody listens any more."""
    gone = line(server, "sim")
    server.stop()
    assert gone.submit(gone.job()).kind is AnswerKind.NOT_ACCEPTED
    assert gone.adapter.poll(gone.job(), "job_1").kind is ReportKind.UNAVAILABLE


def test_lookup_poll_and_cancel_of_what_is_not_there(sim: Line, nokey: Line) -> None:
    """Absent, gone, and nothing to look up."""
    assert sim.adapter.lookup(sim.job()).kind is ReportKind.ABSENT
    assert sim.adapter.poll(sim.job(), "job_none").kind is ReportKind.GONE
    assert sim.adapter.cancel(sim.job(provider_job_id="job_none")).kind is ReportKind.GONE
    assert not nokey.adapter.traits("video-1").lookup
    assert not nokey.adapter.traits("video-1").idempotent


def test_a_cancel_is_asked_for_and_the_providers_word_decides(sim: Line) -> None:
    """Canceled in the end; a finished job is refused."""
    job = sim.job(model="slow-1")
    answered = sim.submit(job)
    running = sim.job(model="slow-1", provider_job_id=answered.provider_job_id)
    assert sim.adapter.cancel(running).kind is ReportKind.WORD
    until(lambda: sim.adapter.poll(running, str(answered.provider_job_id)), Status.CANCELED)
    done = sim.submit(sim.job("b" * 26))
    until(lambda: sim.adapter.poll(job, str(done.provider_job_id)), Status.SUCCEEDED)
    assert sim.adapter.cancel(sim.job(provider_job_id=done.provider_job_id)).kind is ReportKind.REFUSED


def test_its_webhooks_verify_and_read(sim: Line, receiver: Receiver) -> None:
    """Every event it sends, over the bytes that came; with a byte changed none."""
    answered = sim.submit(sim.job(), webhook_url=receiver.url)
    end = time.monotonic() + PATIENCE_S
    while not receiver.of("job.completed"):
        assert time.monotonic() < end
        time.sleep(0.02)
    statuses = set()
    for event in list(receiver.events):
        headers: dict[str, tuple[str, ...]] = {name: (value,) for name, value in event.headers.items()}
        delivery = Delivery(provider="sim", ref=None, headers=headers, body=event.raw)
        assert sim.adapter.verify(delivery, SystemClock().now()).event_id == event.id
        report = sim.adapter.read(delivery)
        assert report.provider_job_id == answered.provider_job_id
        statuses.add(report.status)
        with pytest.raises(Unauthorized):
            sim.adapter.verify(replace(delivery, body=event.raw + b" "), SystemClock().now())
    assert statuses == {Status.RUNNING, Status.SUCCEEDED}
