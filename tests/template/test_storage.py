"""Tables, bucket and secret: keys, indexes, expiry, and what is left when a stack is deleted."""

from typing import Any

import pytest

from mediajobs import uploads
from mediajobs.api import schemas
from tests.template.reading import of_type, text


@pytest.fixture
def table(template: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = template["Resources"]["Table"]["Properties"]
    return properties


@pytest.fixture
def bucket(template: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = template["Resources"]["Bucket"]["Properties"]
    return properties


def _types(table: dict[str, Any]) -> dict[str, str]:
    return {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}


def _keys(schema: list[dict[str, str]]) -> tuple[str, ...]:
    assert [each["KeyType"] for each in schema] == ["HASH", "RANGE"][: len(schema)]
    return tuple(each["AttributeName"] for each in schema)


def test_table_is_keyed_by_pk_and_sk(table: dict[str, Any]) -> None:
    """One table for every item of DESIGN section 5."""
    assert _keys(table["KeySchema"]) == ("pk", "sk")
    assert (_types(table)["pk"], _types(table)["sk"]) == ("S", "S")
    assert table["BillingMode"] == "PAY_PER_REQUEST"


INDEXES = {
    "list": (("list_key", "S"), ("list_at", "S")),
    "due": (("due_shard", "S"), ("due_at", "N")),
    "attention": (("att_shard", "S"), ("att_at", "S")),
    "wait": (("wait_key", "S"), ("wait_at", "S")),
}


def test_indexes_are_the_four_of_the_design(table: dict[str, Any]) -> None:
    """Keys only, so that an entry never costs more than a unit; due_at is a number, the rest text."""
    types = _types(table)
    found = {
        index["IndexName"]: tuple((key, types[key]) for key in _keys(index["KeySchema"]))
        for index in table["GlobalSecondaryIndexes"]
    }
    assert found == INDEXES
    assert all(index["Projection"] == {"ProjectionType": "KEYS_ONLY"} for index in table["GlobalSecondaryIndexes"])


def test_table_can_be_restored_and_expires_what_is_old(table: dict[str, Any]) -> None:
    """Encrypted, with point-in-time recovery and a time to live."""
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_idempotency_table_is_what_powertools_expects(template: dict[str, Any]) -> None:
    """Key `id`, expiry `expiration`; Powertools' own defaults."""
    properties = template["Resources"]["IdempotencyTable"]["Properties"]
    assert _keys(properties["KeySchema"]) == ("id",)
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expiration", "Enabled": True}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"


def test_jobs_and_results_outlive_the_stack(template: dict[str, Any]) -> None:
    """Deleting the stack keeps them and works at once; a first deploy that fails leaves none behind."""
    for name in ("Table", "Bucket"):
        assert template["Resources"][name]["DeletionPolicy"] == "RetainExceptOnCreate"
        assert template["Resources"][name]["UpdateReplacePolicy"] == "Retain"


def test_nothing_else_is_left_behind(template: dict[str, Any]) -> None:
    """Removal is one command; what stays is what holds jobs."""
    kept = {
        name for name, resource in template["Resources"].items() if resource.get("DeletionPolicy", "Delete") != "Delete"
    }
    assert kept == {"Table", "Bucket"}


def test_names_that_would_clash_with_what_is_kept_are_not_given(table: dict[str, Any], bucket: dict[str, Any]) -> None:
    """A stack deployed again beside its kept table and bucket gets new ones."""
    assert "TableName" not in table
    assert "BucketName" not in bucket


def test_bucket_is_closed_and_encrypted(template: dict[str, Any], bucket: dict[str, Any]) -> None:
    """No public access, no ACLs, TLS only."""
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": True}
    (statement,) = template["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert [text(each) for each in statement["Resource"]] == ["Bucket.Arn", "${Bucket.Arn}/*"]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_what_is_in_the_bucket_expires(bucket: dict[str, Any]) -> None:
    """Results after ResultDays; uploads a day after their form, jobs' copies when the code says that they are gone."""
    results, uploaded, inputs, parts = bucket["LifecycleConfiguration"]["Rules"]
    assert (results["Prefix"], results["ExpirationInDays"]) == ("results/", {"Ref": "ResultDays"})
    assert uploaded["Prefix"] == uploads.uploaded_key("", "")[: len("uploads/")]
    assert uploaded["ExpirationInDays"] * 86_400 == uploads.NAMED_S
    assert inputs["Prefix"] == uploads.input_key("", "", "")[: len("inputs/")]
    assert inputs["ExpirationInDays"] == uploads.KEPT_DAYS
    assert parts["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "Prefix" not in parts
    assert {each["Status"] for each in (results, uploaded, inputs, parts)} == {"Enabled"}


def test_browsers_may_only_post_by_a_form(bucket: dict[str, Any]) -> None:
    """From any page, for the signed form is what counts; they read nothing."""
    (rule,) = bucket["CorsConfiguration"]["CorsRules"]
    assert rule == {"AllowedMethods": ["POST"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"]}


def test_inputs_outlive_the_longest_wait_for_a_start() -> None:
    """The last day on which one may be submitted still leaves the provider days to read it."""
    assert uploads.KEPT_DAYS - uploads.MARGIN_DAYS >= schemas.MOST_START_S / 86_400 + 5


def test_token_secret_is_made_by_the_stack(template: dict[str, Any]) -> None:
    """Nobody types it in; at least 256 bits."""
    secrets = of_type(template, "AWS::SecretsManager::Secret")
    assert set(secrets) == {"Tokens"}
    assert secrets["Tokens"]["Name"] == {"Fn::Sub": "${AWS::StackName}/tokens"}
    assert secrets["Tokens"]["GenerateSecretString"]["PasswordLength"] >= 43
    assert "SecretString" not in secrets["Tokens"]
