"""template.yaml as plain data: short forms read as long ones, and the questions that the tests ask of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
Node = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """`!GetAtt A.B` reads as {"Fn::GetAtt": "A.B"}, `!Ref A` as {"Ref": "A"}."""


def _long_form(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> Node:
    name = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
    match node:
        case yaml.ScalarNode():
            return {name: loader.construct_scalar(node)}
        case yaml.SequenceNode():
            return {name: loader.construct_sequence(node, deep=True)}
        case yaml.MappingNode():
            return {name: loader.construct_mapping(node, deep=True)}
    raise AssertionError(f"unknown node {node!r}")


_Loader.add_multi_constructor("!", _long_form)


def load(path: Path = ROOT / "template.yaml") -> Node:
    document: Node = yaml.load(path.read_text(), Loader=_Loader)
    return document


def of_type(template: Node, kind: str) -> dict[str, Node]:
    """Properties of every resource of that type, by logical id."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def functions(template: Node) -> dict[str, Node]:
    return of_type(template, "AWS::Serverless::Function")


def environment(template: Node, function: str) -> dict[str, Any]:
    """What the function sees: its own variables and those of Globals."""
    own = functions(template)[function].get("Environment", {}).get("Variables", {})
    shared: Node = template["Globals"]["Function"]["Environment"]["Variables"]
    return {**shared, **own}


def events(template: Node, kind: str) -> Iterator[tuple[str, Node]]:
    """(function, properties) of every event of that type."""
    for name, properties in functions(template).items():
        for event in properties.get("Events", {}).values():
            if event["Type"] == kind:
                yield name, event.get("Properties", {})


def role_of(template: Node, function: str) -> str:
    """Logical id of the function's role."""
    attribute: str = functions(template)[function]["Role"]["Fn::GetAtt"]
    return attribute.removesuffix(".Arn")


def statements(template: Node, role: str) -> list[Node]:
    """Every statement of a role's inline policies, actions and resources as lists; conditional ones as they hold."""
    policies = template["Resources"][role]["Properties"]["Policies"]
    written = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    held = [each["Fn::If"][1] if "Fn::If" in each else each for each in written]
    return [
        {**statement, "Action": as_list(statement["Action"]), "Resource": as_list(statement["Resource"])}
        for statement in held
    ]


def granted(template: Node, function: str) -> set[tuple[str, str]]:
    """(action, resource) pairs that the function's role allows; a resource is the text inside its Sub or GetAtt."""
    return {
        (action, text(resource))
        for statement in statements(template, role_of(template, function))
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def text(value: Any) -> str:
    """A value, or what stands inside its one intrinsic function."""
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return str(value)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
