"""Cases 14, 17, 18 and 30: events that are odd, repeated, cut short by a death, or many."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from mediajobs.adapters.table.values import decoded
from mediajobs.jobs.states import State
from tests import samples
from tests.api.events import document, header, problem
from tests.cases import signing
from tests.cases.conftest import NewPlace
from tests.cases.deployment import Hooked, at_once, die
from tests.cases.parts import CALLBACK
from tests.cases.place import Place
from tests.hostile.server import serve
from tests.steps.kit import Killed

# -- 14

UNUSABLE = [
    b"",
    b"null",
    b"[]",
    b"42",
    b'"x"',
    b"NaN",
    b'{"id":null}',
    b'{"id":7}',
    b'{"id":""}',
    b'{"id":null,"status":"failed"}',
    b'{"id":7,"status":"failed"}',
    b'{"id":"","status":"failed"}',
    b'{"id":"x","output":{"url":5}}',
    b'{"id":"p-1","status":"completed","outputs":{"url":5}}',
    b'{"error":{"a":[]}}',
    b'{"error":{"a":[]},"status":"failed"}',
    b'{"id":"p-1","status":"failed","status":"completed"}',
    b'{"id":"p-1","status":"failed","deep":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"id":"' + b"x" * 3000 + b'","status":"failed"}',
]


@pytest.mark.parametrize("route", ["of the job", "of the account"])
def test_case_14_signed_but_unusable_is_one_400_and_leaves_nothing(place: Place, route: str) -> None:
    """One rule, so that retries stop: never a 500, nothing is written, no item has an empty key."""
    _, url = place.running()
    if route == "of the account":
        url = f"{CALLBACK}/v1/webhooks/sim"
    before = place.items()
    for number, body in enumerate(UNUSABLE):
        answer = place.webhook(url, body, signing.signed(body, f"evt-{number}", place.stamp()))
        told = problem(answer, 400, "bad-request")
        assert told["detail"].startswith("The webhook cannot be used: "), body[:60]
    after = place.items()
    assert after == before
    assert all(item["pk"]["S"] and item["sk"]["S"] for item in after)


def test_case_14_a_byte_order_mark_costs_no_event(place: Place) -> None:
    job_id, url = place.running()
    body = b'\xef\xbb\xbf{"id":"p-1","status":"failed","error":"no"}'
    assert place.webhook(url, body, signing.signed(body, "evt-1", place.stamp()))["statusCode"] == 200
    assert place.get(job_id)["error"] == {"code": "provider_error", "message": "no"}


@pytest.mark.parametrize("error", [{"a": []}, ["x" * 10_000], {"deep": [{"er": 1}]}, 7, "y" * 100_000, None])
def test_case_14_an_error_of_any_shape_becomes_a_bounded_text(place: Place, error: object) -> None:
    """It must not cost the event that says how the job ended."""
    job_id, url = place.running()
    assert place.say(url, status="failed", error=error)["statusCode"] == 200
    told = place.get(job_id)
    assert told["status"] == "failed"
    assert isinstance(told["error"]["message"], str)
    assert len(told["error"]["message"]) <= 300


# -- 17


def verdict(answer: dict[str, Any]) -> str:
    assert answer["statusCode"] == 200, answer
    return str(document(answer)["verdict"])


def test_case_17_the_same_event_signed_anew_has_one_effect(place: Place) -> None:
    """(a) A provider's retry has a fresh timestamp; also where everything about earlier events is forgotten."""
    job_id, url = place.running()
    assert verdict(place.say(url, status="failed")) == "24f"
    version = place.job(job_id).version
    for _ in range(3):
        place.clock.advance(60)
        assert verdict(place.say(url, status="failed")) == "replay"
    place.forget()
    assert verdict(place.say(url, status="failed")) == "terminal"
    assert place.job(job_id).version == version


def test_case_17_a_signed_id_cannot_be_exchanged(place: Place) -> None:
    """(b) Standard Webhooks signs the id: under another one the same bytes prove nothing."""
    job_id, url = place.running()
    body = b'{"id":"p-1","status":"failed"}'
    right = signing.signed(body, "evt-1", place.stamp())
    problem(place.webhook(url, body, right | {"Webhook-Id": "evt-2"}), 401, "unauthorized")
    assert place.get(job_id)["status"] == "running"


