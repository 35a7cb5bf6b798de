"""No resource waits for itself. CloudFormation finds such a cycle only at deploy time."""

import copy
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest

from tests.template.reading import as_list, functions


def _named(node: Any) -> Iterator[str]:
    """Resources, parameters and pseudo parameters that a piece of template refers to."""
    if isinstance(node, list):
        for each in node:
            yield from _named(each)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("Ref", "Fn::GetAtt"):
                yield value.split(".")[0]
            elif key == "DependsOn":
                yield from as_list(value)
            elif key == "Fn::Sub":
                yield from re.findall(r"\$\{([\w:]+)", value)
            else:
                yield from _named(value)


def graph(template: dict[str, Any]) -> dict[str, set[str]]:
    """What each resource waits for, with what SAM adds: the API waits for its functions, an event for both."""
    known = set(template["Resources"])
    waits: dict[str, set[str]] = {}
    for name, resource in template["Resources"].items():
        properties = {key: value for key, value in resource.get("Properties", {}).items() if key != "Events"}
        waits[name] = known & set(_named({**resource, "Properties": properties}))
    for name, properties in functions(template).items():
        waits[name] |= known & set(_named(template["Globals"]["Function"]))
        for event, declared in properties.get("Events", {}).items():
            waits[name + event] = {name} | (known & set(_named(declared)))
            if declared["Type"] == "Api":
                waits["Api"].add(name)
    return waits


def test_no_resource_waits_for_itself(template: dict[str, Any]) -> None:
    """And the graph is the real one: it holds every resource and the edges that SAM adds."""
    waits = graph(template)
    order = list(TopologicalSorter(waits).static_order())
    assert set(template["Resources"]) <= set(order)
    assert "Webhook" in waits["Api"]
    assert "Api" in waits["Dispatch"]
    assert waits["Dispatch"] > {"DispatchRole", "SharedLayer", "Table"}


def test_function_behind_the_api_that_named_it_would_be_found(template: dict[str, Any]) -> None:
    """The mistake this guards against: the API's address in Globals."""
    spoiled = copy.deepcopy(template)
    spoiled["Globals"]["Function"]["Environment"]["Variables"]["BASE"] = {"Fn::Sub": "https://${Api}.example.com"}
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph(spoiled)).static_order())


def test_event_names_make_no_logical_id_that_exists(template: dict[str, Any]) -> None:
    """SAM joins function and event: Dispatch + Queue would be DispatchQueue."""
    made = [name + event for name, properties in functions(template).items() for event in properties.get("Events", {})]
    assert len(made) == len(set(made))
    assert not set(made) & set(template["Resources"])


def test_references_go_to_what_exists(template: dict[str, Any]) -> None:
    """Every Ref, GetAtt and Sub names a resource, a parameter or a pseudo parameter."""
    named = set(_named([template["Resources"], template["Globals"], template["Outputs"], template["Conditions"]]))
    known = set(template["Resources"]) | set(template["Parameters"])
    assert {name for name in named if not name.startswith("AWS::")} <= known


def test_conditions_that_are_used_are_declared(template: dict[str, Any]) -> None:
    """And those declared are used."""
    sections = str([template["Resources"], template["Outputs"]])
    used = set(re.findall(r"'(?:Condition': |Fn::If': \[)'(\w+)'", sections))
    assert used == set(template["Conditions"])
