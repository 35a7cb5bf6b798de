"""Parameters and outputs: few to understand, each explained, each with a default that deploys."""

import re
import tomllib
from typing import Any

import pytest

from tests.template.reading import ROOT, functions

OUTPUTS = {
    "ApiUrl", "ApiId", "StageName", "WebhookUrlPattern", "ProviderSecretPrefix", "TopicArn", "AlarmTopicArn",
    "TableName", "IdempotencyTableName", "BucketName", "DispatchQueueUrl", "StoreQueueUrl", "UrgentQueueUrl",
    "DeadLetterQueueUrl", "UndeliveredQueueUrl", "LiveApiId",
    "NotifyQueueUrl", "NotifyDeadLetterQueueUrl",
}  # fmt: skip


@pytest.fixture
def parameters(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = template["Parameters"]
    return declared


def _groups(template: dict[str, Any]) -> list[list[str]]:
    return [group["Parameters"] for group in template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]]


def test_first_time_user_must_understand_eight_at_most(template: dict[str, Any]) -> None:
    """The rest is labelled advanced."""
    first, advanced = _groups(template)
    labels = [
        group["Label"]["default"] for group in template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    ]
    assert len(first) <= 8
    assert "MaxInFlight" in first
    assert "Local" in advanced
    assert labels[1].startswith("Advanced")


def test_every_parameter_stands_in_one_group_and_is_explained(
    template: dict[str, Any], parameters: dict[str, dict[str, Any]]
) -> None:
    """A parameter outside the groups shows up nameless at the end of the console's page."""
    grouped = [name for group in _groups(template) for name in group]
    assert sorted(grouped) == sorted(parameters)
    for name, parameter in parameters.items():
        assert len(parameter["Description"]) > 20, name


def test_every_parameter_has_a_default_that_it_allows(parameters: dict[str, dict[str, Any]]) -> None:
    """`sam deploy` without a word deploys."""
    for name, parameter in parameters.items():
        default = parameter["Default"]
        assert default in parameter.get("AllowedValues", [default]), name
        assert re.fullmatch(parameter.get("AllowedPattern", ".*"), str(default)), name
        if parameter["Type"] == "Number" and "MinValue" in parameter:
            assert parameter["MinValue"] <= default <= parameter.get("MaxValue", default), name


def test_every_parameter_is_used(template: dict[str, Any], parameters: dict[str, dict[str, Any]]) -> None:
    """One that changes nothing misleads."""
    rest = str({key: value for key, value in template.items() if key not in ("Parameters", "Metadata")})
    for name in parameters:
        assert f"'Ref': '{name}'" in rest or f"${{{name}}}" in rest, name


PATTERNS = [
    ("PublicBaseUrl", "https://jobs.example.com", True),
    ("PublicBaseUrl", "http://127.0.0.1:8080", True),
    ("PublicBaseUrl", "https://example.com/jobs/api", True),
    ("PublicBaseUrl", "", True),
    ("PublicBaseUrl", "https://jobs.example.com/", False),
    ("PublicBaseUrl", "https://jobs.example.com/v1?x=1", False),
    ("PublicBaseUrl", "jobs.example.com", False),
    ("PublicBaseUrl", "https://jobs.example.com#top", False),
    ("LiveBaseUrl", "https://live.example.com", True),
    ("LiveBaseUrl", "http://127.0.0.1:8080", True),
    ("LiveBaseUrl", "https://live.example.com/", False),
    ("LiveBaseUrl", "wss://live.example.com", False),
    ("AlarmEmail", "operator@example.com", True),
    ("AlarmEmail", "operator", False),
    ("SubscriberQueueArn", "arn:aws:sqs:eu-west-1:123456789012:jobs.fifo", True),
    ("SubscriberQueueArn", "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:jobs", True),
    ("SubscriberQueueArn", "arn:aws:sns:eu-west-1:123456789012:jobs.fifo", False),
    ("SubscriberQueueArn", "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs", False),
]


@pytest.mark.parametrize(("name", "value", "fits"), PATTERNS)
def test_pattern_takes_what_works_and_refuses_what_would_not(
    parameters: dict[str, dict[str, Any]], name: str, value: str, fits: bool
) -> None:
    """A slip is refused before anything is created."""
    assert bool(re.fullmatch(parameters[name]["AllowedPattern"], value)) == fits


