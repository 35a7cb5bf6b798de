"""Every DynamoDB expression of the product, by name. Each function returns one call's parameters, without the table.

Conditions that tell a lost race return the old item, so that the loser need not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mediajobs.adapters.table.items import input_key, job_key
from mediajobs.adapters.table.values import encoded
from mediajobs.jobs.model import DUE_SHARDS, Job, Transfer
from mediajobs.messages import Progress
from mediajobs.pauses import Pause

# Index -> (partition key, sort key). The template declares the same; all project keys only.
INDEXES = {
    "list": ("list_key", "list_at"),
    "due": ("due_shard", "due_at"),
    "attention": ("att_shard", "att_at"),
    "wait": ("wait_key", "wait_at"),
}
SHARDS = tuple(range(DUE_SHARDS))
PAUSE = "pause"
EVENTS_KEPT = 20
FINAL_PERCENT = 100

Params = dict[str, Any]
OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
ABSENT = "attribute_not_exists(pk)"


def get(key: Mapping[str, Any], *, strong: bool) -> Params:
    return {"Key": dict(key), "ConsistentRead": strong}


def put(item: Mapping[str, Any]) -> Params:
    return {"Item": dict(item)}


def put_if_absent(item: Mapping[str, Any]) -> Params:
    return {"Item": dict(item), "ConditionExpression": ABSENT, **OLD_ITEM}


# -- head and slot row


def put_head(head: Mapping[str, Any], before: Job) -> Params:
    """The head, if it is still the row that was read: of that version, and not another job of the same key."""
    return {
        "Item": dict(head),
        "ConditionExpression": "ver = :ver AND inc = :inc",
        "ExpressionAttributeValues": encoded({":ver": before.version, ":inc": before.incarnation}),
        **OLD_ITEM,
    }


def put_row(provider: str, row: str, job_id: str, now: int) -> Params:
    """Take a slot row. One that names this very job without its head's knowledge is left-over and may be taken."""
    return {"Item": {**slot_key(provider, row), **encoded({"job": job_id, "at": now})}, **_free_or_held_by(job_id)}


def delete_row(provider: str, row: str, job_id: str) -> Params:
    """Give a slot row back. One that is missing must not keep the job from moving on."""
    return {"Key": slot_key(provider, row), **_free_or_held_by(job_id)}


def _free_or_held_by(job_id: str) -> Params:
    return {
        "ConditionExpression": f"{ABSENT} OR job = :job",
        "ExpressionAttributeValues": encoded({":job": job_id}),
        **OLD_ITEM,
    }


def slot_key(provider: str, row: str) -> dict[str, Any]:
    return encoded({"pk": f"S#{provider}", "sk": row})


def put_input(job_id: str, digest: bytes, body: bytes, ttl: int) -> Params:
    return put({**input_key(job_id, digest), **encoded({"body": body, "ttl": ttl})})


# -- provider: pause, rounds, ids


def of_provider(provider: str) -> Params:
    """Slot rows and pause, as they are now."""
    return {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": encoded({":pk": f"S#{provider}"}),
        "ConsistentRead": True,
    }


