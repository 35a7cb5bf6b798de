"""Alarms: what an operator is told, and that silence is not mistaken for health."""

from typing import Any

import pytest

from tests.template.reading import ROOT, environment, of_type

OURS = (
    "ReconcileSilentAlarm",
    "AttentionAlarm",
    "ProviderPausedAlarm",
    "PollBlockedAlarm",
    "WebhookMisconfiguredAlarm",
)
ALL = (*OURS, "DeadLetterAlarm", "RelayBehindAlarm", "ApiErrorsAlarm", "UndeliveredAlarm", "CallbackDeadLetterAlarm")


@pytest.fixture
def alarms(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(template, "AWS::CloudWatch::Alarm")


def test_alarms_are_those_the_design_asks_for(alarms: dict[str, dict[str, Any]]) -> None:
    """Heartbeat, attention, paused provider, refused polls, dead letters, relay, API, undelivered, callbacks."""
    assert set(alarms) == set(ALL)


def test_missing_heartbeat_is_an_alarm(alarms: dict[str, dict[str, Any]]) -> None:
    """A reconcile that does not run sends no data at all."""
    alarm = alarms["ReconcileSilentAlarm"]
    assert alarm["TreatMissingData"] == "breaching"
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("MediaJobs", "ReconcileRuns", "Sum")
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["Period"] * alarm["EvaluationPeriods"] <= 600


@pytest.mark.parametrize("name", [name for name in ALL if name != "ReconcileSilentAlarm"])
def test_other_alarms_take_no_data_for_no_trouble(alarms: dict[str, dict[str, Any]], name: str) -> None:
    """An idle product is quiet, and the first event is enough to alarm where one is one too many."""
    assert alarms[name]["TreatMissingData"] == "notBreaching"
    assert alarms[name]["ComparisonOperator"] in ("GreaterThanThreshold", "GreaterThanOrEqualToThreshold")


@pytest.mark.parametrize("name", ALL)
def test_alarm_tells_the_alarm_topic_both_ways(alarms: dict[str, dict[str, Any]], name: str) -> None:
    """One topic, when it goes off and when it is over, with a sentence that says what to do."""
    assert alarms[name]["AlarmActions"] == [{"Ref": "AlarmTopic"}] == alarms[name]["OKActions"]
    assert len(alarms[name]["AlarmDescription"]) > 20


@pytest.mark.parametrize("name", OURS)
def test_own_metrics_are_looked_for_where_powertools_puts_them(
    template: dict[str, Any], alarms: dict[str, dict[str, Any]], name: str
) -> None:
    """Namespace and the one dimension `service`: a metric with another set of dimensions is another metric."""
    seen = environment(template, "Reconcile")
    assert alarms[name]["Namespace"] == seen["POWERTOOLS_METRICS_NAMESPACE"]
    assert alarms[name]["Dimensions"] == [{"Name": "service", "Value": seen["POWERTOOLS_SERVICE_NAME"]}]


@pytest.mark.parametrize("name", OURS)
def test_own_metrics_are_counted_by_the_code(alarms: dict[str, dict[str, Any]], name: str) -> None:
    """An alarm on a name nobody counts never goes off, or always does."""
    counted = f'"{alarms[name]["MetricName"]}"'
    assert any(counted in path.read_text() for path in (ROOT / "shared" / "mediajobs").rglob("*.py"))


def test_alarm_topic_takes_alarms_and_is_readable_to_cloudwatch(template: dict[str, Any]) -> None:
    """CloudWatch cannot publish to a topic under the key that AWS manages, so this one has none."""
    resources = template["Resources"]
    assert "KmsMasterKeyId" not in resources["AlarmTopic"].get("Properties", {})
    (statement,) = resources["AlarmTopicPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == "sns:Publish"
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_alarm_email_is_subscribed_only_where_one_is_given(template: dict[str, Any]) -> None:
    """An empty address is not an endpoint."""
    subscription = template["Resources"]["AlarmSubscription"]
    assert subscription["Condition"] == "HasAlarmEmail"
    assert subscription["Properties"]["Endpoint"] == {"Ref": "AlarmEmail"}
