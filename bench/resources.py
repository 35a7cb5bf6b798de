"""The product's resources on a bare emulator, with the properties that template.yaml gives them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from events.env import GIVEN, TEMPLATE
from events.fixed import API_KEYS, PROVIDER_SECRET, PROVIDERS, TOKENS_KEY
from events.scenes import CALLBACK_BASE, MAX_IN_FLIGHT
from local.stack.clients import Clients
from local.stack.template import Template
from mediajobs.signatures.channels import NAMESPACE

STACK = "mediajobs-bench"
_EVENT_CONFIG = ("authProviders", "connectionAuthModes", "defaultPublishAuthModes", "defaultSubscribeAuthModes")
_TABLE = ("BillingMode", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes")


def template(live: str = "") -> Template:
    """The template as this bench deploys it, its Events API at the address `live`."""
    given = {"PublicBaseUrl": CALLBACK_BASE, "LiveBaseUrl": live, "MaxInFlight": str(MAX_IN_FLIGHT)}
    return Template.load(TEMPLATE, GIVEN | given)


def create(client: Clients) -> dict[str, str]:
    """Make everything; what each is called, as a template's Ref or GetAtt gives it."""
    wanted = template()
    makers: dict[str, Callable[[Template, str, Clients], dict[str, str]]] = {
        "AWS::DynamoDB::Table": _table,
        "AWS::SQS::Queue": _queue,
        "AWS::S3::Bucket": _bucket,
    }
    names = {"AWS::StackName": STACK, **_topic(client), **_secrets(client), **_live(client)}
    for name, resource in wanted.resources.items():
        if resource["Type"] in makers:
            names |= makers[resource["Type"]](wanted, name, client)
    return names


def _table(wanted: Template, name: str, client: Clients) -> dict[str, str]:
    given = {each: value for each in _TABLE if (value := wanted.wanted(name, each)) is not None}
    stream = wanted.wanted(name, "StreamSpecification")
    if stream is not None:
        given["StreamSpecification"] = {"StreamEnabled": True, **stream}
    table = f"{STACK}-{name}"
    made = client("dynamodb").create_table(TableName=table, **given)["TableDescription"]
    return {name: table, f"{name}.StreamArn": made.get("LatestStreamArn", "")}


def _queue(wanted: Template, name: str, client: Clients) -> dict[str, str]:
    keys = ("VisibilityTimeout", "MessageRetentionPeriod")
    given = {key: str(value) for key in keys if (value := wanted.wanted(name, key)) is not None}
    sqs = client("sqs")
    url = sqs.create_queue(QueueName=f"{STACK}-{name}", Attributes=given)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return {name: url, f"{name}.Arn": arn}


def _bucket(_: Template, name: str, client: Clients) -> dict[str, str]:
    bucket = f"{STACK}-{name.lower()}"
    client("s3").create_bucket(Bucket=bucket)
    return {name: bucket}


def _topic(client: Clients) -> dict[str, str]:
    """The FIFO topic, and a consumer's queue behind it."""
    attributes = {"FifoTopic": "true", "ContentBasedDeduplication": "false"}
    topic = client("sns").create_topic(Name=f"{STACK}-jobs.fifo", Attributes=attributes)["TopicArn"]
    sqs = client("sqs")
    url = sqs.create_queue(QueueName=f"{STACK}-consumer.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    raw = {"RawMessageDelivery": "true"}
    client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=raw)
    return {"Topic": topic, "consumer": url}


def _live(client: Clients) -> dict[str, str]:
    """The Events API. Nobody listens here, so no function need be deployed that it could ask."""
    appsync = client("appsync")
    config = {name: [{"authType": "AWS_IAM"}] for name in _EVENT_CONFIG}
    api = appsync.create_api(name=f"{STACK}-live", eventConfig=config)["api"]
    appsync.create_channel_namespace(apiId=api["apiId"], name=NAMESPACE)
    return {"LiveApi.Host": api["dns"]["HTTP"]}


def _secrets(client: Clients) -> dict[str, str]:
    put = client("secretsmanager").create_secret
    for name in PROVIDERS:
        put(Name=f"{STACK}/providers/{name}", SecretString=json.dumps(PROVIDER_SECRET))
    return {"Tokens.Id": put(Name=f"{STACK}/tokens", SecretString=TOKENS_KEY)["ARN"]}


def api_keys() -> list[dict[str, Any]]:
    """The items of the keys that the events use."""
    import hashlib

    return [
        {
            "pk": {"S": f"K#{hashlib.sha256(key.encode()).hexdigest()}"},
            "sk": {"S": "K"},
            "tenant": {"S": tenant},
            "scope": {"S": scope},
        }
        for key, (tenant, scope) in API_KEYS.items()
    ]
