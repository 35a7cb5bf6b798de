"""Live progress on the deployed stack: a flood reaches all listeners, hardly the table; nobody hears another's job."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, Self
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from local.stack import Stack
from mediajobs.jobs.model import request_id
from mediajobs.signatures.channels import channel_token
from tests.e2e.client import JSON, Api, send
from tests.e2e.forger import Forger, forger_of, tokens_key
from tests.e2e.truth import Provider, logged
from tests.live.followers import start, until

EVENTS, SECONDS, SENDERS = 1000, 10, 4
PROMPT = "a paper boat on a slow river"


@pytest.fixture(scope="module")
def job_id(caller: Api, provider: Provider) -> str:
    """A job that runs for as long as these tests need it; its provider says nothing by itself."""
    provider.configure(script=[{"next": 1, "provider": "sim", "fault": {"drop": 1}}])
    document = {"provider": "sim", "model": "image-1", "input": {"prompt": PROMPT, "duration_s": 600}}
    found = str(caller.submit(f"live-{time.time_ns()}", document).json["request_id"])
    caller.until(found, lambda job: job["status"] == "running")
    return found


# -- who hears what


class Line:
    """A bare socket to the Events API, with a token or anything else in its place."""

    def __init__(self, endpoint: str, authorization: str | None) -> None:
        shown = {"host": "live.example"} | ({} if authorization is None else {"Authorization": authorization})
        self.shown = shown
        header = base64.urlsafe_b64encode(json.dumps(shown).encode()).decode().rstrip("=")
        protocols = [Subprotocol("aws-appsync-event-ws"), Subprotocol(f"header-{header}")]
        self._open = ExitStack()
        self._socket: ClientConnection = self._open.enter_context(
            connect(endpoint, subprotocols=protocols, proxy=None, open_timeout=60)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ask(self, **message: Any) -> str:
        """What kind of answer it gets; "closed" where the connection is ended."""
        try:
            self._socket.send(json.dumps(message))
            while (kind := json.loads(self._socket.recv(timeout=60))["type"]) == "ka":
                continue
        except ConnectionClosed:
            return "closed"
        return str(kind)

    def subscribe(self, name: str, where: str) -> str:
        return self.ask(type="subscribe", id=name, channel=where, authorization=self.shown)


@pytest.fixture(scope="module")
def live(caller: Api, job_id: str) -> dict[str, str]:
    found: dict[str, str] = caller.job(job_id)["live"]
    return found


def test_a_reader_gets_a_token_for_one_channel_and_one_hour(live: dict[str, str], job_id: str) -> None:
    assert set(live) == {"endpoint", "channel", "token", "expires_at"}
    assert live["channel"] == f"/jobs/demo/{job_id}"
    with Line(live["endpoint"], live["token"]) as line:
        assert line.ask(type="connection_init") == "connection_ack"
        assert line.subscribe("own", live["channel"]) == "subscribe_success"


def test_no_other_channel_is_opened_however_it_is_written(live: dict[str, str], job_id: str) -> None:
    """Wildcards, another job, another tenant, and encoded forms of them and of its own."""
    own = live["channel"]
    other = request_id("demo", "of another key")
    refused = [
        "/jobs/*",
        "/*",
        "/jobs/demo/*",
        "jobs/*",
        f"/jobs/demo/{other}",
        f"/jobs/stranger/{job_id}",
        f"/jobs/*/{job_id}",
        f"{own}/*",
        f"{own}/",
        f"/{own}",
        own.upper(),
        quote(own, safe=""),
        own.replace("/demo/", "%2Fdemo%2F"),
        own.replace("demo", "%64emo"),
        "/jobs/%2A",
        f"/jobs/stranger/../demo/{job_id}",
    ]
    with Line(live["endpoint"], live["token"]) as line:
        assert line.ask(type="connection_init") == "connection_ack"
        heard = {where: line.subscribe(f"s{number}", where) for number, where in enumerate(refused)}
        assert {where: kind for where, kind in heard.items() if kind != "subscribe_error"} == {}
        assert line.subscribe("own", own) == "subscribe_success", "and the line is still good"


def test_a_wrong_or_expired_token_does_not_even_connect(
    stack: Stack, live: dict[str, str], job_id: str, caller: Api
) -> None:
    """Nor does no token, an API key, or a token of before the hour was over."""
    now = int(time.time())
    expired = channel_token(tokens_key(stack), "demo", job_id, now - 1)
    forged = channel_token(b"another key of thirty-two bytes!", "demo", job_id, now + 3600)
    for wrong in (None, "", "x", live["token"][:-1] + "?", caller.key, expired, forged):
        with Line(live["endpoint"], wrong) as line:
            assert line.ask(type="connection_init") in ("connection_error", "closed"), wrong
            assert line.subscribe("own", live["channel"]) == "closed", wrong


def test_each_subscription_is_asked_about_by_its_own_token(stack: Stack, live: dict[str, str], job_id: str) -> None:
    """A line that was opened with a good token takes no other one's word."""
    expired = channel_token(tokens_key(stack), "demo", job_id, int(time.time()) - 1)
    with Line(live["endpoint"], live["token"]) as line:
        assert line.ask(type="connection_init") == "connection_ack"
        line.shown["Authorization"] = expired
        assert line.subscribe("own", live["channel"]) == "subscribe_error"


