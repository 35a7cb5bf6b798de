"""What `cli.doctor` says of a stack: each fault is found, and each finding says what to do."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli import checks, doctor
from cli.checks import Finding, Level
from cli.deployed import Deployed, DeployedError, Stack
from mediajobs.errors import ConfigurationError
from tests.template.reading import ROOT

BASE = "https://abcdefghij.execute-api.eu-west-1.amazonaws.com/api/v1/webhooks"
OUTPUTS = {
    "WebhookUrlPattern": f"{BASE}/{{provider}}/{{ref}}",
    "ProviderSecretPrefix": "jobs/providers/",
    "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms",
    "TableName": "table",
    "IdempotencyTableName": "once",
    "DeadLetterQueueUrl": "https://queue",
    "DispatchFunctionName": "dispatch",
    "RelayFunctionName": "relay",
    "StoreFunctionName": "store",
}
PARAMETERS = {"MaxInFlight": "10", "ReserveConcurrency": "true", "DispatchConcurrency": "0"}
RESOURCES = {"AttentionAlarm": "jobs-AttentionAlarm-1", "ReconcileTicks": "jobs-ReconcileTicks-1"}
SECRET = json.dumps({"api_key": "k", "webhook_secrets": ["whsec_" + "QUJD" * 8]})


class Aws:
    """The account: what each call answers. A test changes the one thing it is about."""

    def __init__(self) -> None:
        # What Powertools does with a client before it asks anything.
        self.meta = SimpleNamespace(events=SimpleNamespace(register=lambda *_, **__: None))
        self.answers: dict[str, Any] = {
            "get_account_settings": {
                "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 990}
            },
            "get_function_concurrency": {"ReservedConcurrentExecutions": 10},
            "get_function_configuration": {"Layers": [{"Arn": "layer"}]},
            "get_layer_version_by_arn": {"Content": {"Location": "https://layer.zip"}},
            "list_event_source_mappings": {"EventSourceMappings": [{"State": "Enabled"}]},
            "get_secret_value": {"SecretString": SECRET},
            "list_subscriptions_by_topic": {
                "Subscriptions": [{"SubscriptionArn": "arn", "Endpoint": "me@example.org"}]
            },
            "describe_alarms": {"MetricAlarms": []},
            "describe_continuous_backups": {
                "ContinuousBackupsDescription": {
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}
                }
            },
            "get_schedule": {"State": "ENABLED"},
            "get_queue_attributes": {"Attributes": {"ApproximateNumberOfMessages": "0"}},
            "questions": [],
            "provider_rows": [],
        }

    def client(self, _service: str) -> Aws:
        return self

    def describe_time_to_live(self, TableName: str) -> dict[str, Any]:  # noqa: N803 as boto3 has it
        attribute = {"table": "ttl", "once": "expiration"}[TableName]
        return self.answers.get(
            "describe_time_to_live",
            {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}},
        )

    def query(self, IndexName: str = "", **_: Any) -> dict[str, Any]:  # noqa: N803 as boto3 has it
        return {"Items": self.answers["questions" if IndexName else "provider_rows"]}

    def get_paginator(self, name: str) -> Any:
        class Pages:
            def paginate(_, **__: Any) -> list[Any]:  # noqa: N805
                return [getattr(self, name)()]

        return Pages()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answer = self.answers[name]

        def call(**_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def layer() -> bytes:
    """A layer with the provider configuration that the project ships."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("python/providers.toml", (ROOT / "shared" / "providers.toml").read_text())
    return packed.getvalue()


def get(url: str, data: bytes | None) -> tuple[int, bytes]:
    if data is None:
        return 200, layer()
    assert url == f"{BASE}/example"
    return 401, b'{"type": "urn:mediajobs:problem:unauthorized"}'


@pytest.fixture
def aws() -> Aws:
    return Aws()


def deployed(aws: Aws, parameters: dict[str, str] | None = None, **changes: Any) -> Deployed:
    stack = Stack(
        name="jobs",
        status="CREATE_COMPLETE",
        outputs=OUTPUTS | changes.get("outputs", {}),
        parameters=PARAMETERS | (parameters or {}),
        resources=RESOURCES,
    )
    return Deployed(stack, aws.client, changes.get("get", get))


def found(check: Callable[[Deployed], Any], it: Deployed) -> list[tuple[Level, str]]:
    return [(finding.level, finding.text) for finding in check(it)]


