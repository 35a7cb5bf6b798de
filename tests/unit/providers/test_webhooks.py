"""Webhooks: verified over the raw bytes, then read strictly (CASES 14, 15, 21, 24)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mediajobs.errors import BadRequest, ConfigurationError, Retryable, Unauthorized
from mediajobs.jobs.events import Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Delivery
from mediajobs.signatures import sign_standard
from tests.fakes.secrets import MemorySecrets
from tests.unit.providers.kit import KEY, NOW, WEBHOOK_SECRET, adapter, secrets

NEW_SECRET = "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c="
BODY = b'{"type": "job.completed", "data": {"id": "p-1", "status": "completed", "output": "https://a.example/1"}}'


def delivery(body: bytes = BODY, secret: str = WEBHOOK_SECRET, **changes: tuple[str, ...]) -> Delivery:
    headers = {
        "webhook-id": ("msg-1",),
        "webhook-timestamp": (str(NOW // 1000),),
        "webhook-signature": (sign_standard(secret, "msg-1", NOW // 1000, body),),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    return Delivery(provider="acme", ref=None, headers=headers, body=body)


def test_a_rightly_signed_webhook_is_verified() -> None:
    """Over the bytes as they came."""
    verified = adapter().verify(delivery(), NOW)
    assert (verified.event_id, verified.timestamp) == ("msg-1", NOW)


@pytest.mark.parametrize(
    "bad",
    [
        delivery(secret=NEW_SECRET),
        delivery(webhook_signature=("v1,dawfeoifkpqwoekfpqoekf",)),
        delivery(webhook_signature=()),
        delivery(webhook_timestamp=(str(NOW // 1000 - 301),)),
        delivery(webhook_id=("msg-2",)),
    ],
)
def test_anything_else_is_unauthorized_after_one_forced_look(bad: Delivery) -> None:
    """The secret may have been rotated; one look tells."""
    kept = secrets()
    with pytest.raises(Unauthorized):
        adapter(None, kept).verify(bad, NOW)
    assert kept.refreshes == ["acme"]


def test_a_secret_rotated_while_warm_is_found() -> None:
    """CASES 15: the next event verifies, without a cold start."""
    kept = secrets()
    made = adapter(None, kept)
    made.verify(delivery(), NOW)
    assert kept.refreshes == []
    kept.put("acme", KEY, NEW_SECRET)
    assert made.verify(delivery(secret=NEW_SECRET), NOW).event_id == "msg-1"
    with pytest.raises(Unauthorized):
        made.verify(delivery(), NOW)


def test_the_forced_look_is_rate_limited_by_the_secrets() -> None:
    """In between the old secret stays, and the event comes again."""
    kept = secrets()
    made = adapter(None, kept)
    made.verify(delivery(), NOW)
    kept.put("acme", KEY, NEW_SECRET)
    kept.frozen = True
    with pytest.raises(Unauthorized):
        made.verify(delivery(secret=NEW_SECRET), NOW)
    kept.frozen = False
    assert made.verify(delivery(secret=NEW_SECRET), NOW).event_id == "msg-1"


@pytest.mark.parametrize("broken", [(), ("",), ("whsec_",), ("whsec_!!!!",)])
def test_a_secret_that_cannot_be_used_is_our_fault_and_lets_nobody_in(broken: tuple[str, ...]) -> None:
    """CASES 24: not a 401 for ever, and put right without a cold start."""
    kept = secrets()
    kept.put("acme", KEY, *broken)
    made = adapter(None, kept)
    with pytest.raises(ConfigurationError):
        made.verify(delivery(), NOW)
    kept.put("acme", KEY, WEBHOOK_SECRET)
    if broken:
        assert made.verify(delivery(), NOW).event_id == "msg-1"


def test_a_secret_that_cannot_be_read_is_raised_as_such() -> None:
    """The provider sends again."""
    with pytest.raises(Retryable):
        adapter(None, MemorySecrets(fail=Retryable("throttled"))).verify(delivery(), NOW)


def test_a_provider_without_webhooks_is_heard_by_nobody() -> None:
    """Whatever is sent in its name."""
    edits = (('webhook_field = "webhook_url"\n', ""), ('[providers.acme.webhook]\ndata = "data"\n', ""))
    made = adapter(None, None, *edits)
    assert not made.traits("video-1").webhooks
    with pytest.raises(Unauthorized):
        made.verify(delivery(), NOW)


def test_an_untrusted_source_leaves_the_polling_on() -> None:
    """Its events are heard, but the poll carries the job."""
    assert not adapter(None, None, ('data = "data"', 'data = "data"\ntrusted = false')).traits("video-1").webhooks


# fmt: off
UNUSABLE: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("null", b"null"),
    ("a list", b"[]"),
    ("a number", b"42"),
    ("a text", b'"x"'),
    ("no data", b"{}"),
    ("data that is a list", b'{"data": [{"id": "p-1", "status": "failed"}]}'),
    ("data that is a text", b'{"data": "p-1"}'),
    ("an id of null", b'{"data": {"id": null, "status": "failed"}}'),
    ("no id", b'{"data": {"status": "failed"}}'),
    ("a number for an id", b'{"data": {"id": 7, "status": "failed"}}'),
    ("an empty id", b'{"data": {"id": "", "status": "failed"}}'),
    ("a blank id", b'{"data": {"id": " ", "status": "failed"}}'),
    ("an id of 3 kB", b'{"data": {"id": "' + b"x" * 3000 + b'", "status": "failed"}}'),
    ("an id of 257 bytes", '{{"data": {{"id": "{}", "status": "failed"}}}}'.format("é" * 129).encode()),
    ("an id that is no text", b'{"data": {"id": "\\ud800", "status": "failed"}}'),
    ("an id with a control character", b'{"data": {"id": "a\\u0000b", "status": "failed"}}'),
    ("a list for an id", b'{"data": {"id": ["p-1"], "status": "failed"}}'),
    ("no status", b'{"data": {"id": "p-1", "output": {"url": 5}}}'),
    ("a number for a status", b'{"data": {"id": "p-1", "status": 3}}'),
    ("an empty status", b'{"data": {"id": "p-1", "status": ""}}'),
    ("a number for a link", b'{"data": {"id": "p-1", "status": "completed", "output": {"url": 5}}}'),
    ("a link with a newline", b'{"data": {"id": "p-1", "status": "completed", "output": ["https://a/\\n"]}}'),
    ("an endless link", b'{"data": {"id": "p-1", "status": "completed", "output": "https://a/' + b"x" * 5000 + b'"}}'),
    ("repeated names", b'{"data": {"id": "p-1", "status": "failed", "status": "completed"}}'),
    ("NaN", b"NaN"),
    ("Infinity for an id", b'{"data": {"id": Infinity, "status": "failed"}}'),
    ("5000 nested lists", b'{"data": {"id": "p-1", "status": "failed"}, "x": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    ("200 nested lists", b'{"data": {"id": "p-1", "status": "failed"}, "x": ' + b"[" * 200 + b"]" * 200 + b"}"),
    ("a number of 5000 digits", b'{"data": {"id": "p-1", "status": "failed"}, "x": ' + b"9" * 5000 + b"}"),
    ("no UTF-8", b'{"data": {"id": "p-1", "status": "\xff"}}'),
    ("UTF-16", '{"data": {"id": "p-1", "status": "failed"}}'.encode("utf-16")),
    ("two values", BODY + b" " + BODY),
    ("cut short", BODY[:-5]),
]
# fmt: on


@pytest.mark.parametrize("body", [case[1] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE])
def test_signed_content_that_cannot_be_used_is_a_bad_request(body: bytes) -> None:
    """CASES 14: one rule, 400; never another error, and no part of the content in the answer."""
    made = adapter()
    made.verify(delivery(body), NOW)
    with pytest.raises(BadRequest, match=r"^The webhook cannot be used: "):
        made.read(delivery(body))


def read(data: dict[str, Any], **top: Any) -> Any:
    return adapter().read(delivery(json.dumps({"type": "job", "data": data, **top}).encode()))


@pytest.mark.parametrize("body", [BODY, b"\xef\xbb\xbf" + BODY, b" \n" + BODY + b"\n"])
def test_a_webhook_is_read_into_a_report(body: bytes) -> None:
    """A byte order mark is no reason to lose an event."""
    report = adapter().read(delivery(body))
    assert (report.provider_job_id, report.status, report.raw) == ("p-1", Status.SUCCEEDED, "completed")
    assert [link.url for link in report.links] == ["https://a.example/1"]


def test_numbers_that_no_table_takes_are_left_out() -> None:
    """CASES 21: only whole numbers leave the adapter; the event counts."""
    body = b'{"data": {"id": "p-1", "status": "processing", "progress": 22.478766, '
    body += b'"metrics": {"x": 1e400, "y": NaN, "w": -Infinity, "z": 0.3}}}'
    report = adapter().read(delivery(body))
    assert report.progress == 22
    odd = b'{"data": {"id": "p-1", "status": "completed", "progress": 1e400, "output": [{"url": "https://a/1", '
    odd += b'"size": 0.5, "expires_at": 1e400}]}}'
    report = adapter().read(delivery(odd))
    assert report.progress is None
    assert (report.links[0].size, report.links[0].expires_at) == (None, None)


@pytest.mark.parametrize("error", [{"a": []}, [], "boom", 5, {"message": {"deep": ["x" * 1000]}}, {"message": 5}])
def test_an_error_of_any_shape_is_a_bounded_text(error: object) -> None:
    """It must not cost us the event."""
    report = read({"id": "p-1", "status": "failed", "error": error})
    assert report.status is Status.FAILED
    assert isinstance(report.message, str)
    assert len(report.message) <= 200


def test_refused_content_is_told_by_code() -> None:
    """So that a caller can change the prompt."""
    report = read({"id": "p-1", "status": "failed", "error": {"code": "content_moderated", "message": "no"}})
    assert (report.code, report.message) == (ErrorCode.CONTENT_MODERATED, "no")


def test_a_running_event_is_not_lost_for_odd_outputs() -> None:
    """Links are read of a success only."""
    report = read({"id": "p-1", "status": "processing", "output": [{"url": 5}], "progress": 5})
    assert (report.status, report.links, report.progress) == (Status.RUNNING, (), 5)


def test_an_unknown_word_is_kept_and_decides_nothing() -> None:
    """The step counts it."""
    report = read({"id": "p-1", "status": "ready?"})
    assert (report.status, report.raw) == (Status.UNKNOWN, "ready?")


def test_the_reference_is_told_where_it_is_echoed() -> None:
    """And only as a text."""
    assert read({"id": "p-1", "status": "queued", "reference": "r.1"}).reference == "r.1"
    assert read({"id": "p-1", "status": "queued", "reference": 5}).reference is None


def test_secrets_seen_before_do_not_pass_into_messages() -> None:
    """The provider knows them and may repeat them."""
    made = adapter()
    body = json.dumps({"data": {"id": "p-1", "status": "failed", "error": {"message": WEBHOOK_SECRET}}}).encode()
    made.verify(delivery(body), NOW)
    assert made.read(delivery(body)).message == "***"
