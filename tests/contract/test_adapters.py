"""Every adapter against its vendor's published wire: each documented status, error and event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from mediajobs.adapters.providers.webhook_config import HINTS
from mediajobs.errors import NoAnswer, NotSent, Unauthorized, UnsafeUrl
from mediajobs.jobs.events import AnswerKind
from mediajobs.messages import Delivery, ReportKind, Request, Response
from mediajobs.ports import ProviderAdapter
from tests.contract.vendors import ALL
from tests.contract.vendors.shape import INPUT, WEBHOOK_URL, Case, Vendor, Wire, says
from tests.fakes.jobs import NOW

FAULTS = [NoAnswer("read timed out"), NotSent("refused"), UnsafeUrl("private")]
PROVES_NOTHING = [says(status, {}) for status in (302, 408, 418, 425, 451, 500, 502, 503, 504)] + [
    says(200, raw=b""),
    says(200, raw=b"<html>"), says(200, {}), says(200, []), says(201, {"id": 5}), says(200, {"id": ""}),
]  # fmt: skip


def cases(kind: str) -> list[Any]:
    return [
        pytest.param(vendor, case, id=f"{vendor.name}: {case.name}") for vendor in ALL for case in getattr(vendor, kind)
    ]


def vendors(wanted: Any = lambda _: True) -> list[Any]:
    return [pytest.param(vendor, id=vendor.name) for vendor in ALL if wanted(vendor)]


def sent(vendor: Vendor, wire: Wire, **job: Any) -> Any:
    made = vendor.made(wire)
    request = made.request(vendor.job(**job), INPUT, WEBHOOK_URL)
    return made.submit(request, "token", 1, NOW)


def compared(case: Case, found: Any) -> None:
    """Everything that the case names."""
    if case.kind is not None:
        assert found.kind is case.kind, found
    if case.status is not None:
        assert found.status is case.status, found
    if case.links is not None:
        assert tuple(link.url for link in found.links) == case.links
    for name, value in case.expect.items():
        shown = found.links[0].expires_at if name == "expires" else getattr(found, name)
        assert shown == value, (name, shown)


def asked(wire: Wire) -> tuple[str, ...]:
    return tuple(f"{request.method} {urlsplit(request.url).path}{_query(request.url)}" for request in wire.gets)


def _query(url: str) -> str:
    return "?" + urlsplit(url).query if urlsplit(url).query else ""


def as_paths(lines: tuple[str, ...]) -> tuple[str, ...]:
    """A case may name whole addresses."""
    pairs = [line.split(" ") for line in lines]
    return tuple(f"{method} {urlsplit(url).path}{_query(url)}" for method, url in pairs)


@pytest.mark.parametrize(("vendor", "case"), cases("submits"))
def test_each_published_answer_to_a_submit_comes_to_its_outcome(vendor: Vendor, case: Case) -> None:
    """The outcome table of DESIGN section 3, for this vendor's words."""
    wire = Wire(*case.said)
    compared(case, sent(vendor, wire))
    assert len(wire.submits) == 1


@pytest.mark.parametrize(("vendor", "case"), cases("polls"))
def test_each_published_status_is_read(vendor: Vendor, case: Case) -> None:
    """And nothing more is asked than the case foresees."""
    wire = Wire(*case.said)
    job = vendor.job(**case.job)
    compared(case, vendor.made(wire).poll(job, job.provider_job_id))
    assert wire.left() == 0
    if case.asked is not None:
        assert asked(wire) == as_paths(case.asked)


@pytest.mark.parametrize(("vendor", "case"), cases("cancels"))
def test_each_published_answer_to_a_cancel_is_read(vendor: Vendor, case: Case) -> None:
    """Where there is none, nothing is asked."""
    wire = Wire(*case.said)
    compared(case, vendor.made(wire).cancel(vendor.job(cancel_requested=True)))
    assert wire.left() == 0
    if case.asked is not None:
        assert asked(wire) == as_paths(case.asked)


@pytest.mark.parametrize(("vendor", "case"), cases("lookups"))
def test_each_published_answer_to_a_lookup_is_read(vendor: Vendor, case: Case) -> None:
    """Absent, and an outage, are told apart."""
    wire = Wire(*case.said)
    compared(case, vendor.made(wire).lookup(vendor.job(provider_job_id=None)))
    if case.asked is not None:
        assert asked(wire) == as_paths(case.asked)


