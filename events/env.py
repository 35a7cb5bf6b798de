"""events/env.json: every function's environment, with the names that a laptop stack gives.

After the stack's name CloudFormation puts a random end to most of them, so a filled copy is written by
`make sam-local`. This one shows which variables there are, and follows the template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local.stack.template import Template

TEMPLATE = Path(__file__).resolve().parents[1] / "template.yaml"
STACK = "mediajobs-local"
ENDPOINT = "http://127.0.0.1:4566"
GIVEN = {
    "Local": "true",
    "MaxInFlight": "4",
    "PublicBaseUrl": "http://127.0.0.1:8080",
    "CallbackHosts": "127.0.0.1",
    "LiveBaseUrl": "http://127.0.0.1:8080",
}

Name = Callable[[str], str]


def functions(template: Template) -> list[str]:
    """The names of all functions, as the template has them."""
    return [name for name, it in template.resources.items() if it["Type"] == "AWS::Serverless::Function"]


def environment(template: Template, function: str, name: Name) -> dict[str, str]:
    """What the function sees. `name` gives what stands for `Resource`, `Resource.Attribute` or `AWS::StackName`."""
    shared = template.document["Globals"]["Function"]["Environment"]["Variables"]
    own = (template.wanted(function, "Environment") or {"Variables": {}})["Variables"]
    return {key: str(_text(value, template, name)) for key, value in {**shared, **own}.items()}


def _text(value: Any, template: Template, name: Name) -> Any:
    if not isinstance(value, Mapping):
        return value
    ((kind, argument),) = value.items()
    if kind == "Ref":
        return _of(argument, template, name)
    if kind == "Fn::GetAtt":
        return name(".".join(argument))
    if kind == "Fn::Sub":
        return re.sub(r"\$\{([^}]+)\}", lambda found: str(_of(found[1], template, name)), argument)
    raise ValueError(f"{kind} is not understood here")


def _of(word: str, template: Template, name: Name) -> Any:
    if word in template.given:
        return template.given[word]
    if word in template.parameters:
        return template.parameters[word]["Default"]
    return name(word)


def laptop() -> dict[str, dict[str, str]]:
    """Every function's environment on a laptop stack, by the function's name in the template."""
    template = Template.load(TEMPLATE, GIVEN)
    credentials = {
        "AWS_ENDPOINT_URL": ENDPOINT,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    return {each: environment(template, each, _laptop_name) | credentials for each in functions(template)}


def _laptop_name(word: str) -> str:
    if word == "AWS::StackName":
        return STACK
    if word == "Tokens.Id":
        return f"{STACK}/tokens"
    if word == "Topic":
        return f"arn:aws:sns:us-east-1:000000000000:{STACK}-jobs.fifo"
    if word.endswith("Queue.Arn"):
        return f"arn:aws:sqs:us-east-1:000000000000:{STACK}-{word.removesuffix('.Arn')}"
    return f"{ENDPOINT}/000000000000/{STACK}-{word}" if word.endswith("Queue") else f"{STACK}-{word}"
