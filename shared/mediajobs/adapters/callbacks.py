"""Registrations in the table, a subscription of the topic, and the queue that it feeds, as `callbacks.Callbacks`.

The subscription is made with the first registration and filters by tenant, so a job of a tenant that registered nothing
sends no message and costs nothing. It is not in the template: a deploy would put its filter back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.aws import translated
from mediajobs.adapters.table.calls import Calls, Refused
from mediajobs.adapters.table.expressions import ABSENT, OLD_ITEM
from mediajobs.adapters.table.values import decoded, encoded
from mediajobs.callbacks import Ended, Notice, Registration, Secret
from mediajobs.clock import Chance

PARTITION = "C#callbacks"  # one for all: its Query is the list for the filter
MOST_NAMED = 100  # of the 150 values that a filter policy may have
NOBODY = ["-"]  # no tenant is called so
ANYBODY = [{"exists": True}]
LONGEST_S = 43_200  # for which SQS hides a message


class AwsCallbacks:
    """Implements `callbacks.Callbacks`. Works on items of one partition, one subscription and two queues."""

    def __init__(
        self,
        calls: Calls,
        chance: Chance,
        sns: Any,
        sqs: Any,
        *,
        topic_arn: str,
        queue_url: str,
        queue_arn: str,
        dead_letter_url: str,
    ) -> None:
        self._calls = calls
        self._chance = chance
        self._sns = sns
        self._sqs = sqs
        self._topic_arn = topic_arn
        self._queue_url = queue_url
        self._queue_arn = queue_arn
        self._dead_letter_url = dead_letter_url

    def registration(self, tenant: str) -> Registration | None:
        item = self._calls.call("get_item", {"Key": _key(tenant), "ConsistentRead": True}).get("Item")
        return None if item is None else registration_of(item)

    def save(self, before: Registration | None, after: Registration) -> bool:
        revision, token = before.revision if before else 0, self._chance.token()
        condition: dict[str, Any] = {"ConditionExpression": ABSENT}
        if before is not None:
            values = encoded({":before": revision})
            condition = {"ConditionExpression": "revision = :before", "ExpressionAttributeValues": values}
        item = registration_item(after, revision + 1) | encoded({"by": token})
        try:
            self._calls.call("put_item", {"Item": item, **condition, **OLD_ITEM})
        except Refused as refused:
            return decoded(refused.item or {}).get("by") == token  # our own write, sent twice by the SDK
        return True

    def registered(self) -> tuple[str, ...]:
        query = {
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": encoded({":pk": PARTITION}),
            "ConsistentRead": True,
        }
        found = (registration_of(item) for item in self._calls.pages(query))
        return tuple(each.tenant for each in found if not each.ended)

    def listen(self, tenants: Sequence[str]) -> None:
        policy = json.dumps({"tenant": _names(tenants)})
        try:
            subscription = self._subscription()
            if subscription is None and tenants:
                self._subscribe(policy)
            elif subscription is not None:
                self._sns.set_subscription_attributes(
                    SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue=policy
                )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "subscribe") from error

    def later(self, notice: Notice, seconds: int) -> None:
        try:
            self._sqs.change_message_visibility(
                QueueUrl=self._queue_url,
                ReceiptHandle=notice.handle,
                VisibilityTimeout=max(0, min(LONGEST_S, seconds)),
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "change_message_visibility") from error

    def bury(self, notice: Notice, why: str) -> None:
        told = {"tenant": notice.tenant, "why": why}
        try:
            self._sqs.send_message(
                QueueUrl=self._dead_letter_url,
                MessageBody=notice.body.decode(),
                MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in told.items()},
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "send_message") from error

    def _subscription(self) -> str | None:
        pages = self._sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=self._topic_arn)
        for page in pages:
            for each in page["Subscriptions"]:
                if each["Endpoint"] == self._queue_arn:
                    return str(each["SubscriptionArn"])
        return None

    def _subscribe(self, policy: str) -> None:
        self._sns.subscribe(
            TopicArn=self._topic_arn,
            Protocol="sqs",
            Endpoint=self._queue_arn,
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": policy},
        )


def _names(tenants: Sequence[str]) -> list[Any]:
    """Beyond what a filter may name, every event comes, and notify drops those that nobody wants."""
    if len(tenants) > MOST_NAMED:
        return list(ANYBODY)
    return list(tenants) or list(NOBODY)


def _key(tenant: str) -> dict[str, Any]:
    return encoded({"pk": PARTITION, "sk": tenant})


_PLAIN = tuple(
    each.name for each in fields(Registration) if each.name not in ("tenant", "secrets", "ended", "revision")
)


def registration_item(registration: Registration, revision: int) -> dict[str, Any]:
    """The row of a registration."""
    secrets = [
        {name: value for name, value in _parts(secret).items() if value is not None} for secret in registration.secrets
    ]
    attributes = {name: getattr(registration, name) for name in _PLAIN}
    ended = None if registration.ended is None else str(registration.ended)
    return {
        **_key(registration.tenant),
        **encoded({**attributes, "secrets": secrets, "ended": ended, "revision": revision}),
    }


def _parts(secret: Secret) -> dict[str, object]:
    return {"value": secret.value, "since": secret.since, "until": secret.until}


def registration_of(item: Mapping[str, Any]) -> Registration:
    """The registration in a row."""
    row = decoded(item)
    return Registration(
        tenant=row["sk"],
        secrets=tuple(Secret(value=one["value"], since=one["since"], until=one.get("until")) for one in row["secrets"]),
        ended=Ended(row["ended"]) if "ended" in row else None,
        revision=row["revision"],
        **{name: row[name] for name in _PLAIN if name in row},
    )