def save_pause(provider: str, before: Pause, after: Pause, token: str) -> Params:
    """`round` is left alone: it belongs to the waiting room. `token` tells our own resent write from a twin's."""
    fields = {
        "reason": after.reason,
        "until": after.until,
        "step": after.step,
        "bad": after.bad,
        "limit": after.limit,
        "note": after.note,
        "revision": before.revision + 1,
        "by": token,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    gone = [f"#{name}" for name in fields if name not in kept]
    sets = ", ".join(f"#{name} = :{name}" for name in kept)
    values = encoded({f":{name}": value for name, value in kept.items()})
    condition = "attribute_not_exists(#revision)"
    if before.revision:
        condition = "#revision = :before"
        values |= encoded({":before": before.revision})
    return {
        "Key": slot_key(provider, PAUSE),
        "UpdateExpression": f"SET {sets}" + (f" REMOVE {', '.join(gone)}" if gone else ""),
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{name}": name for name in fields},
        "ExpressionAttributeValues": values,
        **OLD_ITEM,
    }


def raise_round(provider: str, reached: int) -> Params:
    return {
        "Key": slot_key(provider, PAUSE),
        "UpdateExpression": "SET #round = :round",
        "ConditionExpression": "attribute_not_exists(#round) OR #round < :round",
        "ExpressionAttributeNames": {"#round": "round"},
        "ExpressionAttributeValues": encoded({":round": reached}),
    }


def next_round(provider: str, tenant: str, present: int) -> Params:
    """One more than the tenant's last round, where that is no less than the present one; at first the present."""
    return {
        "Key": _turns_key(provider, tenant),
        "UpdateExpression": "SET #round = if_not_exists(#round, :below) + :one",
        "ConditionExpression": "attribute_not_exists(#round) OR #round >= :below",
        "ExpressionAttributeNames": {"#round": "round"},
        "ExpressionAttributeValues": encoded({":below": present - 1, ":one": 1}),
        "ReturnValues": "UPDATED_NEW",
    }


def present_round(provider: str, tenant: str, present: int) -> Params:
    """The present round, where the tenant's last one lies further back."""
    return {
        "Key": _turns_key(provider, tenant),
        "UpdateExpression": "SET #round = :present",
        "ConditionExpression": "#round < :below",
        "ExpressionAttributeNames": {"#round": "round"},
        "ExpressionAttributeValues": encoded({":below": present - 1, ":present": present}),
        "ReturnValues": "UPDATED_NEW",
    }


def round_back(provider: str, tenant: str) -> Params:
    return {
        "Key": _turns_key(provider, tenant),
        "UpdateExpression": "SET #round = #round - :one",
        "ConditionExpression": "attribute_exists(#round)",
        "ExpressionAttributeNames": {"#round": "round"},
        "ExpressionAttributeValues": encoded({":one": 1}),
    }


def _turns_key(provider: str, tenant: str) -> dict[str, Any]:
    return encoded({"pk": f"W#{provider}", "sk": tenant})


def bind(provider: str, provider_job_id: str, job_id: str) -> Params:
    """Absent, or this very job's already."""
    return {
        "Item": {**bound_key(provider, provider_job_id), **encoded({"job": job_id})},
        **_free_or_held_by(job_id),
    }


def bound_key(provider: str, provider_job_id: str) -> dict[str, Any]:
    return encoded({"pk": f"P#{provider}", "sk": provider_job_id})


# -- beside the head: progress, events, grace time, API keys


def progress_key(job_id: str) -> dict[str, Any]:
    return encoded({"pk": job_key(job_id), "sk": "P"})


def save_progress(job_id: str, progress: Progress, ttl: int, every_ms: int) -> Params:
    """Never back, not too often; the last one (100) at any time, but once."""
    condition, values = "pct <= :pct AND #at <= :latest", {":pct": progress.percent}
    if progress.percent >= FINAL_PERCENT:
        condition = "pct < :pct"
    else:
        values[":latest"] = progress.at - every_ms
    item = encoded({"pct": progress.percent, "at": progress.at, "stage": progress.stage, "ttl": ttl})
    return {
        "Item": {**progress_key(job_id), **item},
        "ConditionExpression": f"{ABSENT} OR ({condition})",
        "ExpressionAttributeValues": encoded(values),
        **OLD_ITEM,
        **({"ExpressionAttributeNames": {"#at": "at"}} if "#at" in condition else {}),
    }


def events_key(job_id: str) -> dict[str, Any]:
    return encoded({"pk": job_key(job_id), "sk": "E"})


def append_event(job_id: str, entry: str, ttl: int) -> Params:
    return {
        "Key": events_key(job_id),
        "UpdateExpression": "SET entries = list_append(if_not_exists(entries, :none), :entry), #ttl = :ttl ADD n :one",
        "ConditionExpression": "attribute_not_exists(entries) OR size(entries) < :most",
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": encoded(
            {":none": [], ":entry": [entry], ":ttl": ttl, ":one": 1, ":most": EVENTS_KEPT}
        ),
    }


def count_event(job_id: str) -> Params:
    """The list is full: only the count goes on."""
    return {
        "Key": events_key(job_id),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": encoded({":one": 1}),
    }


def transfers(job_id: str) -> Params:
    """As they are now: a run acts on what another left."""
    return {
        "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
        "ExpressionAttributeValues": encoded({":pk": job_key(job_id), ":sk": "D#"}),
        "ConsistentRead": True,
    }


def save_transfer(job_id: str, transfer: Transfer, ttl: int, owner: str | None) -> Params:
    item = {name: value for name, value in asdict(transfer).items() if name != "number"}
    key = {"pk": job_key(job_id), "sk": f"D#{transfer.number:03d}"}
    condition: Params = {"ConditionExpression": ABSENT}
    if owner is not None:
        # The mark of its owner is new with each run, so our own resent write finds itself.
        condition = {
            "ConditionExpression": "#owner = :owner OR #owner = :mine",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": encoded({":owner": owner, ":mine": transfer.owner}),
        }
    return {"Item": encoded({**key, **item, "ttl": ttl}), **condition}


def first_seen(name: str, now: int, ttl: int) -> Params:
    return put_if_absent(encoded({"pk": f"N#{name}", "sk": "N", "at": now, "ttl": ttl}))


def api_key_key(digest: str) -> dict[str, Any]:
    return encoded({"pk": f"K#{digest}", "sk": "K"})


# -- indexes


def waiting(provider: str, most: int) -> Params:
    return {**_index("wait", f"W#{provider}"), "Limit": most}


def due(shard: int, until: int) -> Params:
    return _index("due", f"D#{shard}", "<=", until)


def newest(tenant: str, most: int, before: str | None) -> Params:
    """A tenant's jobs, newest first, from `before` on."""
    return {**_index("list", f"T#{tenant}", "<", before), "ScanIndexForward": False, "Limit": most}


def attention(shard: int, most: int, after: str | None) -> Params:
    return {**_index("attention", f"A#{shard}", ">", after), "Limit": most}


def _index(name: str, partition: str, compare: str = "", bound: str | int | None = None) -> Params:
    key, sort = INDEXES[name]
    condition, values = "#key = :key", encoded({":key": partition, ":bound": bound})
    names = {"#key": key}
    if bound is not None:
        condition += f" AND #sort {compare} :bound"
        names["#sort"] = sort
    return {
        "IndexName": name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }
