"""Each function has a role of its own that allows what its job needs and nothing else."""

from typing import Any

import pytest

from mediajobs.adapters.callbacks import PARTITION
from tests.template.reading import environment, events, functions, granted, of_type, role_of, statements, text
from tests.template.test_functions import NAMES

# X-Ray knows no resources, so AWS takes only "*" for these two.
WITHOUT_RESOURCE = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
PROVIDER_SECRETS = (
    "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/providers/*"
)
RESULTS, UPLOADS, INPUTS = PREFIXES = tuple(f"${{Bucket.Arn}}/{name}/*" for name in ("results", "uploads", "inputs"))


def test_each_function_has_a_role_of_its_own(template: dict[str, Any]) -> None:
    """A shared role gives each what any of them needs."""
    assert [role_of(template, name) for name in NAMES] == [f"{name}Role" for name in NAMES]


def test_functions_bring_no_policies_besides_their_role(template: dict[str, Any]) -> None:
    """SAM turns `Policies` and event sources of a function without a role into managed policies with Resource "*"."""
    for name, properties in functions(template).items():
        assert not {"Policies", "PermissionsBoundary", "AssumeRolePolicyDocument"} & set(properties), name
    for name, properties in of_type(template, "AWS::IAM::Role").items():
        assert set(properties) == {"AssumeRolePolicyDocument", "Policies"}, name


