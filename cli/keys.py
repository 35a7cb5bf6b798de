"""Make, list and revoke API keys in the job table.

    python -m cli.keys create --table TABLE --tenant demo --scope user

A key is shown once, when it is made; the table holds its SHA-256 only. A revoked key stops working within the time for
which API Gateway keeps an authorizer's answer (a minute).
"""

import argparse
import hashlib
import re
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

SCOPES = ("user", "operator")
# A tenant is part of a channel name and of object keys; these are the characters that all of them take.
_TENANT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


class KeyProblemError(Exception):
    """The command cannot be carried out; the text says why."""


@dataclass(frozen=True)
class StoredKey:
    """What the table knows of a key."""

    digest: str
    tenant: str
    scope: str
    created_at: int


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def create(dynamodb: Any, table: str, tenant: str, scope: str) -> str:
    """A new key for the tenant, known to the table from now on."""
    if not _TENANT.fullmatch(tenant):
        raise KeyProblemError(f"{tenant!r} is no tenant: up to 50 lower-case letters, digits and dashes.")
    if scope not in SCOPES:
        raise KeyProblemError(f"{scope!r} is no scope: {' or '.join(SCOPES)}.")
    key = "mj_" + secrets.token_urlsafe(32)
    item = {
        "pk": {"S": f"K#{digest(key)}"},
        "sk": {"S": "K"},
        "tenant": {"S": tenant},
        "scope": {"S": scope},
        "created_at": {"N": str(time.time_ns() // 1_000_000)},
    }
    dynamodb.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(pk)")
    return key


def stored(dynamodb: Any, table: str) -> Iterator[StoredKey]:
    """All keys, by a scan of the whole table: for a person now and then, not for a program."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        FilterExpression="begins_with(pk, :k) AND sk = :s",
        ExpressionAttributeValues={":k": {"S": "K#"}, ":s": {"S": "K"}},
    )
    for page in pages:
        for item in page["Items"]:
            found = item["pk"]["S"].removeprefix("K#")
            yield StoredKey(found, item["tenant"]["S"], item["scope"]["S"], int(item["created_at"]["N"]))


def revoke(dynamodb: Any, table: str, start: str) -> StoredKey:
    """Remove the one key whose SHA-256 begins so; what it was."""
    if len(start) < 8:
        raise KeyProblemError("Give at least the first 8 characters that `list` shows.")
    found = [key for key in stored(dynamodb, table) if key.digest.startswith(start)]
    if len(found) != 1:
        raise KeyProblemError(f"{len(found)} keys begin with {start!r}; `list` shows them.")
    dynamodb.delete_item(TableName=table, Key={"pk": {"S": f"K#{found[0].digest}"}, "sk": {"S": "K"}})
    return found[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cli.keys", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("create", help="make a key and print it, this once")
    making.add_argument("--tenant", required=True, help="whose jobs it may submit and read")
    making.add_argument("--scope", choices=SCOPES, default="user", help="operator also sees and resolves all tenants'")
    listing = commands.add_parser("list", help="show whose keys there are, with the first characters of their SHA-256")
    revoking = commands.add_parser("revoke", help="make a key useless")
    revoking.add_argument("start", help="the first characters that `list` shows, 8 or more")
    for command in (making, listing, revoking):
        command.add_argument("--table", required=True, help="the job table: output TableName of the stack")
    return parser


def _run(options: argparse.Namespace, dynamodb: Any) -> None:
    if options.command == "create":
        print(create(dynamodb, options.table, options.tenant, options.scope))
    elif options.command == "revoke":
        gone = revoke(dynamodb, options.table, options.start)
        print(f"revoked {gone.digest[:12]} of {gone.tenant} ({gone.scope})")
    else:
        for key in sorted(stored(dynamodb, options.table), key=lambda key: key.created_at):
            made = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(key.created_at / 1000))
            print(f"{key.digest[:12]}  {key.scope:8}  {made} UTC  {key.tenant}")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        _run(options, boto3.client("dynamodb"))
    except (KeyProblemError, ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