def test_nobody_publishes_with_a_token(live: dict[str, str]) -> None:
    """Neither over the socket nor over HTTP: a listener cannot make others believe that a job has ended."""
    event = json.dumps({"final": True})
    with Line(live["endpoint"], live["token"]) as line:
        assert line.ask(type="connection_init") == "connection_ack"
        said = line.ask(type="publish", id="p", channel=live["channel"], events=[event], authorization=line.shown)
        assert said == "publish_error"
    url = live["endpoint"].replace("ws://", "http://").removesuffix("/event/realtime")
    body = json.dumps({"channel": live["channel"], "events": [event]}).encode()
    for shown in ([], [("Authorization", live["token"])], [("x-api-key", live["token"])]):
        assert send(url, "POST", "/event", [JSON, *shown], body).status in (401, 403)


# -- a thousand progress events


class Kept:
    """The job's progress item, each time it was written, as the table's stream shows it from now on."""

    def __init__(self, stack: Stack, job_id: str) -> None:
        self._streams = stack.client("dynamodbstreams")
        arn = stack.client("dynamodb").describe_table(TableName=stack.info["table"])["Table"]["LatestStreamArn"]
        shards = self._streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self._key = {"pk": {"S": f"J#{job_id}"}, "sk": {"S": "P"}}
        self._places = [
            self._streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="LATEST")
            for shard in shards
        ]

    def images(self) -> Iterator[dict[str, Any]]:
        for place in self._places:
            iterator = place["ShardIterator"]
            while (found := self._streams.get_records(ShardIterator=iterator))["Records"]:
                iterator = found["NextShardIterator"]
                for record in found["Records"]:
                    if record["dynamodb"]["Keys"] == self._key:
                        yield record["dynamodb"]["NewImage"]


def _tick(forger: Forger, provider_job_id: str, event: str, progress: int) -> str:
    """One signed event; what the webhook made of it."""
    data = {"id": provider_job_id, "status": "processing", "progress": progress}
    body = json.dumps({"type": "job.progress", "data": data}).encode()
    answer = forger.post(body, forger.headers(body, event=event))
    assert answer.status == 200, answer
    return str(answer.json["verdict"])


def _warm(forger: Forger, provider_job_id: str) -> None:
    """As many ticks at once as there are senders: a function's first calls are slow everywhere, and say nothing of how
    many events it takes in a second.
    """
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(lambda number: _tick(forger, provider_job_id, f"warm-{number}", 0), range(SENDERS)))


def _flood(forger: Forger, provider_job_id: str) -> Counter[str]:
    """A thousand ticks, each at its own moment of ten seconds, or as soon after it as the stack takes it; how many had
    which verdict.
    """
    began = time.monotonic()

    def in_time(number: int) -> str:
        time.sleep(max(0.0, began + number * SECONDS / EVENTS - time.monotonic()))
        return _tick(forger, provider_job_id, f"flood-{number}", number // 11)

    with ThreadPoolExecutor(SENDERS) as pool:
        return Counter(pool.map(in_time, range(EVENTS)))


def test_a_thousand_events_reach_three_listeners_and_hardly_the_table(
    stack: Stack, caller: Api, provider: Provider, job_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most eleven progress writes in any ten seconds; each listener sees values that never go back, and the end."""
    (charge,) = provider.charges(job_id)
    forger = forger_of(stack, job_id, provider)
    url = f"{stack.info['api_url']}/v1/jobs/{job_id}"
    headers = {"X-API-Key": str(caller.key)}
    with ExitStack() as leaving:
        listeners = [leaving.enter_context(start(kind, url, headers)) for kind in ("python", "python", "browser")]
        for listener in listeners:
            until(lambda one=listener: len(one.seen) >= 2, "subscribed and caught up", 120)
        _warm(forger, charge["id"])
        kept = Kept(stack, job_id)
        since, began = time.time_ns() // 1_000_000, time.monotonic()
        verdicts = _flood(forger, charge["id"])
        seconds = time.monotonic() - began
        for listener in listeners:
            until(lambda one=listener: any(job["progress"] == (EVENTS - 1) // 11 for _, job in one.seen), "90 %", 120)
        assert caller.cancel(job_id).status == 202
        for listener in listeners:
            until(lambda one=listener: one.seen[-1][1]["status"] == "canceled", "the end", 240)
    written = [int(image["at"]["N"]) for image in kept.images()]
    until(lambda: len(_asked_of_the_table(stack, since)) >= EVENTS, "every invocation's line", 120)
    asked = _asked_of_the_table(stack, since)
    refused = sum(asked) - len(asked) - verdicts["progress"]
    heard = [sum(how == "heard" for how, _ in listener.seen) for listener in listeners]
    counts = (
        f"\n{EVENTS} progress events in {seconds:.1f} s: {len(written)} progress writes, {refused} more refused by the "
        f"table, {verdicts['throttled'] - refused} never sent; views heard by each listener: {heard}\n"
    )
    with capsys.disabled():
        sys.stdout.write(counts)
    assert set(verdicts) <= {"progress", "throttled"}
    # A write whose answer is lost, as happens on a busy machine, is one that no verdict tells of.
    assert verdicts["progress"] <= len(written) <= seconds + 1
    assert all(later - former >= 1000 for former, later in pairwise(written))
    assert _most_within(written, 10_000) <= 11
    for listener in listeners:
        values = [job["progress"] for _, job in listener.seen]
        assert values == sorted(values)
        assert listener.seen[-1][1]["status"] == "canceled"


def _asked_of_the_table(stack: Stack, since_ms: int) -> list[int]:
    """How many requests each webhook's invocation made to DynamoDB: one reads the job, the others keep progress."""
    lines = logged(stack, "Webhook", since_ms)
    return [line["aws_requests"].get("dynamodb", 0) for line in lines if "aws_requests" in line]


def _most_within(times: list[int], window_ms: int) -> int:
    return max(sum(first <= time < first + window_ms for time in times) for first in times)
