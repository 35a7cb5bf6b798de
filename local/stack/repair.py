"""What the emulator's CloudFormation drops without a word, put right through the API and read back.

MiniStack 1.5.33 answers CREATE_COMPLETE and leaves out some properties. DROPPED is the list of them: why each matters
here, the call that sets it, the call that reads it back. A row applies to every resource of its type whose property the
template sets, so a new table or topic is repaired without a new row. A row can go once the emulator does its work:
`make up` with the row taken out still says so, because tests/local checks each property on the deployed stack.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.stack.places import StackError
from local.stack.template import Template

Client = Callable[[str], Any]


@dataclass(frozen=True)
class Row:
    """A property that is dropped, and how to set it. `want` maps the template's value to the API's form."""

    types: tuple[str, ...]
    property: str
    why: str
    want: Callable[[Any], Any]
    apply: Callable[[Client, str, Any], object]
    read: Callable[[Client, str], Any]


def _apply_ttl(client: Client, table: str, want: Any) -> None:
    # Asking for what already holds is an error, so look first: a redeploy repairs what needs no repair.
    if _read_ttl(client, table) != want:
        client("dynamodb").update_time_to_live(TableName=table, TimeToLiveSpecification=want)


def _read_ttl(client: Client, table: str) -> dict[str, Any]:
    found = client("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    enabled = found["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    return {"AttributeName": found.get("AttributeName"), "Enabled": enabled}


def _apply_fifo(client: Client, topic: str, want: Any) -> None:
    client("sns").set_topic_attributes(TopicArn=topic, AttributeName="FifoTopic", AttributeValue=want)


def _read_fifo(client: Client, topic: str) -> str:
    return str(client("sns").get_topic_attributes(TopicArn=topic)["Attributes"].get("FifoTopic", "false"))


def _apply_concurrency(client: Client, function: str, want: Any) -> None:
    client("lambda").put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=want)


def _read_concurrency(client: Client, function: str) -> Any:
    return client("lambda").get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")


def lifecycle_rules(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """CloudFormation's rules in the words of the S3 API."""
    return [_lifecycle_rule(rule) for rule in wanted["Rules"]]


def _lifecycle_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"ID": rule["Id"], "Status": rule["Status"], "Filter": {"Prefix": rule.get("Prefix", "")}}
    if "ExpirationInDays" in rule:
        made["Expiration"] = {"Days": int(rule["ExpirationInDays"])}
    if "NoncurrentVersionExpirationInDays" in rule:
        made["NoncurrentVersionExpiration"] = {"NoncurrentDays": int(rule["NoncurrentVersionExpirationInDays"])}
    if "NoncurrentVersionExpiration" in rule:
        days = rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
        made["NoncurrentVersionExpiration"] = {"NoncurrentDays": int(days)}
    if "AbortIncompleteMultipartUpload" in rule:
        days = rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
        made["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": int(days)}
    return made


def _apply_lifecycle(client: Client, bucket: str, want: Any) -> None:
    client("s3").put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": want})


def _read_lifecycle(client: Client, bucket: str) -> Any:
    return client("s3").get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]


