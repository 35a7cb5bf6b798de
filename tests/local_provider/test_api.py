"""The provider without faults: validation, job life, cancel, lookup, idempotency."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from local.provider.settings import PROVIDERS
from tests.local_provider.kit import FAST, Client, Receiver, Reply, Serve, call, until


def test_happy_job_is_charged_once_and_tells_its_life(client: Client, receiver: Receiver) -> None:
    """Accepted, running, progress, completed: each event once, and the ledger agrees."""
    job_id = client.submit().json["id"]
    done = until(lambda: receiver.of("job.completed"))[0].body["data"]
    assert (done["id"], done["status"], done["progress"]) == (job_id, "completed", 100)
    assert [output["content_type"] for output in done["outputs"]] == ["video/mp4"]
    assert client.get(job_id).json["status"] == "completed"
    assert len(receiver.of("job.running")) == 1
    progress = [event.body["data"]["progress"] for event in receiver.of("job.progress")]
    assert len(progress) >= 3
    assert progress == sorted(progress)
    assert all(0 <= value < 100 for value in progress)
    record = client.record()
    assert (record["state"], record["charged"], record["polls"], record["faults"]) == ("completed", True, 1, [])
    ledger = client.ledger()
    assert ledger["charges_by_reference"] == {"r.1.x": 1}
    assert (ledger["in_flight"], ledger["max_in_flight"]) == ({"sim": 0}, {"sim": 1})


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"model": "opera-9"}, 422, "invalid_input"),
        ({"model": ["video-1"]}, 422, "invalid_input"),
        ({"input": "a text"}, 422, "invalid_input"),
        ({"input": {"prompt": ""}}, 422, "invalid_input"),
        ({"input": {"prompt": "x", "count": 9}}, 422, "invalid_input"),
        ({"input": {"prompt": "x", "duration_s": "long"}}, 422, "invalid_input"),
        ({"webhook_url": "ftp://127.0.0.1/"}, 422, "invalid_input"),
        ({"reference": 7}, 422, "invalid_input"),
        ({"input": {"prompt": "a forbidden-word in it"}}, 400, "content_moderated"),
    ],
)
def test_bad_request_is_refused_by_field_and_costs_nothing(
    client: Client, change: dict[str, Any], status: int, code: str
) -> None:
    reply = call("POST", client.base, client.body() | change, client.auth)
    assert (reply.status, reply.json["error"]["code"]) == (status, code)
    assert client.ledger()["jobs"] == []
    assert client.ledger()["submits"][0]["answer"] == "rejected"


@pytest.mark.parametrize("raw", [b"{", b'{"input": {"duration_s": NaN}}', b"[" * 5000])
def test_body_that_is_no_json_is_400(client: Client, raw: bytes) -> None:
    assert call("POST", client.base, headers=client.auth, raw=raw).status == 400


def test_unknown_key_is_401_everywhere(client: Client) -> None:
    job_id = client.submit().json["id"]
    client.auth = {"Authorization": "Bearer wrong"}
    assert [client.submit("r.2.x").status, client.get(job_id).status, client.cancel(job_id).status] == [401] * 3


def test_failing_model_says_why(client: Client, receiver: Receiver) -> None:
    job_id = client.submit(model="fail-1").json["id"]
    assert client.finished(job_id)["error"]["code"] == "generation_failed"
    assert until(lambda: receiver.of("job.failed"))[0].body["data"]["outputs"] == []


def test_image_count_and_run_time_come_from_the_input(client: Client) -> None:
    job_id = client.submit(model="image-1", count=3, duration_s=0.05).json["id"]
    assert len(client.finished(job_id)["outputs"]) == 3


def test_without_webhook_url_no_event_is_sent(serve: Serve) -> None:
    """Polling alone brings the job to its end."""
    client = Client(serve(), None)
    job_id = client.submit(duration_s=0.05).json["id"]
    assert client.finished(job_id)["outputs"]
    assert (client.record()["events_sent"], client.record()["progress_sent"]) == ([], 0)


def test_cancel_stops_a_live_job_and_refuses_an_ended_one(client: Client, receiver: Receiver) -> None:
    live = client.submit(duration_s=5).json["id"]
    assert client.cancel(live).status == 202
    assert until(lambda: receiver.of("job.canceled"))[0].body["data"]["id"] == live
    assert (client.cancel(live).status, client.cancel(live).json["status"]) == (200, "canceled")
    ended = client.submit("r.2.x", duration_s=0.01).json["id"]
    client.finished(ended)
    assert (client.cancel(ended).status, client.cancel(ended).json["error"]["code"]) == (409, "already_finished")
    assert client.cancel("job_none").status == 404
    assert client.record()["cancels"] == 1


def test_lookup_finds_by_reference_only_where_it_is_offered(client: Client, nokey: Client) -> None:
    job_id = client.submit().json["id"]
    found = call("GET", f"{client.base}?reference=r.1.x", headers=client.auth).json["jobs"]
    assert [job["id"] for job in found] == [job_id]
    assert call("GET", f"{client.base}?reference=r.1", headers=client.auth).json == {"jobs": []}
    nokey.submit()
    assert call("GET", f"{nokey.base}?reference=r.1.x", headers=nokey.auth).status == 404


def test_the_two_providers_do_not_see_each_other(client: Client, nokey: Client) -> None:
    job_id = client.submit().json["id"]
    assert nokey.get(job_id).status == 404
    assert call("GET", f"{nokey.base}/{job_id}", headers=client.auth).status == 401


def test_same_key_and_bytes_give_the_same_answer(client: Client) -> None:
    """Quoted and bare forms are one key; the second POST charges nothing."""
    first, second = client.submit(key="k1"), client.submit(key='"k1"')
    assert (first.status, second.status, second.body) == (201, 201, first.body)
    assert client.ledger()["charges"] == 1
    assert [line["answer"] for line in client.ledger()["submits"]] == ["accepted", "replayed"]


def test_same_key_with_another_body_is_422(client: Client) -> None:
    client.submit(key="k1")
    reply = client.submit(key="k1", count=1)
    assert (reply.status, reply.json["error"]["code"]) == (422, "idempotency_mismatch")
    assert client.ledger()["charges"] == 1


def test_same_key_while_the_first_runs_is_409(client: Client) -> None:
    client.script({"slow_answer_s": 0.4})
    replies: list[Reply] = []
    first = threading.Thread(target=lambda: replies.append(client.submit(key="k1")))
    first.start()
    until(lambda: client.ledger()["jobs"])
    second = client.submit(key="k1")
    assert (second.status, second.json["error"]["code"]) == (409, "request_in_progress")
    assert client.submit(key="k1", count=1).status == 422
    first.join()
    assert replies[0].status == 201
    assert client.submit(key="k1").body == replies[0].body
    assert client.ledger()["charges"] == 1


def test_parallel_posts_with_one_key_are_one_charge(client: Client) -> None:
    ready = threading.Barrier(8)
    statuses: list[int] = []

    def post() -> None:
        ready.wait()
        statuses.append(client.submit(key="k1").status)

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {201, 409}
    assert client.ledger()["charges"] == 1


def test_key_lives_as_long_as_configured(serve: Serve) -> None:
    client = Client(serve(settings=replace(FAST, key_life_s=0.0)), None)
    assert client.submit(key="k1").json["id"] != client.submit(key="k1").json["id"]
    assert client.ledger()["charges_by_reference"] == {"r.1.x": 2}


@pytest.mark.parametrize("name", ["sim", "sim-nokey"])
def test_provider_without_keys_charges_every_post(serve: Serve, name: str) -> None:
    client = Client(serve(idempotent=False), None, name)
    client.submit(key="k1")
    client.submit(key="k1")
    assert client.ledger()["charges"] == 2


def test_failed_validation_does_not_burn_the_key(client: Client) -> None:
    assert client.submit(key="k1", count=9).status == 422
    assert client.submit(key="k1").status == 201


def test_max_in_flight_counts_jobs_that_live_at_once(client: Client) -> None:
    jobs = [client.submit(f"r{n}.1.x", duration_s=0.3).json["id"] for n in range(3)]
    for job_id in jobs:
        client.finished(job_id)
    client.submit("last.1.x", duration_s=0.01)
    assert client.ledger()["max_in_flight"] == {"sim": 3}


def test_control_pages(client: Client) -> None:
    """Health, sign-up data, summary and reset."""
    base = client.server.base_url
    assert call("GET", f"{base}/_health").json == {"status": "ok"}
    config = call("GET", f"{base}/_config").json["providers"]
    assert config["sim"]["api_key"] != config["sim-nokey"]["api_key"]
    assert all(config[name]["webhook_secrets"][0].startswith("whsec_") for name in PROVIDERS)
    client.submit()
    assert "jobs" not in call("GET", f"{base}/_ledger?summary").json
    assert call("POST", f"{base}/_reset").status == 200
    assert (client.ledger()["jobs"], client.ledger()["charges"]) == ([], 0)
    assert call("GET", f"{base}/nothing").status == 404


@pytest.mark.parametrize(
    "body",
    [
        {"profile": "wild"},
        {"probabilities": {"dorp": 1}},
        {"probabilities": {"drop": 2}},
        {"providers": {"nobody": {}}},
        {"script": [{"fault": {"drop": True}}]},
        {"script": [{"next": 1, "fault": {"dorp": True}}]},
        {"surprise": 1},
        [],
    ],
)
def test_unusable_fault_configuration_is_refused_and_changes_nothing(client: Client, body: Any) -> None:
    url = f"{client.server.base_url}/_faults"
    before = call("GET", url).json
    reply = call("POST", url, body)
    assert (reply.status, reply.json["error"]["code"]) == (422, "invalid_faults")
    assert call("GET", url).json == before


def test_body_without_usable_length_is_413(client: Client) -> None:
    reply = call("POST", client.base, headers=client.auth | {"Content-Length": "2000000"}, raw=b"{}")
    assert reply.status == 413
    assert json.loads(reply.body)["error"]["code"] == "too_large"
