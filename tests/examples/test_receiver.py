"""The example of a receiver holds to Standard Webhooks, and acts once for ever."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from examples.receiver import Receiver, server
from mediajobs.signatures import sign_standard

OLD, NEW = ("whsec_" + word * 11 + "=" for word in ("aGVs", "bG8g"))
NOW = 1_800_000_000
EVENT = {"type": "job.succeeded", "id": "e-1", "request_id": "r", "final_version": 5, "status": "succeeded"}


def sent(event: dict[str, Any], *secrets: str, at: int = NOW, event_id: str = "e-1") -> tuple[dict[str, str], bytes]:
    """A delivery as the product signs it."""
    body = json.dumps(event).encode()
    signatures = " ".join(sign_standard(secret, event_id, at, body) for secret in secrets)
    return {"webhook-id": event_id, "webhook-timestamp": str(at), "webhook-signature": signatures}, body


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver([NEW], tmp_path / "events.sqlite")


def test_a_rightly_signed_event_is_taken_once_for_ever(receiver: Receiver, tmp_path: Path) -> None:
    """Repeats are 200 and change nothing, also in another process a year later."""
    assert receiver.take(*sent(EVENT, NEW), NOW) == (200, {"taken": "now"})
    assert receiver.take(*sent(EVENT, NEW), NOW) == (200, {"taken": "before"})
    later = NOW + 365 * 86_400
    again = Receiver([NEW], tmp_path / "events.sqlite")
    assert again.take(*sent(EVENT, NEW, at=later), later) == (200, {"taken": "before"})
    assert again.jobs() == [EVENT]


def test_of_two_events_about_a_job_the_greater_version_stays(receiver: Receiver) -> None:
    """In whatever order they come."""
    newer = EVENT | {"id": "e-2", "final_version": 7, "status": "failed"}
    receiver.take(*sent(newer, NEW, event_id="e-2"), NOW)
    assert receiver.take(*sent(EVENT, NEW), NOW) == (200, {"taken": "before"})
    assert receiver.jobs() == [newer]


def test_one_of_several_signatures_is_enough(tmp_path: Path) -> None:
    """While a secret is rotated either side may be ahead."""
    for number, known in enumerate(([OLD], [NEW], [OLD, NEW])):
        receiver = Receiver(known, tmp_path / f"{number}.sqlite")
        assert receiver.take(*sent(EVENT, NEW, OLD), NOW)[0] == 200


@pytest.mark.parametrize(
    "spoil",
    [
        {"webhook-id": "e-2"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(NOW + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": f" {NOW}"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v2," + "A" * 43 + "="},
    ],
)
def test_what_is_not_rightly_signed_is_401_and_leaves_nothing(receiver: Receiver, spoil: dict[str, str]) -> None:
    """Never an exception."""
    headers, body = sent(EVENT, NEW)
    assert receiver.take(headers | spoil, body, NOW) == (401, {})
    assert receiver.take(headers, body + b" ", NOW) == (401, {})
    assert receiver.jobs() == []


@pytest.mark.parametrize("away", [-301, 301])
def test_an_old_or_early_delivery_is_401(receiver: Receiver, away: int) -> None:
    """Who overheard one cannot send it again for long."""
    assert receiver.take(*sent(EVENT, NEW, at=NOW + away), NOW)[0] == 401


def test_a_challenge_is_given_back_before_there_is_a_secret(tmp_path: Path) -> None:
    """And nothing else is: an event is asked to come again."""
    fresh = Receiver([], tmp_path / "events.sqlite")
    challenge = {"type": "callback.challenge", "challenge": "a" * 26}
    assert fresh.take(*sent(challenge, OLD), NOW) == (200, {"challenge": "a" * 26})
    assert fresh.take(*sent(EVENT, OLD), NOW) == (503, {})
    for odd in ("<script>", 7, None, "a" * 27):
        assert fresh.take(*sent(challenge | {"challenge": odd}, OLD), NOW) == (400, {})


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b"{", b"[" * 200_000])
def test_a_body_that_is_no_event_is_400(receiver: Receiver, body: bytes) -> None:
    assert receiver.take({}, body, NOW) == (400, {})


def test_it_serves_over_http(receiver: Receiver) -> None:
    """As a process of its own would."""
    running = server(receiver, 0)
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{running.server_port}/"
        body = json.dumps({"type": "callback.challenge", "challenge": "b" * 26}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as answer:
            assert json.load(answer) == {"challenge": "b" * 26}
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(url, b"{}"), timeout=20)
        assert refused.value.code == 401
        refused.value.close()
        odd = urllib.request.Request(url, b"{}", {"Content-Length": "\u00b2"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(odd, timeout=20)
        assert refused.value.code == 413
        refused.value.close()
    finally:
        running.shutdown()
        thread.join()
        running.server_close()