@pytest.mark.parametrize(("vendor", "case"), cases("webhooks"))
def test_each_published_event_is_verified_and_read(vendor: Vendor, case: Case) -> None:
    """Over the bytes as they came; it names its job."""
    made = vendor.made(Wire(published=vendor.published))
    delivery = vendor.delivery(case.body)
    verified = made.verify(delivery, NOW)
    assert verified.event_id
    assert verified.proven is (vendor.sign is not None)
    report = made.read(delivery)
    assert (report.kind, report.provider_job_id) == (ReportKind.WORD, vendor.job_id)
    compared(case, report)


def spoiled(delivery: Delivery) -> Iterator[tuple[str, Delivery]]:
    """The delivery with one thing wrong, each in turn."""
    yield "another body", replace(delivery, body=delivery.body + b" ")
    yield "no body", replace(delivery, body=b"")
    for name, (value,) in delivery.headers.items():
        others = {key: values for key, values in delivery.headers.items() if key != name}
        yield f"{name} missing", replace(delivery, headers=others)
        for odd in (
            "",
            " ",
            ",",
            "v1",
            "=",
            "\u00e9",
            "x" * 10_000,
            "0" * 128,
            value[:-1],
            value[:8],
            value + "\u0660",
        ):
            if odd != value:
                yield f"{name} is {odd[:9]!r}", replace(delivery, headers={**others, name: (odd,)})
        yield f"{name} twice", replace(delivery, headers={**others, name: (value + "1", "v1,x")})


UNSIGNED = {"heygen-timestamp", "heygen-event-id"}  # headers that their signature does not cover


@pytest.mark.parametrize("vendor", vendors(lambda vendor: vendor.sign is not None))
def test_whatever_is_spoiled_is_one_401(vendor: Vendor) -> None:
    """Never another exception, and the sender is told nothing."""
    made = vendor.made(Wire(published=vendor.published))
    good = vendor.delivery(vendor.webhooks[0].body)
    made.verify(good, NOW)
    tried = 0
    for name, bad in spoiled(good):
        if name.split(" ")[0] in UNSIGNED:
            assert made.verify(bad, NOW).event_id.startswith("sha256:"), name
            continue
        with pytest.raises(Unauthorized, match=r"^The webhook's signature was not accepted\.$"):
            made.verify(bad, NOW)
        tried += 1
    assert tried > 10


@pytest.mark.parametrize("vendor", vendors(lambda vendor: vendor.sign is not None))
@pytest.mark.parametrize("away", [-301, 301, -86_400, 10**9])
def test_a_signed_time_outside_the_window_is_refused(vendor: Vendor, away: int) -> None:
    """On both sides; where no time is signed, the source is no more than a hint."""
    webhook = vendor.config.webhook
    assert webhook is not None
    made = vendor.made(Wire(published=vendor.published))
    delivery = vendor.delivery(vendor.webhooks[0].body, NOW + away * 1000)
    if webhook.strategy in HINTS:
        assert not webhook.trusted
        assert made.traits(vendor.model).webhooks is False
        return
    with pytest.raises(Unauthorized):
        made.verify(delivery, NOW)
    for near in (-299, 299):
        assert made.verify(vendor.delivery(vendor.webhooks[0].body, NOW + near * 1000), NOW)


@pytest.mark.parametrize("vendor", vendors())
@pytest.mark.parametrize("answer", PROVES_NOTHING, ids=lambda answer: f"{answer.status} {answer.body[:9]!r}")
def test_an_answer_that_proves_nothing_is_ambiguous(vendor: Vendor, answer: Response) -> None:
    """Perhaps paid for: never sent again on a guess."""
    assert sent(vendor, Wire(answer)).kind is AnswerKind.AMBIGUOUS


@pytest.mark.parametrize("vendor", vendors())
def test_a_submit_that_is_cut_is_what_the_connection_can_prove(vendor: Vendor) -> None:
    """No byte sent, or nobody knows."""
    assert sent(vendor, Wire(NotSent("refused"))).kind is AnswerKind.NOT_ACCEPTED
    assert sent(vendor, Wire(NoAnswer("timeout"))).kind is AnswerKind.AMBIGUOUS
    assert sent(vendor, Wire(UnsafeUrl("private"))).kind is AnswerKind.BLOCKED


@pytest.mark.parametrize("vendor", vendors())
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_call_that_fails_says_nothing_of_the_job(vendor: Vendor, fault: Exception) -> None:
    """Poll, cancel, lookup."""
    assert vendor.made(Wire(fault)).poll(vendor.job(), vendor.job_id).kind is ReportKind.UNAVAILABLE
    traits = vendor.made(Wire()).traits(vendor.model)
    if traits.cancel:
        assert vendor.made(Wire(fault)).cancel(vendor.job()).kind is ReportKind.UNAVAILABLE
    if traits.lookup:
        assert vendor.made(Wire(fault)).lookup(vendor.job()).kind is ReportKind.UNAVAILABLE


