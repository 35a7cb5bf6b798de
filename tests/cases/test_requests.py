"""Cases 21, 37 and 51: what a client sends, sends again, and gets back."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mediajobs.adapters import aws
from mediajobs.errors import Throttled
from mediajobs.jobs.model import Job
from tests.api.events import document, header, problem
from tests.cases import signing
from tests.cases.deployment import Hooked
from tests.cases.parts import PROMPT
from tests.cases.place import Place
from tests.hostile.server import serve
from tests.template import reading

# -- 21

NUMBERS = {"strength": 0.75, "seed": 2**70, "sum": 0.1 + 0.2, "steps": 30, "shift": -1.5e-7, "none": 0}


def test_case_21_numbers_reach_the_provider_as_they_were_sent(place: Place) -> None:
    """Stored by value and kept of their kind: no float, Decimal or text in between changes them."""
    place.server.routes["/v1/jobs"] = serve(b'{"id":"p-1","status":"processing"}', 201)
    body = {"provider": "sim", "model": "video-1", "input": PROMPT | NUMBERS}
    job_id = document(place.submit(body=body))["request_id"]
    place.deliver("dispatch", job_id)
    sent = json.loads(place.server.asked[-1].body)["input"]
    assert sent == PROMPT | NUMBERS
    assert {name: type(sent[name]) for name in NUMBERS} == {name: type(value) for name, value in NUMBERS.items()}
    assert all(
        "N" not in value or value["N"].lstrip("-").isdigit() for item in place.items() for value in item.values()
    )


def test_case_21_odd_numbers_of_a_webhook_cost_no_event(place: Place) -> None:
    """Metrics are nobody's to store; NaN and Infinity count as null, and a GET shows whole numbers only."""
    job_id, url = place.running()
    metrics = b'{"predict_time":22.478766,"x":1e400,"y":NaN,"w":-Infinity,"z":0.30000000000000004}'
    body = b'{"id":"p-1","status":"processing","progress":22.478766,"metrics":' + metrics + b"}"
    assert place.webhook(url, body, signing.signed(body, "evt-1", place.stamp()))["statusCode"] == 200
    shown = place.get(job_id)["progress"]
    assert (shown, type(shown)) == (22, int)
    body = (
        b'{"id":"p-1","status":"completed","metrics":'
        + metrics
        + b',"outputs":[{"url":"https://a.test/1","size":1e400}]}'
    )
    assert place.webhook(url, body, signing.signed(body, "evt-2", place.stamp()))["statusCode"] == 200
    assert (place.get(job_id)["stage"], place.job(job_id).links[0].size) == ("storing", None)
    assert [type(entry["version"]) for entry in place.get(job_id)["history"]] == [int] * 4


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_case_21_what_is_no_number_is_a_400_at_submit(place: Place, number: str) -> None:
    body = f'{{"provider":"sim","model":"video-1","input":{{"prompt":"a kettle","x":{number}}}}}'.encode()
    problem(place.submit(body=body), 400, "bad-request")
    assert place.heads() == []


def test_case_21_a_replay_has_the_types_of_the_first_answer(place: Place) -> None:
    """Also where the client's library writes the same numbers otherwise."""
    first = place.submit(
        body={"provider": "sim", "model": "video-1", "input": {"prompt": "a kettle", "x": 1, "y": 0.5}}
    )
    same = b'{"provider":"sim","model":"video-1","input":{"y":5e-1,"x":1.0,"prompt":"a kettle"},"metadata":{}}'
    again = place.submit(body=same)
    assert (first["statusCode"], again["statusCode"], header(again, "Idempotency-Replayed")) == (202, 202, "true")
    assert document(first) == document(again)
    problem(place.submit(body=same.replace(b"1.0", b"true")), 422, "unprocessable")


# -- 37


def test_case_37_a_503_is_not_the_answer_for_ever(place: Place) -> None:
    """The table refuses: 503. Repaired, the same key makes one job, and one message follows."""
    place.rewire(store=Hooked(place.store, create=throttled))
    for _ in range(2):
        answer = place.submit()
        problem(answer, 503, "unavailable")
        assert header(answer, "Retry-After") == "1"
    assert place.heads() == []
    place.rewire(store=place.store)
    answer = place.submit()
    assert (answer["statusCode"], header(answer, "Idempotency-Replayed")) == (202, None)
    place.relay()
    assert len(place.messages("dispatch")) == len(place.heads()) == 1


def throttled(_: object) -> None:
    raise Throttled("put_item: ThrottlingException")


