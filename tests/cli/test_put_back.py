"""Rows of a restored table come back where they are missing, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from cli.put_back import put_back
from tests.contract import aws

RESTORED, LIVE = "restored", "live"


def row(pk: str, sk: str, **fields: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}, **{name: {"S": value} for name, value in fields.items()}}


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = aws.client("dynamodb", None)
        for name in (RESTORED, LIVE):
            aws.create_table(client, name)
        yield client
        client.close()


def fill(dynamodb: Any, table: str, *rows: dict[str, Any]) -> None:
    for item in rows:
        dynamodb.put_item(TableName=table, Item=item)


def found(dynamodb: Any) -> dict[tuple[str, str], dict[str, Any]]:
    items = dynamodb.scan(TableName=LIVE)["Items"]
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}


def test_job_that_is_missing_comes_back_whole(dynamodb: Any) -> None:
    """Head, input and the slot that it held."""
    fill(dynamodb, RESTORED, row("J#a", "H", state="running"), row("J#a", "I#1"), row("S#sim", "001", job="a"))
    assert put_back(dynamodb, RESTORED, LIVE) == (3, 0)
    assert set(found(dynamodb)) == {("J#a", "H"), ("J#a", "I#1"), ("S#sim", "001")}


def test_row_that_exists_is_newer_and_stays(dynamodb: Any) -> None:
    """A job that has ended since is not set back."""
    fill(dynamodb, RESTORED, row("J#a", "H", state="running"))
    fill(dynamodb, LIVE, row("J#a", "H", state="succeeded"))
    assert put_back(dynamodb, RESTORED, LIVE) == (0, 1)
    assert found(dynamodb)["J#a", "H"]["state"] == {"S": "succeeded"}


def test_slot_of_a_job_that_was_there_is_not_taken_again(dynamodb: Any) -> None:
    """It was given back since; nobody would ever give it back again."""
    fill(dynamodb, RESTORED, row("J#a", "H", state="running"), row("S#sim", "001", job="a"))
    fill(dynamodb, LIVE, row("J#a", "H", state="succeeded"))
    put_back(dynamodb, RESTORED, LIVE)
    assert set(found(dynamodb)) == {("J#a", "H")}


def test_slot_that_another_job_holds_stays_with_it(dynamodb: Any) -> None:
    """Two jobs never stand in one row."""
    fill(dynamodb, RESTORED, row("J#a", "H", state="running"), row("S#sim", "001", job="a"))
    fill(dynamodb, LIVE, row("S#sim", "001", job="b"))
    put_back(dynamodb, RESTORED, LIVE)
    assert found(dynamodb)["S#sim", "001"]["job"] == {"S": "b"}


def test_revoked_keys_and_old_pauses_stay_away(dynamodb: Any) -> None:
    """A key that was revoked since would open the door again; a pause of then says nothing of now."""
    fill(
        dynamodb, RESTORED, row("K#f00", "K", tenant="demo"), row("S#sim", "pause", reason="blocked"), row("W#sim", "t")
    )
    assert put_back(dynamodb, RESTORED, LIVE) == (0, 0)
    assert found(dynamodb) == {}


def test_repeat_changes_nothing(dynamodb: Any) -> None:
    """It may be stopped and started again."""
    fill(dynamodb, RESTORED, row("J#a", "H"), row("J#a", "I#1"), row("P#sim", "job_1", job="a"))
    put_back(dynamodb, RESTORED, LIVE)
    before = found(dynamodb)
    assert put_back(dynamodb, RESTORED, LIVE) == (0, 3)
    assert found(dynamodb) == before
