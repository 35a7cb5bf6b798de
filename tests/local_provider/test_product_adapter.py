"""The product's own adapter and configuration against the simulated provider: both mean the same."""

from __future__ import annotations

import json
import time
from pathlib import Path
from string import Template
from typing import Any

import pytest

from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.errors import Unauthorized
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Delivery, ReportKind
from mediajobs.ports import ProviderAdapter
from tests.fakes.jobs import a_job
from tests.local_provider.kit import PROMPT, Client, Event, Http, Receiver, Secrets, call, until

FILE = Path(__file__).parents[2] / "local" / "providers.toml"


@pytest.fixture
def adapter(client: Client) -> ProviderAdapter:
    text = Template(FILE.read_text()).substitute(PROVIDER_URL=client.server.base_url)
    http_port: Any = Http()
    secrets: Any = Secrets(client.server.credentials.public()["providers"])
    return Registry(load(text), http_port, secrets).get("sim")


def delivery(event: Event) -> Delivery:
    return Delivery(
        provider="sim", ref=None, headers={name: (value,) for name, value in event.headers.items()}, body=event.raw
    )


def now() -> int:
    return int(time.time() * 1000)


def test_job_from_submit_to_result(adapter: ProviderAdapter, receiver: Receiver) -> None:
    """Accepted, found by reference, reported by webhook and by poll, with usable links."""
    job = a_job()
    request = adapter.request(job, {"prompt": PROMPT, "duration_s": 0.05}, receiver.url)
    answered = adapter.submit(request, "token", 1, now())
    assert answered.kind is AnswerKind.ACCEPTED
    assert adapter.lookup(job).provider_job_id == answered.provider_job_id
    event = until(lambda: receiver.of("job.completed"))[0]
    assert adapter.verify(delivery(event), now()).event_id == event.id
    told = adapter.read(delivery(event))
    polled = adapter.poll(job, str(answered.provider_job_id))
    for report in (told, polled):
        assert (report.status, report.progress, report.reference) == (Status.SUCCEEDED, 100, job.reference)
        assert (report.links[0].content_type, len(report.links)) == ("video/mp4", 1)
        assert call("GET", report.links[0].url).status == 200


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("unavailable_before", AnswerKind.NOT_ACCEPTED),
        ("rate_limited_before", AnswerKind.NOT_ACCEPTED),
        ("unavailable_after", AnswerKind.AMBIGUOUS),
        ("error_after", AnswerKind.AMBIGUOUS),
        ("no_id_after", AnswerKind.AMBIGUOUS),
    ],
)
def test_faulty_answer_is_read_for_what_it_proves(
    client: Client, adapter: ProviderAdapter, fault: str, kind: AnswerKind
) -> None:
    """Sent again with the same bytes it is accepted, and charged once."""
    client.script({fault: True})
    request = adapter.request(a_job(), {"prompt": PROMPT}, None)
    assert adapter.submit(request, "token", 1, now()).kind is kind
    assert adapter.submit(request, "token", 1, now()).kind is AnswerKind.ACCEPTED
    assert client.ledger()["charges_by_reference"] == {a_job().reference: 1}


def test_moderated_and_blocked_are_told_apart(client: Client, adapter: ProviderAdapter) -> None:
    moderated = adapter.submit(adapter.request(a_job(), {"prompt": "a forbidden-word"}, None), "token", 1, now())
    assert (moderated.kind, moderated.code) == (AnswerKind.REJECTED, ErrorCode.CONTENT_MODERATED)
    call("POST", f"{client.server.base_url}/_faults", {"block": {"provider": "sim", "seconds": 5}})
    blocked = adapter.submit(adapter.request(a_job(), {"prompt": PROMPT}, None), "token", 1, now())
    assert blocked.kind is AnswerKind.BLOCKED


def test_lost_unknown_and_canceled_jobs(client: Client, adapter: ProviderAdapter) -> None:
    client.script({"lost": True}, reference="lost")
    client.script({"unknown_final": True}, reference="odd")
    made = {
        name: adapter.submit(
            adapter.request(a_job(id=name), {"prompt": PROMPT, "duration_s": run_s}, None), "token", 1, now()
        ).provider_job_id
        for name, run_s in (("lost", 0.05), ("odd", 0.05), ("live", 5))
    }
    assert adapter.poll(a_job(id="lost"), str(made["lost"])).kind is ReportKind.GONE
    assert adapter.lookup(a_job(id="lost")).kind is ReportKind.ABSENT
    report = until(lambda: r if (r := adapter.poll(a_job(id="odd"), str(made["odd"]))).raw == "archived" else None)
    assert report.status is Status.UNKNOWN
    adapter.cancel(a_job(id="live", provider_job_id=made["live"]))
    until(lambda: adapter.poll(a_job(id="live"), str(made["live"])).status is Status.CANCELED)


def test_delivery_with_an_old_time_is_refused(client: Client, adapter: ProviderAdapter, receiver: Receiver) -> None:
    client.script({"delay": 0.05, "old_timestamp": True})
    adapter.submit(adapter.request(a_job(), {"prompt": PROMPT, "duration_s": 0.05}, receiver.url), "token", 1, now())
    event = until(lambda: receiver.of("job.completed"))[0]
    with pytest.raises(Unauthorized):
        adapter.verify(delivery(event), now())
    assert json.loads(event.raw)["data"]["status"] == "completed"
