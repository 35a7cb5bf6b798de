"""API keys: shown once, kept as a digest, listed without secrets, revoked by their first characters."""

import hashlib
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cli import keys

TABLE = "jobs"


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
        )
        yield client


def test_created_key_is_stored_as_its_digest(dynamodb: Any) -> None:
    """The table can tell whose key it is and cannot give it away."""
    key = keys.create(dynamodb, TABLE, "demo", "user")
    (item,) = dynamodb.scan(TableName=TABLE)["Items"]
    assert item["pk"] == {"S": "K#" + hashlib.sha256(key.encode()).hexdigest()}
    assert item["sk"] == {"S": "K"}
    assert item["tenant"] == {"S": "demo"}
    assert item["scope"] == {"S": "user"}
    assert int(item["created_at"]["N"]) > 1_700_000_000_000
    assert key not in str(item)


def test_every_key_is_another(dynamodb: Any) -> None:
    """A tenant may have several keys at once, to change them without a gap."""
    made = {keys.create(dynamodb, TABLE, "demo", "user") for _ in range(5)}
    assert len(made) == 5
    assert {key.digest for key in keys.stored(dynamodb, TABLE)} == {keys.digest(key) for key in made}


@pytest.mark.parametrize("tenant", ["", "Demo", "a b", "-a", "a-", "a#b", "a/b", "é", "a" * 51])
def test_odd_tenants_are_refused(dynamodb: Any, tenant: str) -> None:
    """A tenant's name becomes part of keys, object names and channels."""
    with pytest.raises(keys.KeyProblemError):
        keys.create(dynamodb, TABLE, tenant, "user")


@pytest.mark.parametrize("tenant", ["a", "a1", "studio-7", "a" * 50])
def test_good_tenants_are_taken(dynamodb: Any, tenant: str) -> None:
    """One to fifty lower-case letters, digits and inner dashes."""
    assert keys.create(dynamodb, TABLE, tenant, "operator").startswith("mj_")


def test_unknown_scope_is_refused(dynamodb: Any) -> None:
    """A typing error must not make a key that can do nothing, or worse."""
    with pytest.raises(keys.KeyProblemError):
        keys.create(dynamodb, TABLE, "demo", "admin")


def test_revoked_key_is_gone_and_the_others_stay(dynamodb: Any) -> None:
    """Revoking one tenant's key takes nothing from another."""
    first, second = (keys.create(dynamodb, TABLE, tenant, "user") for tenant in ("one", "two"))
    gone = keys.revoke(dynamodb, TABLE, keys.digest(first)[:12])
    assert gone.tenant == "one"
    assert [key.digest for key in keys.stored(dynamodb, TABLE)] == [keys.digest(second)]


@pytest.mark.parametrize("start", ["", "abc", "0" * 12])
def test_revoking_needs_exactly_one_match(dynamodb: Any, start: str) -> None:
    """Too short or unknown: nothing is deleted."""
    keys.create(dynamodb, TABLE, "demo", "user")
    with pytest.raises(keys.KeyProblemError):
        keys.revoke(dynamodb, TABLE, start)
    assert len(list(keys.stored(dynamodb, TABLE))) == 1


def test_a_table_that_is_not_there_is_told_in_a_line(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first command that a person types with a name of their own in it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert keys.main(["create", "--table", "typo", "--tenant", "demo"]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "ResourceNotFoundException" in err
