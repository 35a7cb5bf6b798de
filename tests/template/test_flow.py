"""Queues, stream, schedule and topic: what carries work between functions, and what happens when it fails."""

import json
from typing import Any

import pytest

from mediajobs.adapters.http import WITHIN_A_CALL
from mediajobs.backoff import JITTER
from mediajobs.callbacks import LIFE_MS, LONGEST_WAIT_MS
from mediajobs.jobs.due import LEASE_MS
from tests.template.reading import events, functions, of_type, text

QUEUES = {"DispatchQueue": "Dispatch", "StoreQueue": "Store", "UrgentQueue": "Store"}
CONSUMED = QUEUES | {"NotifyQueue": "Notify"}
FOURTEEN_DAYS = 14 * 24 * 3600


@pytest.fixture
def queues(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(template, "AWS::SQS::Queue")


@pytest.mark.parametrize("queue", CONSUMED)
def test_message_stays_hidden_longer_than_its_function_runs(
    template: dict[str, Any], queues: dict[str, dict[str, Any]], queue: str
) -> None:
    """AWS refuses the mapping otherwise, and a message would be worked on twice at once."""
    assert queues[queue]["VisibilityTimeout"] > functions(template)[CONSUMED[queue]]["Timeout"]


def test_redelivered_message_finds_the_lease_over(template: dict[str, Any], queues: dict[str, dict[str, Any]]) -> None:
    """Dispatch's timeout < the claim's lease < the visibility timeout, with the lease that the code has."""
    lease_s = LEASE_MS / 1000
    assert functions(template)["Dispatch"]["Timeout"] < lease_s < queues["DispatchQueue"]["VisibilityTimeout"]


def test_queues_have_the_times_decided(queues: dict[str, dict[str, Any]]) -> None:
    """90 s and 910 s, 14 days."""
    assert queues["DispatchQueue"]["VisibilityTimeout"] == 90
    assert queues["StoreQueue"]["VisibilityTimeout"] == queues["UrgentQueue"]["VisibilityTimeout"] == 910
    for name, properties in queues.items():
        assert properties["MessageRetentionPeriod"] == FOURTEEN_DAYS, name
        assert properties["SqsManagedSseEnabled"] is True, name


@pytest.mark.parametrize("queue", QUEUES)
def test_queue_gives_up_after_twenty_receives(queues: dict[str, dict[str, Any]], queue: str) -> None:
    """All to one dead-letter queue; steps raise their own question at the tenth."""
    assert queues[queue]["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": "DeadLetterQueue.Arn"},
        "maxReceiveCount": 20,
    }
    assert "FifoQueue" not in queues[queue]


def test_consumers_report_each_message_by_itself(template: dict[str, Any]) -> None:
    """One message at a time; a failure is reported, not raised, so Lambda does not slow the mapping down."""
    for name, event in events(template, "SQS"):
        assert event["BatchSize"] == 1, name
        assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"], name


def _concurrency(event: dict[str, Any]) -> Any:
    condition, aws, local = event["ScalingConfig"]["Fn::If"]
    assert (condition, local) == ("OnAws", {"Ref": "AWS::NoValue"})
    return aws["MaximumConcurrency"]


def test_dispatch_runs_as_often_at_once_as_its_event_source_asks(template: dict[str, Any]) -> None:
    """Less reserved than the source may start makes throttles, and throttles make dead letters."""
    (event,) = [event for name, event in events(template, "SQS") if name == "Dispatch"]
    bound = {"Fn::If": ["DispatchAsInFlight", {"Ref": "MaxInFlight"}, {"Ref": "DispatchConcurrency"}]}
    assert _concurrency(event) == bound
    assert functions(template)["Dispatch"]["ReservedConcurrentExecutions"] == {
        "Fn::If": ["Reserved", bound, {"Ref": "AWS::NoValue"}]
    }


def test_store_is_bounded_but_reserves_nothing(template: dict[str, Any]) -> None:
    """Only dispatch reserves: an account has few to give."""
    sources = {text(event["Queue"]): event for name, event in events(template, "SQS") if name == "Store"}
    assert sources.keys() == {"StoreQueue.Arn", "UrgentQueue.Arn"}  # each has its own: urgent ones wait for no other
    for event in sources.values():
        assert _concurrency(event) == {"Ref": "MaxInFlight"}
    reserving = [name for name, p in functions(template).items() if "ReservedConcurrentExecutions" in p]
    assert reserving == ["Dispatch"]


def test_queue_consumers_are_left_alone_by_the_recursion_guard(template: dict[str, Any]) -> None:
    """A job may pass a queue many times; the claim is the guard."""
    assert {name for name, p in functions(template).items() if p.get("RecursiveLoop") == "Allow"} == {
        "Dispatch",
        "Store",
    }


