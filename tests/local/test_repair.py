"""Each property that the emulator's CloudFormation drops is repaired, or left with a reason."""

from collections.abc import Iterator
from typing import Any

import pytest

from local.stack.places import ROOT, StackError
from local.stack.repair import DROPPED, LEFT, gateway_answers, lifecycle_rules, planned, repair
from local.stack.template import Template

# What MiniStack 1.5.33 was seen to drop while it says CREATE_COMPLETE.
KNOWN = {
    "AWS::DynamoDB::Table": {
        "TimeToLiveSpecification",
        "PointInTimeRecoverySpecification",
        "SSESpecification",
        "TableClass",
        "OnDemandThroughput",
    },
    "AWS::Serverless::Function": {
        "ReservedConcurrentExecutions",
        "DeadLetterQueue",
        "DurableConfig",
        "PermissionsBoundary",
    },
    "AWS::SNS::Topic": {"FifoTopic", "ContentBasedDeduplication", "FifoThroughputScope", "KmsMasterKeyId"},
    "AWS::S3::Bucket": {"LifecycleConfiguration", "BucketEncryption"},
    "AWS::IAM::Role": {"PermissionsBoundary"},
    "AWS::Serverless::Api": {"AccessLogSetting", "GatewayResponses", "Cors"},
}
GIVEN = {"MaxInFlight": "4", "SubscriberQueueArn": "arn:aws:sqs:us-east-1:000000000000:q.fifo"}


def template(**given: str) -> Template:
    return Template.load(ROOT / "template.yaml", GIVEN | given)


def dropped_in_use() -> Iterator[tuple[str, str, str]]:
    for name, resource in template().resources.items():
        for prop in KNOWN.get(resource["Type"], set()) & resource.get("Properties", {}).keys():
            yield name, resource["Type"], prop


def physical(of: Template) -> dict[str, str]:
    return {name: f"physical-{name}" for name in of.resources}


def test_every_dropped_property_in_use_is_taken_care_of() -> None:
    """A property that the template relies on and the emulator forgets needs a row, or a reason to go without."""
    rows = {(kind, row.property) for row in DROPPED for kind in row.types}
    in_use = list(dropped_in_use())
    assert {prop for _, _, prop in in_use} >= {"TimeToLiveSpecification", "FifoTopic", "LifecycleConfiguration"}
    assert [each for each in in_use if each[1:] not in rows and each[1:] not in LEFT] == []


def test_no_property_is_both_repaired_and_left() -> None:
    """One of the two lists would lie."""
    assert not {(kind, row.property) for row in DROPPED for kind in row.types} & LEFT.keys()


def test_plan_takes_values_from_the_template() -> None:
    """What is repaired is what the template wants, parameters put in."""
    wanted = template(ResultDays="7")
    plan = {str(each): each.want for each in planned(wanted, physical(wanted))}
    assert plan["Dispatch.ReservedConcurrentExecutions"] == 4
    assert plan["Topic.FifoTopic"] == "true"
    assert plan["Table.TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert plan["IdempotencyTable.TimeToLiveSpecification"] == {"AttributeName": "expiration", "Enabled": True}
    assert {"Days": 7} in [rule.get("Expiration") for rule in plan["Bucket.LifecycleConfiguration"]]


def test_plan_follows_conditions() -> None:
    """A property that a condition takes out is not set behind the template's back."""
    wanted = template(ReserveConcurrency="false")
    assert "Dispatch.ReservedConcurrentExecutions" not in {str(each) for each in planned(wanted, physical(wanted))}


def test_lifecycle_is_put_in_the_words_of_the_api() -> None:
    """Each kind of rule that CloudFormation has for us has its form in the S3 API."""
    rules = [
        {"Id": "a", "Status": "Enabled", "Prefix": "results/", "ExpirationInDays": "30"},
        {"Id": "b", "Status": "Enabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}},
        {"Id": "c", "Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 2}},
        {"Id": "d", "Status": "Enabled", "NoncurrentVersionExpirationInDays": 3},
    ]
    assert lifecycle_rules({"Rules": rules}) == [
        {"ID": "a", "Status": "Enabled", "Filter": {"Prefix": "results/"}, "Expiration": {"Days": 30}},
        {
            "ID": "b",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
        },
        {
            "ID": "c",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 2},
        },
        {
            "ID": "d",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 3},
        },
    ]


def test_gateway_responses_are_put_in_the_words_of_the_api() -> None:
    """The gateway's own refusals carry the status, the type and the headers that the template gives them."""
    answers = gateway_answers(template().wanted("Api", "GatewayResponses"))
    unknown = answers["MISSING_AUTHENTICATION_TOKEN"]
    assert unknown["statusCode"] == "404"
    assert unknown["responseParameters"] == {"gatewayresponse.header.Content-Type": "'application/problem+json'"}
    assert "urn:mediajobs:problem:not-found" in unknown["responseTemplates"]["application/json"]
    assert answers["THROTTLED"]["responseParameters"]["gatewayresponse.header.Retry-After"] == "'1'"


class ForgetfulTopic:
    """An SNS that takes every attribute and keeps none."""

    def set_topic_attributes(self, **given: str) -> None:
        self.given = given

    def get_topic_attributes(self, **given: str) -> dict[str, Any]:
        return {"Attributes": {}}


def test_repair_that_does_not_hold_is_an_error() -> None:
    """A repair counts only when the property reads back as set; the error says what would go wrong without it."""
    topic = Template({"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"FifoTopic": True}}}}, {})
    with pytest.raises(StackError, match="deduplication"):
        repair(topic, {"Topic": "arn"}, lambda _: ForgetfulTopic())


@pytest.mark.parametrize("row", DROPPED, ids=lambda row: row.property)
def test_each_row_says_why(row: Any) -> None:
    """Whoever wonders whether a row can go reads what breaks without it."""
    assert len(row.why.split()) > 5
