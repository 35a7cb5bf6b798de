"""The laptop stack is what the template says, also where the emulator's CloudFormation forgets it."""

import io
import json
import time
import uuid
import zipfile
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from local.stack import Stack
from local.stack.emulator import opener
from local.stack.places import read_json
from local.stack.repair import planned
from local.stack.template import Template
from tests.e2e.truth import Subscriber, until


def call(stack: Stack, path: str, key: str | None) -> int:
    request = Request(stack.info["api_url"] + path, headers={} if key is None else {"X-API-Key": key})
    try:
        with opener().open(request, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_api_is_reached_through_the_front(stack: Stack) -> None:
    """The address that was chosen before the deploy leads to the API, which knows the keys that were made."""
    assert call(stack, "/v1/jobs", stack.info["api_key"]) == 200
    assert call(stack, "/v1/jobs", stack.info["operator_key"]) == 200
    assert call(stack, "/v1/jobs", "mj_wrong") == 401
    assert call(stack, "/v1/jobs", None) == 401


def test_stack_json_says_what_runs(stack: Stack) -> None:
    """The file holds what a person or a script needs, and nobody else may read its keys."""
    assert read_json(stack.place.info) == stack.info
    assert stack.place.info.stat().st_mode & 0o077 == 0
    assert set(stack.info["queue_urls"]) == {"dispatch", "store", "urgent", "dead_letter", "subscriber"}
    assert set(stack.info["functions"]) >= {
        "Authorize", "Submit", "Jobs", "Relay", "Dispatch", "Webhook", "Reconcile", "Store",
    }  # fmt: skip


def test_repairs_still_hold(stack: Stack) -> None:
    """Each dropped property reads back as the template wants it."""
    client = stack.client
    pages = client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.info["stack_name"])
    physical = {
        each["LogicalResourceId"]: each["PhysicalResourceId"]
        for page in pages
        for each in page["StackResourceSummaries"]
    }
    given = {"MaxInFlight": "4", "SubscriberQueueArn": "given"}
    plan = list(planned(Template.load(stack.place.built_template, given), physical))
    assert {str(each) for each in plan} >= {
        "Table.TimeToLiveSpecification",
        "IdempotencyTable.TimeToLiveSpecification",
        "Topic.FifoTopic",
        "Dispatch.ReservedConcurrentExecutions",
        "Bucket.LifecycleConfiguration",
    }
    for each in plan:
        assert each.row.read(client, each.physical) == each.want, str(each)


def test_topic_drops_a_second_publication(stack: Stack, subscriber: Subscriber) -> None:
    """A consumer of the FIFO topic sees one message per deduplication id: what FifoTopic was repaired for."""
    mark = uuid.uuid4().hex
    for _ in range(2):
        stack.client("sns").publish(
            TopicArn=stack.info["topic_arn"], Message=mark, MessageGroupId=mark, MessageDeduplicationId=mark
        )
    until(lambda: mark in subscriber.others, 10)
    time.sleep(3)
    assert subscriber.others.count(mark) == 1


def test_functions_see_nothing_but_their_layer(stack: Stack) -> None:
    """A package that the layer lacks is missing here too, as on AWS: boto3 is all there is."""
    source = (
        "import importlib.util as u\n"
        "def handler(event, context):\n"
        "    print('looking')\n"
        "    return [n for n in event if u.find_spec(n)]\n"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", source)
    functions = stack.client("lambda")
    name = f"looks-{uuid.uuid4().hex[:8]}"
    functions.create_function(
        FunctionName=name, Runtime="python3.13", Handler="app.handler", Role="arn:aws:iam::000000000000:role/none",
        Code={"ZipFile": packed.getvalue()},
    )  # fmt: skip
    try:
        names = ["boto3", "pydantic", "requests", "aws_lambda_powertools", "samtranslator", "mediajobs", "cli", "local"]
        answer = functions.invoke(FunctionName=name, Payload=json.dumps(names).encode())
        assert json.load(answer["Payload"]) == ["boto3"]
    finally:
        functions.delete_function(FunctionName=name)


def test_provider_secrets_are_those_of_the_simulated_provider(stack: Stack) -> None:
    """Each configured provider finds its key and its webhook secrets where the functions look for them."""
    with opener().open(stack.info["provider_url"] + "/_config", timeout=10) as answer:
        known: dict[str, Any] = json.load(answer)["providers"]
    for name in ("sim", "sim-nokey"):
        kept = stack.client("secretsmanager").get_secret_value(SecretId=f"{stack.info['stack_name']}/providers/{name}")
        assert json.loads(kept["SecretString"]) == known[name]


def test_servers_listen_on_this_machine_only(stack: Stack) -> None:
    """No port of the stack is open to the network."""
    listening = _listening()
    if listening is None:
        pytest.skip("this system has no /proc/net/tcp")
    for url in ("api_url", "provider_url", "endpoint_url"):
        port = int(stack.info[url].rpartition(":")[2])
        assert listening[port] == {"0100007F"}, url


def _listening() -> dict[int, set[str]] | None:
    """The addresses, as the kernel writes them, on which each port is listened to."""
    found: dict[int, set[str]] = {}
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}") as table:  # noqa: PTH123
                rows = [line.split() for line in table.readlines()[1:]]
        except FileNotFoundError:
            return None
        for row in rows:
            address, _, port = row[1].rpartition(":")
            if row[3] == "0A":
                found.setdefault(int(port, 16), set()).add(address)
    return found
