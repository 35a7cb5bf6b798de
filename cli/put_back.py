"""Copy what the job table lacks from a restored one; rows that exist are newer and stay as they are.

    python -m cli.put_back --from RESTORED --to TABLE

Safe to repeat. A slot row is put back with its job only: one without its job would hold the slot for ever. API keys are
left out, for one that was revoked must stay so; and so are a provider's pause and rounds, which belong to the present.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

Item = dict[str, Any]
_PRESENT = ("K#", "W#")  # never put back


def _rows(dynamodb: Any, table: str) -> Iterator[Item]:
    for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from (item for item in page["Items"] if not item["pk"]["S"].startswith(_PRESENT))


def _is_head(item: Item) -> bool:
    return bool(item["pk"]["S"].startswith("J#") and item["sk"]["S"] == "H")


def _is_providers(item: Item) -> bool:
    return bool(item["pk"]["S"].startswith("S#"))


def _is_detail(item: Item) -> bool:
    return not _is_head(item) and not _is_providers(item)


def put_back(dynamodb: Any, source: str, target: str) -> tuple[int, int]:
    """How many rows were put back, and how many were there already."""
    done = [_put_if_absent(dynamodb, target, item) for item in _rows(dynamodb, source) if _is_detail(item)]
    # Heads after what they speak of: reconcile looks at a job as soon as its head is there.
    jobs: set[str] = set()
    slots: list[Item] = []
    for item in _rows(dynamodb, source):
        if _is_head(item):
            done.append(_put_if_absent(dynamodb, target, item))
            if done[-1]:
                jobs.add(item["pk"]["S"].removeprefix("J#"))
        elif _is_providers(item) and "job" in item:
            slots.append(item)
    done += [_put_if_absent(dynamodb, target, item) for item in slots if item["job"]["S"] in jobs]
    return done.count(True), done.count(False)


def _put_if_absent(dynamodb: Any, table: str, item: Item) -> bool:
    try:
        dynamodb.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(pk)")
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.put_back", description=__doc__.partition("\n")[0])
    parser.add_argument("--from", dest="source", required=True, help="the restored table")
    parser.add_argument("--to", dest="target", required=True, help="the job table: output TableName of the stack")
    options = parser.parse_args(arguments)
    try:
        put, there = put_back(boto3.client("dynamodb"), options.source, options.target)
    except (ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{put} rows put back, {there} were there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
