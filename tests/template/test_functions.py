"""Each function stands in the template as it stands in the repository, with the settings DESIGN section 9 gives."""

import dataclasses
import re
from typing import Any

import pytest

from mediajobs.config import Config
from mediajobs.log import NAMESPACE, SERVICE
from tests.template.reading import ROOT, environment, events, functions

NAMES = ("Authorize", "Submit", "Jobs", "Relay", "Dispatch", "Webhook", "Reconcile", "Store", "Notify")
WIRING = ROOT / "shared" / "mediajobs" / "wiring.py"


def test_functions_written_and_declared_are_the_same(template: dict[str, Any]) -> None:
    """Every functions/<name>/app.py is deployed, and nothing is deployed that is not there."""
    written = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}
    declared = {properties["CodeUri"].strip("/").split("/")[-1] for properties in functions(template).values()}
    assert declared == written


@pytest.mark.parametrize("name", NAMES)
def test_function_follows_the_layout(template: dict[str, Any], name: str) -> None:
    """Code in functions/<name>/, logs in a group of its own that expires."""
    properties = functions(template)[name]
    assert properties["CodeUri"] == f"functions/{name.lower()}/"
    group = template["Resources"][properties["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]
    assert group["LogGroupName"] == {"Fn::Sub": f"/${{AWS::StackName}}/{name.lower()}"}
    assert group["RetentionInDays"] == {"Ref": "LogDays"}


def test_all_functions_are_named_here(template: dict[str, Any]) -> None:
    """A new function must be looked at by the tests of this folder."""
    assert set(functions(template)) == set(NAMES)


def test_functions_share_runtime_layer_and_handler(template: dict[str, Any]) -> None:
    """One Python and one layer for all; no function leaves them."""
    common = template["Globals"]["Function"]
    assert common["Runtime"] == {"Ref": "Runtime"}
    assert common["Architectures"] == [{"Ref": "Architecture"}]
    assert common["Layers"] == [{"Ref": "SharedLayer"}]
    assert common["Handler"] == "app.handler"
    assert common["Tracing"] == "Active"
    for name, properties in functions(template).items():
        assert not {"Runtime", "Architectures", "Layers", "Handler", "Tracing"} & set(properties), name


def test_layer_is_built_from_shared_for_the_runtime(template: dict[str, Any]) -> None:
    """The build makes the layer for the Python and processor of the functions."""
    layer = template["Resources"]["SharedLayer"]
    assert layer["Properties"]["ContentUri"] == "shared/"
    assert layer["Metadata"] == {"BuildMethod": {"Ref": "Runtime"}, "BuildArchitecture": {"Ref": "Architecture"}}


def test_functions_behind_the_api_answer_before_it_gives_up(template: dict[str, Any]) -> None:
    """API Gateway waits 29 s; a function that may run longer would be cut after it has written."""
    behind = {name for name, _ in events(template, "Api")} | {"Authorize"}
    for name in behind:
        assert functions(template)[name]["Timeout"] <= 25, name


def test_timeouts_and_memory_are_those_decided(template: dict[str, Any]) -> None:
    """Dispatch 45 s in 192 to 256 MB, store 900 s."""
    declared = functions(template)
    assert declared["Dispatch"]["Timeout"] == 45
    assert 192 <= declared["Dispatch"]["MemorySize"] <= 256
    assert declared["Store"]["Timeout"] == 900
    assert declared["Reconcile"]["Timeout"] == 90


def test_every_function_counts_under_one_service_name(template: dict[str, Any]) -> None:
    """Powertools writes `service` into each metric; the alarms look for this one."""
    for name in NAMES:
        seen = environment(template, name)
        assert seen["POWERTOOLS_SERVICE_NAME"] == SERVICE
        assert seen["POWERTOOLS_METRICS_NAMESPACE"] == NAMESPACE


def test_variables_are_those_that_config_reads(template: dict[str, Any]) -> None:
    """Nothing is set that nobody reads, nothing is read that is not set."""
    given = {variable for name in NAMES for variable in environment(template, name)}
    read = {each.name for each in dataclasses.fields(Config)}
    # Read by mediajobs/log.py and by Powertools themselves.
    outside = {"LOG_LEVEL", "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE"}
    assert given - outside == read - outside


# What each port needs to be told; parts.py refuses to build it otherwise, at the first invocation.
PORTS = {
    "queues": {"DISPATCH_QUEUE_URL", "STORE_QUEUE_URL", "URGENT_QUEUE_URL"},
    "topic": {"TOPIC_ARN"},
    "once": {"IDEMPOTENCY_TABLE"},
    "secrets": {"SECRET_PREFIX"},
    "tokens": {"TOKENS_SECRET"},
    "objects": {"BUCKET"},
    "live": {"LIVE_URL"},
    "callbacks": {"TOPIC_ARN", "NOTIFY_QUEUE_URL", "NOTIFY_QUEUE_ARN", "NOTIFY_DEAD_LETTER_URL"},
}
# These two sign webhook URLs or know them again; one secret of "secrets" more.
ALSO = {"Dispatch": {"TOKENS_SECRET"}, "Webhook": {"TOKENS_SECRET"}}


@pytest.mark.parametrize("name", NAMES)
def test_function_is_told_what_its_ports_need(template: dict[str, Any], name: str) -> None:
    """And nothing that belongs to a port it does not have."""
    (ports,) = re.findall(rf'_lazy\("{name.lower()}", "([^"]*)"', WIRING.read_text())
    needed = {variable for port in ports.split() for variable in PORTS.get(port.rstrip("?"), ())}
    needed |= ALSO.get(name, set())
    told = set(environment(template, name)) & {variable for names in PORTS.values() for variable in names}
    assert told == needed


def test_callback_base_is_known_to_dispatch_alone(template: dict[str, Any]) -> None:
    """Only dispatch submits. A function behind the API that named the API would make a cycle."""
    having = {name for name in NAMES if "CALLBACK_BASE" in environment(template, name)}
    assert having == {"Dispatch"}


def test_callback_base_has_no_version_and_no_slash_at_its_end(template: dict[str, Any]) -> None:
    """The code appends /v1/webhooks/..., to PublicBaseUrl and to the API's own address alike."""
    condition, given, own = environment(template, "Dispatch")["CALLBACK_BASE"]["Fn::If"]
    stage = template["Resources"]["Api"]["Properties"]["StageName"]
    assert condition == "HasPublicBaseUrl"
    assert given == {"Ref": "PublicBaseUrl"}
    assert own["Fn::Sub"] == f"https://${{Api}}.execute-api.${{AWS::Region}}.${{AWS::URLSuffix}}/{stage}"