@pytest.mark.parametrize("vendor", vendors())
def test_the_request_is_the_same_bytes_and_holds_no_secret(vendor: Vendor) -> None:
    """A retry under the same key must be the first request again, with whatever key is valid then."""
    job = vendor.job(provider_job_id=None)
    requests = [vendor.made(Wire()).request(job, dict(reversed(INPUT.items())), WEBHOOK_URL) for _ in range(2)]
    assert requests[0] == requests[1]
    shown = repr(requests[0])
    for secret in (vendor.api_key, *vendor.api_key.split(":"), *vendor.webhook_secrets):
        assert secret not in shown
    assert vendor.made(Wire()).request(replace(job, model=vendor.model), INPUT, None) != requests[0] or not _calls_back(
        vendor
    )


def _calls_back(vendor: Vendor) -> bool:
    submit = vendor.config.submit
    return bool(submit.webhook_field or submit.webhook_query)


@pytest.mark.parametrize("vendor", vendors())
def test_the_webhook_url_is_in_the_request_where_the_vendor_takes_one(vendor: Vendor) -> None:
    """An event that beats our own write finds its job by it."""
    request = vendor.made(Wire()).request(vendor.job(), INPUT, WEBHOOK_URL)
    present = WEBHOOK_URL.encode() in request.body or quote(WEBHOOK_URL, safe="") in request.url
    assert present is _calls_back(vendor)


def home(vendor: Vendor) -> set[str]:
    base = vendor.config.base_url
    return {urlsplit(base).netloc, *vendor.hosts}


def carries(vendor: Vendor, request: Request) -> bool:
    return any(part in repr(request) for part in (vendor.api_key, "Bearer ", "Key ", *vendor.webhook_secrets))


@pytest.mark.parametrize("vendor", vendors())
def test_credentials_go_to_their_own_hosts_only(vendor: Vendor) -> None:
    """Also where an answer names another address."""
    for case in (*vendor.submits, *vendor.polls, *vendor.cancels, *vendor.lookups):
        wire = Wire(*case.said)
        made, job = vendor.made(wire), vendor.job(**case.job)
        if case in vendor.submits:
            made.submit(made.request(job, INPUT, WEBHOOK_URL), "t", 1, NOW)
            assert all(carries(vendor, request) for request in wire.submits)
        elif case in vendor.lookups:
            made.lookup(job)
        else:
            (made.cancel(job) if case in vendor.cancels else made.poll(job, job.provider_job_id))
        for request in (*wire.submits, *wire.gets):
            assert urlsplit(request.url).netloc in home(vendor)
    rules = vendor.made(Wire()).link_rules(vendor.model)
    assert not rules.allow_http
    assert not rules.allow_private
    assert not rules.credential_hosts or rules.hosts


@pytest.mark.parametrize("vendor", vendors())
def test_traits_claim_no_more_than_the_request_shows(vendor: Vendor) -> None:
    """A key that is not sent protects nothing; a reference that is not sent is never found."""
    made: ProviderAdapter = vendor.made(Wire())
    traits = made.traits(vendor.model)
    job = vendor.job()
    request = made.request(job, INPUT, WEBHOOK_URL)
    key = vendor.config.idempotency
    assert traits.idempotent is (key is not None and request.headers.get(key.header) == job.reference)
    assert (job.reference in request.headers.values()) is traits.idempotent
    assert traits.idempotent is (traits.key_life_s > 100)
    if traits.lookup:
        assert job.reference.encode() in request.body
    assert traits.cancel is (vendor.config.cancel is not None)
    assert traits.expected_s < traits.max_run_s
    webhook = vendor.config.webhook
    assert traits.webhooks is (webhook is not None and webhook.strategy not in HINTS)
    assert traits.account_webhooks is (webhook is not None and not _calls_back(vendor))


@pytest.mark.parametrize("vendor", vendors())
def test_no_message_tells_a_secret(vendor: Vendor) -> None:
    """The vendor knows our key and may repeat it."""
    leaky = {"error": vendor.api_key, "message": vendor.api_key, "detail": vendor.api_key, "text": vendor.api_key}
    answered = sent(vendor, Wire(says(422, leaky)))
    report = vendor.made(Wire(says(500, leaky))).poll(vendor.job(), vendor.job_id)
    for message in (answered.message, report.message):
        assert vendor.api_key not in message
        assert len(message) <= 200