def gateway_answers(wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """SAM's gateway responses in the words of the API Gateway API, by their type."""
    return {kind: _gateway_answer(answer) for kind, answer in wanted.items()}


def _gateway_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    headers = answer.get("ResponseParameters", {}).get("Headers", {})
    return {
        "statusCode": str(answer["StatusCode"]),
        "responseParameters": {f"gatewayresponse.header.{name}": value for name, value in headers.items()},
        "responseTemplates": dict(answer.get("ResponseTemplates", {})),
    }


def _apply_answers(client: Client, api: str, want: Any) -> None:
    if _read_answers(client, api) == want:
        return
    gateway = client("apigateway")
    for kind, answer in want.items():
        gateway.put_gateway_response(restApiId=api, responseType=kind, **answer)
    # They hold from the stage's next deployment on.
    for stage in gateway.get_stages(restApiId=api)["item"]:
        gateway.create_deployment(restApiId=api, stageName=stage["stageName"])


def _read_answers(client: Client, api: str) -> Any:
    found = client("apigateway").get_gateway_responses(restApiId=api, limit=500)["items"]
    names = ("statusCode", "responseParameters", "responseTemplates")
    return {each["responseType"]: {name: each[name] for name in names} for each in found if not each["defaultResponse"]}


def _as_is(value: Any) -> Any:
    return value


DROPPED = (
    Row(
        types=("AWS::DynamoDB::Table",),
        property="TimeToLiveSpecification",
        why="nothing would ever expire: neither old jobs nor idempotency records",
        want=_as_is,
        apply=_apply_ttl,
        read=_read_ttl,
    ),
    Row(
        types=("AWS::SNS::Topic",),
        property="FifoTopic",
        why="the topic becomes a standard one: no deduplication, so a consumer sees a second publication",
        want=lambda value: str(value).lower(),
        apply=_apply_fifo,
        read=_read_fifo,
    ),
    Row(
        types=("AWS::Serverless::Function", "AWS::Lambda::Function"),
        property="ReservedConcurrentExecutions",
        why="dispatch would run more often at once than MaxInFlight says",
        want=int,
        apply=_apply_concurrency,
        read=_read_concurrency,
    ),
    Row(
        types=("AWS::S3::Bucket",),
        property="LifecycleConfiguration",
        why="results and unfinished uploads would stay for ever",
        want=lifecycle_rules,
        apply=_apply_lifecycle,
        read=_read_lifecycle,
    ),
    Row(
        types=("AWS::Serverless::Api",),
        property="GatewayResponses",
        why="a missing key or an unknown route would be answered in the gateway's own words, not as problem+json",
        want=gateway_answers,
        apply=_apply_answers,
        read=_read_answers,
    ),
)

# Dropped too, and left so: they change nothing that a job, a client or a test on the laptop can see.
LEFT = {
    ("AWS::DynamoDB::Table", "PointInTimeRecoverySpecification"): "backups of a table that goes with make down",
    ("AWS::DynamoDB::Table", "SSESpecification"): "encryption at rest of data that is not kept",
    ("AWS::DynamoDB::Table", "TableClass"): "a price",
    ("AWS::DynamoDB::Table", "OnDemandThroughput"): "a quota",
    ("AWS::S3::Bucket", "BucketEncryption"): "encryption at rest of data that is not kept",
    ("AWS::SNS::Topic", "KmsMasterKeyId"): "encryption at rest of data that is not kept",
    ("AWS::SNS::Topic", "FifoThroughputScope"): "a quota: the emulator's topics have none",
    ("AWS::SNS::Topic", "ContentBasedDeduplication"): "every publication carries an id of its own",
    ("AWS::Serverless::Api", "AccessLogSetting"): "logs for operators; off unless AccessLogs is true",
    ("AWS::Serverless::Api", "Cors"): "OPTIONS is answered without headers; no browser calls the laptop stack",
}


@dataclass(frozen=True)
class Repair:
    """One row applied to one deployed resource."""

    row: Row
    resource: str
    physical: str
    want: Any

    def __str__(self) -> str:
        return f"{self.resource}.{self.row.property}"


def planned(template: Template, physical: Mapping[str, str]) -> Iterator[Repair]:
    """Every repair that this template needs, given the physical names of its deployed resources."""
    for name, resource in template.resources.items():
        for row in DROPPED:
            if resource["Type"] in row.types and (value := template.wanted(name, row.property)) is not None:
                yield Repair(row, name, physical[name], row.want(value))


def repair(template: Template, physical: Mapping[str, str], client: Client) -> list[Repair]:
    """Set what was dropped and prove it by reading it back; what was done."""
    done = list(planned(template, physical))
    for each in done:
        each.row.apply(client, each.physical, each.want)
        found = each.row.read(client, each.physical)
        if found != each.want:
            raise StackError(
                f"{each} reads back as {found!r} after it was set to {each.want!r}. Without it {each.row.why}.\n"
                "The emulator has changed: look at the row in local/stack/repair.py."
            )
    return done