@pytest.mark.parametrize("name", NAMES)
def test_role_is_taken_by_lambda_alone(template: dict[str, Any], name: str) -> None:
    """Nobody else may act as the function."""
    (statement,) = of_type(template, "AWS::IAM::Role")[f"{name}Role"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_no_role_allows_everything_of_anything(template: dict[str, Any]) -> None:
    """No wildcard action; a wildcard resource only for X-Ray, below a prefix of the bucket and of the own secrets."""
    for role in of_type(template, "AWS::IAM::Role"):
        for statement in statements(template, role):
            assert statement["Effect"] == "Allow"
            assert not [action for action in statement["Action"] if "*" in action], role
            for resource in map(text, statement["Resource"]):
                if set(statement["Action"]) <= WITHOUT_RESOURCE:
                    assert resource == "*", role
                else:
                    assert "*" not in resource or resource in (PROVIDER_SECRETS, *PREFIXES), role


@pytest.mark.parametrize("name", NAMES)
def test_role_writes_only_its_own_logs(template: dict[str, Any], name: str) -> None:
    """A function cannot write into another's log."""
    logs = {(action, resource) for action, resource in granted(template, name) if action.startswith("logs:")}
    assert logs == {("logs:CreateLogStream", f"{name}Logs.Arn"), ("logs:PutLogEvents", f"{name}Logs.Arn")}


def test_provider_secrets_are_read_by_those_who_call_or_verify_providers(template: dict[str, Any]) -> None:
    """Jobs answers people and holds none; nor does anything else."""
    readers = {name for name in NAMES if ("secretsmanager:GetSecretValue", PROVIDER_SECRETS) in granted(template, name)}
    assert readers == {"Dispatch", "Webhook", "Reconcile", "Store"}


def test_token_secret_is_read_by_those_who_make_or_check_tokens(template: dict[str, Any]) -> None:
    """Of webhook and input URLs and of live channels. A stranger who can read it can forge callbacks."""
    readers = {name for name in NAMES if ("secretsmanager:GetSecretValue", "Tokens.Id") in granted(template, name)}
    assert readers == {"Dispatch", "Webhook", "Jobs", "Authorize"}


def test_secrets_are_only_read(template: dict[str, Any]) -> None:
    """No function lists, writes or describes a secret."""
    used = {action for name in NAMES for action, _ in granted(template, name) if action.startswith("secretsmanager:")}
    assert used == {"secretsmanager:GetSecretValue"}


# A variable is given exactly to those whose role can use what it names.
NEEDS = {
    "IDEMPOTENCY_TABLE": ("dynamodb:PutItem", "IdempotencyTable.Arn"),
    "DISPATCH_QUEUE_URL": ("sqs:SendMessage", "DispatchQueue.Arn"),
    "STORE_QUEUE_URL": ("sqs:SendMessage", "StoreQueue.Arn"),
    "URGENT_QUEUE_URL": ("sqs:SendMessage", "UrgentQueue.Arn"),
    "SECRET_PREFIX": ("secretsmanager:GetSecretValue", PROVIDER_SECRETS),
    "TOKENS_SECRET": ("secretsmanager:GetSecretValue", "Tokens.Id"),
    "TABLE": ("dynamodb:GetItem", "Table.Arn"),
    "LIVE_URL": ("appsync:EventPublish", "${LiveApi.ApiArn}/channelNamespace/jobs"),
}


@pytest.mark.parametrize("variable", NEEDS)
def test_variable_and_permission_go_together(template: dict[str, Any], variable: str) -> None:
    """A name without the right fails on AWS only (the emulator asks for none); a right without the name is too much."""
    told = {name for name in NAMES if variable in environment(template, name)}
    allowed = {name for name in NAMES if NEEDS[variable] in granted(template, name)}
    assert told == allowed


def test_bucket_is_used_prefix_by_prefix(template: dict[str, Any]) -> None:
    """Store writes results and reads back what it joined, jobs reads them; submit puts uploads by its forms, looks at
    them, and copies them to the inputs, which jobs reads and nobody changes. Nobody lists.
    """
    pairs = {
        (name, action.removeprefix("s3:"), resource)
        for name in NAMES
        for action, resource in granted(template, name)
        if action.startswith("s3:")
    }
    storing = ("PutObject", "AbortMultipartUpload", "ListMultipartUploadParts", "GetObject", "DeleteObject")
    assert pairs == {
        *(("Store", action, RESULTS) for action in storing),
        ("Jobs", "GetObject", RESULTS),
        ("Jobs", "GetObject", INPUTS),
        ("Submit", "PutObject", UPLOADS),
        ("Submit", "GetObject", UPLOADS),
        ("Submit", "PutObject", INPUTS),
    }
    assert {name for name in NAMES if "BUCKET" in environment(template, name)} == {"Jobs", "Store", "Submit"}


INDEXES = {
    "Jobs": {"list", "attention"},
    "Relay": {"wait"},
    "Dispatch": {"wait"},
    "Reconcile": {"due", "wait"},
}


@pytest.mark.parametrize("name", NAMES)
def test_indexes_are_named_one_by_one(template: dict[str, Any], name: str) -> None:
    """Each function queries the indexes of its job; a right on an index that does not exist is a slip."""
    used = {
        resource.removeprefix("${Table.Arn}/index/")
        for action, resource in granted(template, name)
        if action == "dynamodb:Query" and "/index/" in resource
    }
    assert used == INDEXES.get(name, set())
    assert used <= {
        index["IndexName"] for index in template["Resources"]["Table"]["Properties"]["GlobalSecondaryIndexes"]
    }


def test_tables_are_never_scanned_or_changed(template: dict[str, Any]) -> None:
    """Item by item, or by key; nobody alters a table."""
    used = {action for name in NAMES for action, _ in granted(template, name) if action.startswith("dynamodb:")}
    reading = {"GetItem", "BatchGetItem", "Query"}
    writing = {"PutItem", "UpdateItem", "DeleteItem"}
    stream = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
    assert used == {f"dynamodb:{verb}" for verb in reading | writing | stream}


# Rows of slots, rounds and pauses are changed and deleted; a head and what stands beside it are put.
WRITES = {
    "Authorize": set[str](),
    "Submit": {"PutItem"},
    "Relay": {"PutItem"},
    "Store": {"PutItem"},
    "Notify": {"PutItem"},
    **{name: {"PutItem", "UpdateItem", "DeleteItem"} for name in ("Jobs", "Dispatch", "Webhook", "Reconcile")},
}


@pytest.mark.parametrize("name", NAMES)
def test_jobs_are_written_as_each_function_has_to(template: dict[str, Any], name: str) -> None:
    used = {action.removeprefix("dynamodb:") for action, what in granted(template, name) if what == "Table.Arn"}
    assert used & {"PutItem", "UpdateItem", "DeleteItem"} == WRITES[name]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"Authorize", "Notify"}))
def test_keys_and_callbacks_are_out_of_reach(template: dict[str, Any], name: str) -> None:
    """What strangers send to submit or webhook must not become an API key, or tell where results are called out to."""
    about_jobs = [s for s in statements(template, f"{name}Role") if "Table.Arn" in map(text, s["Resource"])]
    assert about_jobs
    for statement in about_jobs:
        assert statement["Condition"] == {"ForAllValues:StringNotLike": {"dynamodb:LeadingKeys": ["K#*", "C#*"]}}
    assert PARTITION.startswith("C#")