def test_relay_sees_exactly_the_writes_that_have_something_to_tell(template: dict[str, Any]) -> None:
    """`out` exists; no old image and no event name, which are not documented as filterable."""
    ((name, event),) = events(template, "DynamoDB")
    (pattern,) = [json.loads(each["Pattern"]) for each in event["FilterCriteria"]["Filters"]]
    assert name == "Relay"
    assert pattern == {"dynamodb": {"NewImage": {"out": {"S": [{"exists": True}]}}}}
    assert event["Stream"] == {"Fn::GetAtt": "Table.StreamArn"}
    assert event["StartingPosition"] == "TRIM_HORIZON"
    assert template["Resources"]["Table"]["Properties"]["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}


def test_poison_record_stalls_its_shard_for_an_hour_at_most(template: dict[str, Any]) -> None:
    """Five tries, halved batches, then the dead-letter queue; the job's due_at does the rest."""
    ((_, event),) = events(template, "DynamoDB")
    assert event["MaximumRetryAttempts"] == 5
    assert event["MaximumRecordAgeInSeconds"] == 3600
    assert event["BisectBatchOnFunctionError"] is True
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert event["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": "DeadLetterQueue.Arn"}}}
    assert 10 <= event["BatchSize"] <= 25
    assert 1 < event["ParallelizationFactor"] <= 10


def test_reconcile_runs_each_minute_and_old_runs_do_not_pile_up(template: dict[str, Any]) -> None:
    """Neither Scheduler nor Lambda's own queue repeats a run; the next one is a minute away."""
    ((name, event),) = events(template, "ScheduleV2")
    assert name == "Reconcile"
    assert event["ScheduleExpression"] == "rate(1 minute)"
    assert event["RetryPolicy"] == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}
    assert functions(template)[name]["EventInvokeConfig"] == event["RetryPolicy"]
    assert json.loads(event["Input"]) == {"scheduled_time": "<aws.scheduler.scheduled-time>"}


def test_schedule_gets_a_name_of_its_stack(template: dict[str, Any]) -> None:
    """SAM's own name is the same in every stack, so a second deployment in an account would fail."""
    ((_, event),) = events(template, "ScheduleV2")
    assert event["OmitName"] is True
    assert "Name" not in event


def test_topic_keeps_order_per_job_and_takes_ids_from_us(template: dict[str, Any]) -> None:
    """FIFO with message-group throughput, encrypted, no deduplication by content."""
    topic = template["Resources"]["Topic"]["Properties"]
    assert topic["TopicName"] == {"Fn::Sub": "${AWS::StackName}-jobs.fifo"}
    assert topic["FifoTopic"] is True
    assert topic["ContentBasedDeduplication"] is False
    assert topic["FifoThroughputScope"] == "MessageGroup"
    assert topic["KmsMasterKeyId"] == "alias/aws/sns"


def test_what_the_subscriber_refuses_is_kept(template: dict[str, Any]) -> None:
    """SNS drops a message at once that a queue's policy refuses; for FIFO the queue that keeps it is FIFO too."""
    resources = template["Resources"]
    subscription = resources["Subscription"]["Properties"]
    assert subscription["RawMessageDelivery"] is True
    assert subscription["RedrivePolicy"] == {"deadLetterTargetArn": {"Fn::GetAtt": "UndeliveredQueue.Arn"}}
    assert resources["UndeliveredQueue"]["Properties"]["FifoQueue"] is True
    (statement,) = resources["UndeliveredQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert text(statement["Resource"]) == "UndeliveredQueue.Arn"
    assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": "Topic"}}}
    for name in ("Subscription", "UndeliveredQueue", "UndeliveredQueuePolicy", "UndeliveredAlarm"):
        assert resources[name]["Condition"] == "HasSubscriber"


def test_notify_is_bounded_and_takes_one_event_at_a_time(template: dict[str, Any]) -> None:
    """Receivers that hang can hold ten functions at most, for ten seconds each."""
    (event,) = [event for name, event in events(template, "SQS") if name == "Notify"]
    assert _concurrency(event) == 10
    assert functions(template)["Notify"]["Timeout"] >= 2 * WITHIN_A_CALL.answer_s
    assert "RecursiveLoop" not in functions(template)["Notify"]


def test_an_event_outlives_its_three_days(queues: dict[str, dict[str, Any]]) -> None:
    """Retention is longer than its life; the receive count ends it much later than notify does."""
    queue = queues["NotifyQueue"]
    assert queue["MessageRetentionPeriod"] * 1000 > LIFE_MS
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": "NotifyDeadLetterQueue.Arn"},
        "maxReceiveCount": 1000,
    }
    assert LONGEST_WAIT_MS * (1 + JITTER) < 12 * 3_600_000  # the longest that SQS hides a message
    assert "FifoQueue" not in queue


def test_nothing_feeds_notify_until_somebody_is_registered(template: dict[str, Any]) -> None:
    """No subscription of its queue stands in the template; the topic alone may send to it."""
    endpoints = [text(each["Endpoint"]) for each in of_type(template, "AWS::SNS::Subscription").values()]
    assert endpoints == ["SubscriberQueueArn", "AlarmEmail"]
    (statement,) = template["Resources"]["NotifyQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": "Topic"}}}