def test_defaults_are_those_of_the_design(parameters: dict[str, dict[str, Any]]) -> None:
    """DESIGN section 9."""
    assert {name: parameters[name]["Default"] for name in ("MaxInFlight", "ReserveConcurrency", "ResultDays")} == {
        "MaxInFlight": 10,
        "ReserveConcurrency": "true",
        "ResultDays": 30,
    }
    assert (parameters["JobDays"]["Default"], parameters["Runtime"]["Default"]) == (400, "python3.13")
    assert (parameters["Architecture"]["Default"], parameters["Local"]["Default"]) == ("arm64", "false")
    # An event source takes 2 at least; above 900 an account with the usual quota cannot reserve.
    assert (parameters["MaxInFlight"]["MinValue"], parameters["MaxInFlight"]["MaxValue"]) == (2, 900)


def test_dispatch_concurrency_of_one_is_refused(template: dict[str, Any]) -> None:
    """AWS takes 2 at least, and would say so only half-way through the deploy."""
    ((assertion,),) = [rule["Assertions"] for rule in template["Rules"].values()]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "DispatchConcurrency"}, "1"]}]}


def test_local_changes_wiring_only(template: dict[str, Any]) -> None:
    """The event sources' concurrency, the bucket's TLS rule, and who creates the Events API. Never behaviour: no
    function is told where it runs.
    """
    users = [name for name, resource in template["Resources"].items() if "'OnAws'" in str(resource)]
    assert users == ["Dispatch", "Store", "Notify", "BucketPolicy"]
    created = [name for name, resource in template["Resources"].items() if resource.get("Condition") == "CreatesLive"]
    assert created == ["LiveApi", "LiveChannels", "LiveAsksAuthorize"]
    for properties in functions(template).values():
        assert "'OnAws'" not in str({key: value for key, value in properties.items() if key != "Events"})
    assert "'OnAws'" not in str([template["Globals"], template["Outputs"]])
    assert "'Local'" not in str([template["Resources"], template["Globals"], template["Outputs"]])


def test_outputs_name_everything_an_operator_needs(template: dict[str, Any]) -> None:
    """Addresses, names and the prefix of the providers' secrets; the name of each function."""
    named = {f"{name}FunctionName" for name in functions(template)}
    assert set(template["Outputs"]) == OUTPUTS | named
    assert all(output["Description"] for output in template["Outputs"].values())


def test_output_names_the_address_that_dispatch_hands_out(template: dict[str, Any]) -> None:
    """What a person registers by hand is what the code builds."""
    base = functions(template)["Dispatch"]["Environment"]["Variables"]["CALLBACK_BASE"]
    assert template["Outputs"]["ApiUrl"]["Value"] == base
    given, own = template["Outputs"]["WebhookUrlPattern"]["Value"]["Fn::If"][1:]
    assert given["Fn::Sub"] == "${PublicBaseUrl}/v1/webhooks/{provider}/{ref}"
    assert own["Fn::Sub"] == base["Fn::If"][2]["Fn::Sub"] + "/v1/webhooks/{provider}/{ref}"


@pytest.fixture(scope="module")
def samconfig() -> dict[str, Any]:
    return tomllib.loads((ROOT / "samconfig.toml").read_text())


def test_samconfig_has_three_environments(samconfig: dict[str, Any]) -> None:
    """local, dev and prod, each with a stack of its own."""
    environments = {name: section for name, section in samconfig.items() if isinstance(section, dict)}
    assert set(environments) == {"local", "dev", "prod"}
    names = {section["global"]["parameters"]["stack_name"] for section in environments.values()}
    assert len(names) == 3
    assert samconfig["prod"]["deploy"]["parameters"]["confirm_changeset"] is True


def test_samconfig_gives_parameters_that_exist(
    samconfig: dict[str, Any], parameters: dict[str, dict[str, Any]]
) -> None:
    """An unknown name is dropped by sam without a word."""
    for environment in ("local", "dev", "prod"):
        for given in samconfig[environment]["deploy"]["parameters"].get("parameter_overrides", []):
            name, value = given.split("=", 1)
            allowed = parameters[name].get("AllowedValues", [value])
            assert value in [str(each) for each in allowed], given


def test_samconfig_names_no_place_of_this_machine(samconfig: dict[str, Any]) -> None:
    """Neither an absolute path nor a host."""
    assert not re.search(r"(^|[\s\"'=])/|://|[a-z0-9-]+\.(org|com|io|net)\b", str(samconfig))