HEADER = "X-Acme-Signature"
NOT_SIGNED = {
    "body-hmac": f'strategy = "body-hmac"\ntrusted = false\nheader = "{HEADER}"\n',
    "timestamped-hex": f'strategy = "timestamped-hex"\nheader = "{HEADER}"\n',
}


@pytest.mark.parametrize("strategy", NOT_SIGNED)
def test_case_17_an_unsigned_id_is_nobodys_identity(new_place: NewPlace, strategy: str) -> None:
    """(b) Where only the body is signed it is the identity: the same bytes under new ids have one effect."""
    table = "[providers.sim.webhook]\n"
    place = new_place(edits=((table, table + NOT_SIGNED[strategy]),))
    job_id, url = place.running()
    body = b'{"id":"p-1","status":"failed"}'
    place.server.routes["/v1/jobs/p-1"] = serve(body)
    signed = body if strategy == "body-hmac" else f"{place.stamp()}.".encode() + body
    mac = hmac.digest(signing.SECRET.encode(), signed, "sha256").hex()
    value = mac if strategy == "body-hmac" else f"t={place.stamp()},v1={mac}"
    for number in range(3):
        answer = place.webhook(url, body, {HEADER: value, "Webhook-Id": f"evt-{number}", "Id": f"{number}"})
        assert answer["statusCode"] == 200, answer
    assert place.get(job_id)["status"] == "failed"
    assert [entry["to"] for entry in place.get(job_id)["history"] if entry.get("to") == "failed"] == ["failed"]
    assert place.job(job_id).version == 4


def test_case_17_equal_progress_under_two_ids_is_taken_twice_and_harmless(place: Place) -> None:
    """(c) Real repeats are not swallowed as duplicates, and change nothing."""
    job_id, url = place.running()
    version = place.job(job_id).version
    for event_id in ("evt-1", "evt-2"):
        assert verdict(place.say(url, event_id, status="processing", progress=40)) in ("progress", "throttled")
        place.clock.advance(2)
    assert (place.get(job_id)["progress"], place.job(job_id).version) == (40, version)


@pytest.mark.parametrize("forgotten", [False, True])
def test_case_17_another_body_under_the_same_id_is_not_applied_over_the_first(place: Place, forgotten: bool) -> None:
    """(d) Nor silently dropped: its digest stands beside the job, or a person is told of a late result."""
    job_id, url = place.running()
    assert verdict(place.say(url, status="failed")) == "24f"
    if forgotten:
        place.forget()
    outputs = [{"url": "https://cdn.example/a.mp4"}]
    place.say(url, status="completed", outputs=outputs)
    told = place.get(job_id)
    assert told["status"] == "failed"
    if forgotten:
        assert [finding["kind"] for finding in told["findings"]] == ["late_result"]
    else:
        body = json.dumps({"id": "p-1", "status": "completed", "outputs": outputs}).encode()
        assert any(hashlib.sha256(body).hexdigest() in entry for entry in place.store.events(job_id))


# -- 18


def killed_before(place: Place) -> Any:
    return Hooked(place.store, write=die)


def killed_after(place: Place) -> Any:
    def write(change: Any) -> Any:
        place.store.write(change)
        die()

    return Hooked(place.store, write=write)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_case_18_a_death_around_the_state_write_is_made_good_by_the_redelivery(place: Place, moment: str) -> None:
    """At once it gets a retryable 503, since nobody can tell a dead run from a live one; after the lease 200."""
    job_id, url = place.running()
    place.rewire(store=killed_before(place) if moment == "before" else killed_after(place))
    with pytest.raises(Killed):
        place.say(url, status="failed")
    place.rewire(store=place.store)
    assert place.get(job_id)["status"] == ("running" if moment == "before" else "failed")
    version = place.job(job_id).version
    answer = place.say(url, status="failed")
    problem(answer, 503, "unavailable")
    assert header(answer, "Retry-After") is not None
    place.lapse()
    assert verdict(place.say(url, status="failed")) == ("24f" if moment == "before" else "terminal")
    assert place.get(job_id)["status"] == "failed"
    assert place.job(job_id).version == (version + 1 if moment == "before" else version)
    assert verdict(place.say(url, status="failed")) == "replay"


