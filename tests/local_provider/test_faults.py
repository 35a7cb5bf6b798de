"""Every fault can be forced, does what its name says, and is noted in the ledger."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.local_provider.kit import FAST, Client, Receiver, Serve, call, until


@pytest.mark.parametrize(("fault", "status"), [("unavailable_before", 503), ("rate_limited_before", 429)])
def test_refusal_before_accepting_has_retry_after_and_charges_nothing(client: Client, fault: str, status: int) -> None:
    """A number says how many attempts are refused; then the same key goes through."""
    client.script({fault: 2, "retry_after_s": 7})
    for _ in range(2):
        reply = client.submit(key="k1")
        assert (reply.status, reply.headers["retry-after"]) == (status, "7")
    assert client.ledger()["charges"] == 0
    assert client.submit(key="k1").status == 201
    assert client.ledger()["refused"] == 2


@pytest.mark.parametrize(("fault", "status"), [("error_after", 500), ("unavailable_after", 503), ("no_id_after", 201)])
def test_bad_answer_after_accepting_hides_a_charge(client: Client, fault: str, status: int) -> None:
    """No Retry-After here, and the same key then gives the job that was paid for."""
    client.script({fault: True})
    reply = client.submit(key="k1")
    assert (reply.status, "id" in reply.json, "retry-after" in reply.headers) == (status, False, False)
    record = client.record()
    assert (record["charged"], record["faults"]) == (True, [fault])
    assert client.submit(key="k1").json["id"] == record["id"]
    assert client.ledger()["charges"] == 1


def test_connection_closed_after_accepting_hides_a_charge(client: Client, nokey: Client) -> None:
    """With a key the retry finds the job; without one it would be a second charge."""
    client.script({"close_after": True}, next=2)
    for each in (client, nokey):
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            each.submit(f"{each.base[-20:]}.1.x", key="k1")
    assert client.ledger()["charges"] == 2
    assert [line["status"] for line in client.ledger()["submits"]] == [0, 0]
    assert client.submit(f"{client.base[-20:]}.1.x", key="k1").status == 201
    nokey.submit(f"{nokey.base[-20:]}.1.x", key="k1")
    assert client.ledger()["charges"] == 3


def test_dropped_job_sends_nothing_and_polling_tells(client: Client, receiver: Receiver) -> None:
    client.script({"drop": True})
    client.finished(client.submit().json["id"])
    time.sleep(0.1)
    assert receiver.events == []
    assert client.record()["faults"] == ["drop"]


def test_dropped_end_still_shows_the_job_running(client: Client, receiver: Receiver) -> None:
    client.script({"drop_terminal": True})
    client.finished(client.submit().json["id"])
    time.sleep(0.1)
    assert receiver.of("job.running")
    assert not receiver.of("job.completed")


@pytest.mark.parametrize("times", [2, 5])
def test_repeated_end_is_the_same_id_and_bytes(client: Client, receiver: Receiver, times: int) -> None:
    client.script({f"repeat_{times}": True})
    client.submit(duration_s=0.05)
    until(lambda: len(receiver.of("job.completed")) == times)
    events = receiver.of("job.completed")
    assert len({event.id for event in events}) == len({event.raw for event in events}) == 1
    assert until(lambda: len(client.record()["events_sent"]) == times + 1)


def test_reordered_job_says_running_after_its_end(client: Client, receiver: Receiver) -> None:
    client.script({"reorder": True})
    client.submit(duration_s=0.1)
    running = until(lambda: receiver.of("job.running"))[0]
    assert running.at > receiver.of("job.completed")[0].at
    assert running.body["data"]["status"] == "processing"


@pytest.mark.parametrize("old", [False, True])
def test_delayed_end_comes_late_with_a_fresh_or_an_old_time(client: Client, receiver: Receiver, old: bool) -> None:
    client.script({"delay": 0.4, "old_timestamp": old})
    client.submit(duration_s=0.05)
    event = until(lambda: receiver.of("job.completed"))[0]
    age = event.at - int(event.headers["webhook-timestamp"])
    assert age > 590 if old else age < 5
    sent = until(lambda: [e for e in client.record()["events_sent"] if e["type"] == "job.completed"])[0]
    assert sent["late_s"] >= 0.4
    assert sent["old_timestamp"] is old


@pytest.mark.parametrize(("moment", "kind"), [("running", "job.running"), ("terminal", "job.completed")])
def test_webhook_beats_the_answer(client: Client, receiver: Receiver, moment: str, kind: str) -> None:
    client.script({"webhook_first": moment})
    reply = client.submit(duration_s=0.05)
    assert reply.json["status"] == "queued"
    assert receiver.of(kind)[0].body["data"]["id"] == reply.json["id"]


def test_expired_link_in_the_webhook_and_a_fresh_one_by_poll(client: Client, receiver: Receiver) -> None:
    client.script({"expired_url": True})
    job_id = client.submit(duration_s=0.05).json["id"]
    stale = until(lambda: receiver.of("job.completed"))[0].body["data"]["outputs"][0]["url"]
    refused = call("GET", stale)
    assert (refused.status, refused.headers["content-type"]) == (403, "application/xml")
    assert b"expired" in refused.body
    assert call("GET", client.get(job_id).json["outputs"][0]["url"]).status == 200


@pytest.mark.parametrize("always", ["", "_always"])
@pytest.mark.parametrize("fault", ["wrong_type", "truncated", "empty"])
def test_bad_download_heals_at_the_second_try_or_never(client: Client, fault: str, always: str) -> None:
    client.script({fault + always: True})
    job_id = client.submit(model="image-1", duration_s=0.01).json["id"]
    output = client.finished(job_id)["outputs"][0]
    first, second = call("GET", output["url"]), call("GET", output["url"])
    assert (first.status, first.headers["content-type"]) == (200, "image/png")
    looks = {"wrong_type": b"<html>" in first.body, "truncated": first.short, "empty": first.body == b""}
    assert looks == {name: name == fault for name in looks}
    assert (second.body.startswith(b"\x89PNG") and len(second.body) == output["size"]) is (always == "")


def test_link_is_dead_as_often_as_the_script_says(client: Client) -> None:
    client.script({"dead_link": 2})
    job_id = client.submit(model="image-1", duration_s=0.01).json["id"]
    output = client.finished(job_id)["outputs"][0]
    assert [call("GET", output["url"]).status for _ in range(3)] == [404, 404, 200]


def test_held_answer_is_in_the_ledger_before_it_is_given(client: Client) -> None:
    """So that a test knows that somebody waits for it. Only the first answer of its kind is held."""
    client.script({"slow_poll_s": 2, "slow_download_s": 2})
    job_id = client.submit(model="image-1", duration_s=0.01).json["id"]
    until(lambda: client.record()["state"] == "completed")
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(client.get, job_id)
        until(lambda: client.record()["polls"])
        assert not held.done()
        output = client.get(job_id).json["outputs"][0]
        assert not held.done()
        assert held.result().status == 200
        held = pool.submit(call, "GET", output["url"])
        until(lambda: client.record()["downloads"])
        assert not held.done()
        assert call("GET", output["url"]).status == held.result().status == 200


def test_never_finishing_job_runs_until_the_longest_run_then_is_unknown(client: Client, receiver: Receiver) -> None:
    client.script({"never_finish": True})
    job_id = client.submit().json["id"]
    time.sleep(0.4)
    assert client.get(job_id).json["status"] == "processing"
    assert client.ledger()["in_flight"] == {"sim": 1}
    until(lambda: client.get(job_id).status == 404)
    assert (client.record()["state"], client.ledger()["in_flight"]) == ("gone", {"sim": 0})
    assert {event.type for event in receiver.events} == {"job.running", "job.progress"}


def test_never_finishing_job_can_be_canceled(client: Client, receiver: Receiver) -> None:
    client.script({"never_finish": True})
    client.cancel(client.submit().json["id"])
    until(lambda: receiver.of("job.canceled"))


def test_lost_job_is_paid_unknown_and_silent(client: Client, receiver: Receiver) -> None:
    client.script({"lost": True})
    job_id = client.submit(duration_s=0.05).json["id"]
    assert (client.get(job_id).status, client.cancel(job_id).status) == (404, 404)
    assert call("GET", f"{client.base}?reference=r.1.x", headers=client.auth).json == {"jobs": []}
    assert until(lambda: client.record()["state"] == "lost")
    assert (client.record()["charged"], receiver.events) == (True, [])


def test_unknown_words_on_the_way_and_at_the_end(client: Client, receiver: Receiver) -> None:
    client.script({"unknown_word": True}, reference="mid.1.x")
    client.script({"unknown_final": True}, reference="end.1.x")
    job_id = client.submit("mid.1.x").json["id"]
    until(lambda: client.get(job_id).json["status"] == "enhancing")
    assert client.finished(job_id)["status"] == "completed"
    assert client.finished(client.submit("end.1.x", duration_s=0.01).json["id"])["status"] == "archived"
    assert until(lambda: receiver.of("job.archived"))


def test_failing_and_unpollable_job(client: Client) -> None:
    client.script({"provider_fails": True, "poll_error": 2})
    job_id = client.submit(duration_s=0.01).json["id"]
    time.sleep(0.1)
    assert [client.get(job_id).status for _ in range(3)] == [500, 500, 200]
    assert client.get(job_id).json["status"] == "failed"


def test_blocked_account_refuses_for_a_while_before_looking_at_the_key(client: Client) -> None:
    accepted = client.submit(key="k1")
    block = {"block": {"provider": "sim", "seconds": 0.3}}
    assert call("POST", f"{client.server.base_url}/_faults", block).status == 200
    assert client.submit(key="k1").status == 402
    assert client.submit("r.2.x").json["error"]["code"] == "account_blocked"
    assert client.get(accepted.json["id"]).status == 200
    time.sleep(0.3)
    assert client.submit(key="k1").body == accepted.body


def test_account_is_blocked_once_a_run_at_a_seeded_moment(serve: Serve) -> None:
    """Under a clock of our own: blocked in one window of the configured length, and never again."""
    clock = [1_000_000.0]
    server = serve(faults="none", now=lambda: clock[0])
    server.faults.configure({"probabilities": {"blocked": 1.0}})
    blocked = []
    for tenth in range(600):
        clock[0] = 1_000_000.0 + tenth / 10
        if server.faults.blocked_until("sim", clock[0], 20.0):
            blocked.append(tenth)
    assert len(blocked) == 200
    assert blocked[-1] - blocked[0] == 199
    assert 40 <= blocked[0] <= 121


def test_delivery_is_retried_on_5xx_with_the_same_id_and_stops_on_4xx(client: Client, receiver: Receiver) -> None:
    receiver.answers += [200, 503, 500, 200]
    client.submit(duration_s=0.05)
    until(lambda: len(receiver.of("job.completed")) == 3)
    assert len({(event.id, event.raw) for event in receiver.of("job.completed")}) == 1
    receiver.answers += [200, 401]
    client.submit("r.2.x", duration_s=0.05)
    until(lambda: client.record("r.2.x")["state"] == "completed")
    time.sleep(0.3)
    codes = [sent["status_code"] for sent in client.record("r.2.x")["events_sent"]]
    assert codes == [200, 401]


def test_delivery_to_nobody_is_given_up_after_five_tries(client: Client, receiver: Receiver) -> None:
    receiver.url = "http://127.0.0.1:9/hook"
    client.submit(duration_s=0.05)
    sent = until(lambda: e if len(e := client.record()["events_sent"]) >= 10 else None)
    time.sleep(0.2)
    assert [e["status_code"] for e in sent] == [0] * 10
    assert len(client.record()["events_sent"]) == 10


def test_slow_receiver_gets_the_newest_progress_and_the_end_in_time(serve: Serve, receiver: Receiver) -> None:
    """Progress is merged while a sending runs, so two hundred jobs cannot pile it up."""
    client = Client(serve(settings=replace(FAST, progress_per_s=200)), receiver)
    receiver.slow_progress_s = 0.1
    client.submit(duration_s=0.5)
    until(lambda: receiver.of("job.completed"))
    assert receiver.of("job.completed")[0].at - client.record()["finished_at"] / 1000 < 0.1
    assert 2 <= len(receiver.of("job.progress")) <= 6