def test_account_that_is_well_has_no_fault(aws: Aws) -> None:
    """Nothing is a fault, and everything was looked at."""
    findings = list(doctor.examine(deployed(aws)))
    assert {finding.level for finding in findings} == {Level.OK, Level.NOTE}
    # The one note: the project ships a pattern, not a provider.
    (note,) = [finding for finding in findings if finding.level is Level.NOTE]
    assert "nobody answers at https://api.example.com" in note.text
    assert {finding.subject for finding in findings} >= {
        "concurrency",
        "secret",
        "webhooks",
        "alarms",
        "table",
        "start",
    }


def test_reservation_that_is_missing_is_a_fault(aws: Aws) -> None:
    """More submissions than MaxInFlight could be made at once."""
    aws.answers["get_function_concurrency"] = {}
    assert found(checks.concurrency, deployed(aws)) == [
        (Level.FAULT, "dispatch should have 10 reserved and has none; deploy again")
    ]


def test_own_dispatch_concurrency_is_what_is_compared(aws: Aws) -> None:
    """DispatchConcurrency lowers what is reserved, not what is in flight."""
    aws.answers["get_function_concurrency"] = {"ReservedConcurrentExecutions": 3}
    ((level, _),) = found(checks.concurrency, deployed(aws, {"DispatchConcurrency": "3"}))
    assert level is Level.OK


@pytest.mark.parametrize(
    ("quota", "level", "words"),
    [
        (10, Level.NOTE, "leave 0 for webhooks"),
        (15, Level.NOTE, "leave 5 for webhooks"),
        (60, Level.OK, "nothing is reserved"),
        (1000, Level.NOTE, "ReserveConcurrency=true"),
    ],
)
def test_small_quota_is_weighed_against_what_is_in_flight(aws: Aws, quota: int, level: Level, words: str) -> None:
    """Without a reservation, submissions and webhooks share the account's quota."""
    limits = {"ConcurrentExecutions": quota, "UnreservedConcurrentExecutions": quota}
    aws.answers["get_account_settings"] = {"AccountLimit": limits}
    aws.answers["get_function_concurrency"] = {}
    ((shown, text),) = found(checks.concurrency, deployed(aws, {"ReserveConcurrency": "false"}))
    assert shown is level
    assert words in text


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("no json", "is not JSON"),
        ('{"webhook_secrets": ["x"]}', "has no api_key"),
        ('{"api_key": "k"}', "webhooks cannot be verified"),
        ('{"api_key": "k", "webhook_secrets": ["whsec_!"]}', "base64"),
    ],
)
def test_secret_that_functions_could_not_use_is_a_fault(aws: Aws, kept: str, words: str) -> None:
    """In the words that the functions themselves would write into their log."""
    aws.answers["get_secret_value"] = {"SecretString": kept}
    faults = [text for level, text in found(checks.secrets, deployed(aws)) if level is Level.FAULT]
    assert any(text.startswith("example: ") and words in text for text in faults)


def test_secret_that_is_missing_is_a_fault_with_its_form(aws: Aws) -> None:
    """Whoever has to create it sees what to write."""
    refused = {"Error": {"Code": "ResourceNotFoundException", "Message": "no such secret"}}
    aws.answers["get_secret_value"] = ClientError(refused, "GetSecretValue")
    faults = [text for level, text in found(checks.secrets, deployed(aws)) if level is Level.FAULT]
    assert any("There is no secret jobs/providers/example" in text and '"api_key"' in text for text in faults)


def test_address_that_is_not_encrypted_is_a_fault(aws: Aws) -> None:
    """A webhook's URL holds its token."""
    plain = deployed(
        aws,
        outputs={"WebhookUrlPattern": "http://jobs.example.org/v1/webhooks/{provider}/{ref}"},
        get=lambda _, data: (200, layer()) if data is None else (401, b"urn:mediajobs:problem:unauthorized"),
    )
    assert (
        Level.FAULT,
        "http://jobs.example.org/v1/webhooks is not https: set PublicBaseUrl to an https:// address",
    ) in (found(checks.webhooks, plain))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OSError("name not known"), "nothing answers"),
        ((404, b"<html>Not here</html>"), "does PublicBaseUrl lead to its stage?"),
        ((200, b"hello"), "not as this API"),
    ],
)
def test_address_that_does_not_lead_here_is_a_fault(aws: Aws, answer: Any, words: str) -> None:
    """Providers would call in vain, and jobs be polled."""

    def elsewhere(url: str, data: bytes | None) -> tuple[int, bytes]:
        if data is None:
            return 200, layer()
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return status, body

    ((level, text),) = found(checks.webhooks, deployed(aws, get=elsewhere))
    assert level is Level.FAULT
    assert words in text