def test_case_18_a_death_after_the_record_and_before_the_200_is_answered_200(place: Place) -> None:
    job_id, url = place.running()
    place.say(url, status="failed")  # its answer is lost on the way
    version = place.job(job_id).version
    assert verdict(place.rewire().say(url, status="failed")) == "replay"
    assert place.job(job_id).version == version


def test_case_18_a_twin_of_a_run_under_way_is_to_come_again(place: Place) -> None:
    """503, not 200: were the first run to die now, the event would be lost."""
    job_id, url = place.running()
    entered, leave = threading.Event(), threading.Event()

    def write(change: Any) -> Any:
        entered.set()
        assert leave.wait(10)
        return place.store.write(change)

    place.rewire(store=Hooked(place.store, write=write))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(place.say, url, status="failed")
        assert entered.wait(10)
        problem(place.say(url, status="failed"), 503, "unavailable")
        leave.set()
        assert verdict(first.result(10)) == "24f"
    assert verdict(place.say(url, status="failed")) == "replay"
    assert place.get(job_id)["status"] == "failed"


# -- 30


def progress(place: Place, url: str, value: str, event_id: str) -> dict[str, Any]:
    body = f'{{"id":"p-1","status":"processing","progress":{value}}}'.encode()
    return place.webhook(url, body, signing.signed(body, event_id, place.stamp()))


def kept(place: Place) -> list[dict[str, Any]]:
    """Every attempt to write a progress item; a refused one is billed like the others."""
    puts = [params["Item"] for name, params in place.client.calls if name == "put_item"]
    return [decoded(item) for item in puts if item["sk"] == {"S": "P"}]


SENT = ["10", "50", "40", "104", "-1", '"55%"', "0.7", "null", "NaN", "100", "60"]
SHOWN = [10, 50, 50, 99, 99, 99, 99, 99, 99, 99, 99]


def test_case_30_shown_progress_never_falls_nor_says_100_before_the_end(place: Place) -> None:
    """A text, null or NaN is no progress; 0.7 is a percentage unless the configuration says fraction."""
    job_id, url = place.running()
    shown = []
    for number, value in enumerate(SENT):
        assert progress(place, url, value, f"evt-{number}")["statusCode"] == 200, value
        shown.append(place.get(job_id)["progress"])
        place.clock.advance(1.1)
    assert shown == SHOWN
    assert place.job(job_id).version == 3  # the state machine never hears of it


def test_case_30_a_fraction_is_read_as_one_where_the_configuration_says_so(new_place: NewPlace) -> None:
    place = new_place(edits=(('progress = "progress"', 'progress = "progress"\nprogress_scale = 1'),))
    job_id, url = place.running()
    progress(place, url, "0.7", "evt-1")
    assert place.get(job_id)["progress"] == 70


def test_case_30_500_events_within_5_seconds_cost_a_write_a_second_and_delay_no_end(place: Place) -> None:
    """The terminal event comes in the same second as a throttled one, and only then 100 is shown."""
    place.server.routes["/files/a"] = serve(samples.mp4())
    job_id, url = place.running()
    job = place.job(job_id)
    place.rewire(store=Hooked(place.store, load=lambda *_, **__: job))  # nothing of it changes, and moto is slow
    for number in range(500):
        assert progress(place, url, str(number // 5), f"evt-{number}")["statusCode"] == 200
        place.clock.advance(0.01)
    place.rewire(store=place.store)
    assert len(kept(place)) <= 6
    assert 80 <= place.get(job_id)["progress"] <= 99
    assert verdict(place.say(url, "end", status="completed", outputs=[place.server.url("/files/a")])) == "24s"
    place.deliver("store", job_id)
    assert (place.get(job_id)["status"], place.get(job_id)["progress"]) == ("succeeded", 100)
    writes = len(kept(place))
    assert progress(place, url, "50", "late")["statusCode"] == 200
    assert (place.get(job_id)["progress"], len(kept(place))) == (100, writes)


def test_case_30_the_end_is_not_lost_among_progress_events_at_the_same_moment(place: Place) -> None:
    """Also for a job whose first sign of life they are: they race for its row, and the end is decided again."""
    job_id, url = place.killed()
    calls = [partial(progress, place, url, str(number), f"evt-{number}") for number in range(7)]
    answers = at_once(*calls, partial(place.say, url, "end", status="failed"))
    assert {answer["statusCode"] for answer in answers} == {200}
    assert place.job(job_id).state is State.FAILED