def test_case_37_a_queue_that_fails_is_made_good_by_the_stream_and_not_by_the_caller(place: Place) -> None:
    """Submit does not send: the row is the outbox. While SQS is away the record comes again, then one message goes."""
    job_id = document(place.submit())["request_id"]
    queues = place.world.queues
    place.rewire(queues=Hooked(queues, dispatch=throttled_send))
    for _ in range(3):
        assert place.relay()["batchItemFailures"] != []
    assert document(place.submit())["request_id"] == job_id
    place.rewire(queues=queues)
    assert place.relay() == {"batchItemFailures": []}
    assert document(place.submit())["request_id"] == job_id
    assert place.relay() == {"batchItemFailures": []}
    assert place.messages("dispatch") == [{"job": job_id, "do": "submit"}]


def throttled_send(*_: object) -> None:
    raise Throttled("send_message: RequestThrottled")


def test_case_37_a_reply_that_failed_after_the_job_was_put_is_the_same_job_again(place: Place) -> None:
    """500 and 503 may hide a real effect; a blind rerun would be a second one."""

    def create(job: Job) -> None:
        place.store.create(job)
        raise RuntimeError("the reply failed")

    place.rewire(store=Hooked(place.store, create=create))
    problem(place.submit(), 500, "internal")
    again = place.rewire(store=place.store).submit()
    assert (again["statusCode"], header(again, "Idempotency-Replayed")) == (202, "true")
    place.relay()
    assert place.messages("dispatch") == [{"job": document(again)["request_id"], "do": "submit"}]
    assert len(place.heads()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b'{"provider":"sim","model":"video-1","input":{"prompt":NaN}}',
        {"provider": "sim", "model": "no such model", "input": PROMPT},
        {"provider": "sim", "model": "video-1", "input": "no object"},
    ],
)
def test_case_37_a_refused_body_does_not_burn_the_key(place: Place, wrong: object) -> None:
    """A 400 or 422 is judged anew each time; the corrected body goes through under the same key."""
    statuses = {place.submit(body=wrong)["statusCode"] for _ in range(2)}
    assert statuses in ({400}, {422})
    answer = place.submit()
    assert (answer["statusCode"], header(answer, "Idempotency-Replayed")) == (202, None)


# -- 51

GATEWAY_S = 29


def test_case_51_a_function_behind_the_gateway_ends_before_the_gateway_does() -> None:
    """With every client of AWS inside, its resends included: no call outlives the caller, who would then ask again."""
    template = reading.load()
    behind = {name for name, _ in reading.events(template, "Api")} | {"Authorize"}
    assert behind == {"Submit", "Jobs", "Webhook", "Notify", "Authorize"}
    timeouts = {name: reading.functions(template)[name]["Timeout"] for name in behind}
    assert all(timeout <= 25 < GATEWAY_S for timeout in timeouts.values())
    config: Any = aws.config()
    assert (config.connect_timeout + config.read_timeout) * config.retries["total_max_attempts"] < 25


def test_case_51_a_resend_while_the_first_run_is_alive_is_the_same_job(place: Place) -> None:
    """The gateway gave up on a run that hangs after its put; the second answer is 202 with the same id."""
    entered, leave = threading.Event(), threading.Event()

    def create(job: Job) -> Any:
        outcome = place.store.create(job)
        if not entered.is_set():
            entered.set()
            assert leave.wait(20)
        return outcome

    place.rewire(store=Hooked(place.store, create=create))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(place.submit)
        assert entered.wait(20)
        second = place.submit()
        assert (second["statusCode"], header(second, "Idempotency-Replayed")) == (202, "true")
        leave.set()
        assert document(first.result(20)) == document(second)
    place.relay()
    assert len(place.heads()) == len(place.messages("dispatch")) == 1


def test_case_51_a_resend_before_the_first_run_has_put_its_job_makes_the_one_job(place: Place) -> None:
    """Whoever comes second gets the first one's, however long the first took."""
    entered, leave = threading.Event(), threading.Event()

    def create(job: Job) -> Any:
        if not entered.is_set():
            entered.set()
            assert leave.wait(20)
        return place.store.create(job)

    place.rewire(store=Hooked(place.store, create=create))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(place.submit)
        assert entered.wait(20)
        second = place.submit()
        leave.set()
        answers = [first.result(20), second]
    assert [header(answer, "Idempotency-Replayed") for answer in answers] == ["true", None]
    assert len({document(answer)["request_id"] for answer in answers}) == len(place.heads()) == 1


def test_case_51_without_a_key_nothing_is_submitted(place: Place) -> None:
    """The key is required, so a resend can never be a new job by accident."""
    problem(place.submit(None), 400, "bad-request")
    assert place.heads() == []
