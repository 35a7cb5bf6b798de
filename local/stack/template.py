"""What template.yaml wants, with parameters and conditions put in: enough of CloudFormation to read a property back."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms; `!Ref x` reads as {"Ref": "x"}."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
        return {name: value.split(".", 1) if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {name: loader.construct_mapping(node, deep=True)}
    raise TypeError(f"a YAML node of an unknown kind: {node!r}")


_Loader.add_multi_constructor("!", _short_form)

# Dates are text in a template, as "2012-10-17" in a policy is.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

_ABSENT = object()


@dataclass(frozen=True)
class Template:
    """A template with the values its parameters were given."""

    document: dict[str, Any]
    given: Mapping[str, str]

    @classmethod
    def load(cls, path: Path, given: Mapping[str, str]) -> "Template":
        return cls(yaml.load(path.read_text(), Loader=_Loader), given)  # noqa: S506  # a SafeLoader with tags

    @property
    def parameters(self) -> Mapping[str, Any]:
        found: dict[str, Any] = self.document.get("Parameters", {})
        return found

    @property
    def resources(self) -> Mapping[str, Any]:
        """The resources whose condition holds."""
        return {
            name: resource
            for name, resource in self.document["Resources"].items()
            if "Condition" not in resource or self._holds(resource["Condition"])
        }

    def wanted(self, resource: str, name: str) -> Any:
        """A property's value, or None where the template leaves it out."""
        value = self._value(self.document["Resources"][resource].get("Properties", {}).get(name, _ABSENT))
        return None if value is _ABSENT else value

    def _parameter(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _ABSENT
        if name in self.given:
            return self.given[name]
        if name in self.parameters:
            return self.parameters[name]["Default"]
        return {"Ref": name}

    def _value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [value for item in node if (value := self._value(item)) is not _ABSENT]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((name, argument),) = node.items()
            if name == "Ref":
                return self._parameter(argument)
            if name == "Fn::If":
                condition, then, otherwise = argument
                return self._value(then if self._holds(condition) else otherwise)
        return {name: value for name, item in node.items() if (value := self._value(item)) is not _ABSENT}

    def _holds(self, condition: Any) -> bool:
        if isinstance(condition, str):
            return self._holds(self.document["Conditions"][condition])
        ((name, argument),) = condition.items()
        match name:
            case "Condition":
                return self._holds(argument)
            case "Fn::Not":
                return not self._holds(argument[0])
            case "Fn::And":
                return all(self._holds(each) for each in argument)
            case "Fn::Or":
                return any(self._holds(each) for each in argument)
            case "Fn::Equals":
                # Parameters are text to CloudFormation, whatever YAML made of them.
                left, right = (str(self._value(each)) for each in argument)
                return left == right
        raise ValueError(f"{name} is no condition")