def test_alarm_mail_that_nobody_confirmed_is_a_fault(aws: Aws) -> None:
    """Alarms were asked for, and reach nobody."""
    waiting = [{"SubscriptionArn": "PendingConfirmation", "Endpoint": "me@example.org"}]
    aws.answers["list_subscriptions_by_topic"] = {"Subscriptions": waiting}
    ((level, text),) = found(checks.alarms, deployed(aws))
    assert level is Level.FAULT
    assert "me@example.org has not confirmed" in text


def test_alarm_that_is_on_is_told(aws: Aws) -> None:
    """With its own words."""
    on = {"AlarmName": "jobs-AttentionAlarm-1", "StateValue": "ALARM", "AlarmDescription": "A job needs a decision."}
    aws.answers["describe_alarms"] = {"MetricAlarms": [on]}
    assert (Level.NOTE, "jobs-AttentionAlarm-1 is on: A job needs a decision.") in found(checks.alarms, deployed(aws))


def test_table_without_expiry_or_recovery_is_told(aws: Aws) -> None:
    """The first costs for ever, the second when it is too late."""
    aws.answers["describe_time_to_live"] = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    aws.answers["describe_continuous_backups"] = {"ContinuousBackupsDescription": {}}
    levels = [level for level, _ in found(checks.tables, deployed(aws))]
    assert levels == [Level.FAULT, Level.FAULT, Level.NOTE]


def test_source_that_is_off_is_a_fault(aws: Aws) -> None:
    """Jobs would stand still without an error anywhere."""
    aws.answers["list_event_source_mappings"] = {"EventSourceMappings": [{"State": "Disabled"}]}
    aws.answers["get_schedule"] = {"State": "DISABLED"}
    told = found(checks.sources, deployed(aws))
    assert [level for level, _ in told] == [Level.FAULT] * 4
    assert [text.split(":")[0].rpartition(" ")[2] for _, text in told] == ["relay", "dispatch", "store", "reconcile"]


def test_messages_that_were_given_up_are_told(aws: Aws) -> None:
    """They wait for a person."""
    aws.answers["get_queue_attributes"] = {"Attributes": {"ApproximateNumberOfMessages": "3"}}
    assert any("3 messages in the dead-letter queue" in text for _, text in found(checks.sources, deployed(aws)))


def test_open_questions_are_counted(aws: Aws) -> None:
    """One for each of the index's shards here."""
    aws.answers["questions"] = [{"pk": {"S": "J#a"}, "att_at": {"S": "1#a"}}]
    (finding,) = checks.waiting(deployed(aws))
    assert finding.text.startswith("8 open: GET /v1/jobs?attention=true")


def test_paused_provider_is_told(aws: Aws) -> None:
    """Nothing is submitted to it meanwhile."""
    pause = {"pk": {"S": "S#example"}, "sk": {"S": "pause"}, "reason": {"S": "blocked"}, "until": {"N": "1"}}
    aws.answers["provider_rows"] = [pause | {"revision": {"N": "1"}}]
    told = [finding for finding in checks.waiting(deployed(aws)) if finding.subject == "provider"]
    assert told == [
        Finding(
            Level.NOTE,
            "provider",
            "example is paused (blocked): GET /v1/providers/example says until when and why",
        )
    ]


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DescribeAlarms"),
        OSError("no network"),
        ConfigurationError("providers.toml: wrong"),
    ],
)
def test_one_thing_that_cannot_be_read_hides_nothing_else(aws: Aws, error: Exception) -> None:
    """A person without every right still learns the rest."""
    aws.answers["describe_alarms"] = error
    findings = list(doctor.examine(deployed(aws)))
    assert any(finding.text == f"could not be looked at: {error}" for finding in findings)
    assert any(finding.subject == "table" for finding in findings)


def test_stack_of_something_else_is_refused(aws: Aws) -> None:
    """Its outputs are not those of this product."""
    aws.answers["describe_stacks"] = {"Stacks": [{"StackStatus": "ROLLBACK_COMPLETE"}]}
    with pytest.raises(DeployedError, match="ROLLBACK_COMPLETE"):
        Stack.read(aws, "other")


def test_stack_that_is_not_there_is_named(aws: Aws) -> None:
    """In place of CloudFormation's own validation error."""
    refused = {"Error": {"Code": "ValidationError", "Message": "Stack with id jobs does not exist"}}
    aws.answers["describe_stacks"] = ClientError(refused, "DescribeStacks")
    with pytest.raises(DeployedError, match="no stack 'jobs'"):
        Stack.read(aws, "jobs")