def test_who_reads_jobs_may_read_what_stands_beside_them(template: dict[str, Any]) -> None:
    """Long links and outputs do. Submit too meets them: in the job that a repeated Idempotency-Key finds."""
    readers = {name for name in NAMES if ("dynamodb:GetItem", "Table.Arn") in granted(template, name)}
    whole = {name for name in NAMES if ("dynamodb:BatchGetItem", "Table.Arn") in granted(template, name)}
    assert readers - {"Authorize", "Notify"} == whole  # these two see no job


def test_authorize_reads_api_keys_only(template: dict[str, Any]) -> None:
    """It stands before every request, so it must not be able to show a job. cli/keys.py writes the same prefix."""
    (statement,) = [s for s in statements(template, "AuthorizeRole") if "dynamodb:GetItem" in s["Action"]]
    assert statement["Action"] == ["dynamodb:GetItem"]
    assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["K#*"]}}


def test_consumers_may_take_from_their_queue_alone(template: dict[str, Any]) -> None:
    """Lambda polls with the function's role."""
    consumers: dict[str, set[str]] = {}
    for name, event in events(template, "SQS"):
        consumers.setdefault(name, set()).add(text(event["Queue"]))
    assert consumers == {
        "Dispatch": {"DispatchQueue.Arn"},
        "Store": {"StoreQueue.Arn", "UrgentQueue.Arn"},
        "Notify": {"NotifyQueue.Arn"},
    }
    taking = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}
    for name in NAMES:
        allowed = {pair for pair in granted(template, name) if pair[0] in taking}
        assert allowed == {(action, queue) for action in taking for queue in consumers.get(name, ())}


def test_relay_may_read_the_stream_and_hand_over_what_it_gives_up(template: dict[str, Any]) -> None:
    """Without the right to send to the dead-letter queue Lambda drops the record without a word."""
    allowed = granted(template, "Relay")
    for verb in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"):
        assert (f"dynamodb:{verb}", "Table.StreamArn") in allowed
    assert ("sqs:SendMessage", "DeadLetterQueue.Arn") in allowed


def test_dispatch_cannot_send_to_a_queue(template: dict[str, Any]) -> None:
    """Lambda stops a function that feeds its own queue at the 17th hop, so waiting goes through the table."""
    assert not [pair for pair in granted(template, "Dispatch") if pair[0] == "sqs:SendMessage"]


def test_topic_is_published_to_by_two_and_subscribed_to_by_notify(template: dict[str, Any]) -> None:
    """Notify makes its own subscription and filters it; it can neither publish nor take another's away."""
    may = {name: {action for action, what in granted(template, name) if what == "Topic"} for name in NAMES}
    subscribing = {"sns:ListSubscriptionsByTopic", "sns:Subscribe", "sns:SetSubscriptionAttributes"}
    publishing = {"sns:Publish"}
    assert {name: actions for name, actions in may.items() if actions} == {
        "Relay": publishing,
        "Reconcile": publishing,
        "Notify": subscribing,
    }
    assert {name for name in NAMES if "TOPIC_ARN" in environment(template, name)} == {"Relay", "Reconcile", "Notify"}


def test_notify_sees_registrations_only(template: dict[str, Any]) -> None:
    """It speaks to the world outside, so it must not be able to show a job; the prefix is that of its adapter."""
    used = [s for s in statements(template, "NotifyRole") if s["Action"][0].startswith("dynamodb:")]
    assert [s["Action"] for s in used] == [["dynamodb:GetItem", "dynamodb:Query"], ["dynamodb:PutItem"]]
    for statement in used:
        assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["C#*"]}}
    assert PARTITION.startswith("C#")


def test_notify_cannot_send_to_its_own_queue(template: dict[str, Any]) -> None:
    """Lambda would stop it at the 17th hop: it hides a message, and gives one up to the dead-letter queue."""
    sent_to = {resource for action, resource in granted(template, "Notify") if action == "sqs:SendMessage"}
    assert sent_to == {"NotifyDeadLetterQueue.Arn"}


def test_scheduler_may_start_reconcile_and_nothing_else(template: dict[str, Any]) -> None:
    """And only for a schedule of this account."""
    (event,) = [event for name, event in events(template, "ScheduleV2") if name == "Reconcile"]
    assert event["RoleArn"] == {"Fn::GetAtt": "TickRole.Arn"}
    (statement,) = statements(template, "TickRole")
    assert (statement["Action"], [text(r) for r in statement["Resource"]]) == (
        ["lambda:InvokeFunction"],
        ["Reconcile.Arn"],
    )
    (trust,) = template["Resources"]["TickRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
