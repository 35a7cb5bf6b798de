"""A deployed stack as AWS describes it: names, parameters, and the provider configuration inside its layer.

    python -m cli.deployed --stack mediajobs-dev

prints the names that a person needs.
"""

import argparse
import io
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.providers.config import Configuration
from mediajobs.adapters.providers.loading import load

_LAYER_FILE = "python/providers.toml"
_TIMEOUT_S = 30
_SHOWN = ("ApiUrl", "WebhookUrlPattern", "ProviderSecretPrefix", "TableName", "BucketName", "TopicArn")

Get = Callable[[str, bytes | None], tuple[int, bytes]]


class DeployedError(Exception):
    """There is nothing to look at; the text says why."""


@dataclass(frozen=True)
class Stack:
    """What CloudFormation says of a stack."""

    name: str
    status: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    resources: Mapping[str, str]

    @classmethod
    def read(cls, cloudformation: Any, name: str) -> "Stack":
        try:
            (found,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):
                raise DeployedError(f"There is no stack {name!r} in this account and region.") from None
            raise
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}
        if "ProviderSecretPrefix" not in outputs:
            raise DeployedError(f"The stack {name!r} is {found['StackStatus']} and has not the outputs of Media Jobs.")
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
        return cls(
            name=name,
            status=found["StackStatus"],
            outputs=outputs,
            parameters={each["ParameterKey"]: each.get("ParameterValue", "") for each in found.get("Parameters", [])},
            resources={
                each["LogicalResourceId"]: each.get("PhysicalResourceId", "")
                for page in pages
                for each in page["StackResourceSummaries"]
            },
        )


@dataclass(frozen=True)
class Deployed:
    """A stack and the means to look into it. `get` answers a URL with status and body; with data it is a POST."""

    stack: Stack
    client: Callable[[str], Any]
    get: Get

    @cached_property
    def providers(self) -> Configuration:
        """The configuration inside the deployed layer: what the functions read, whatever stands in this folder."""
        functions = self.client("lambda")
        name = self.stack.outputs["DispatchFunctionName"]
        layer = functions.get_function_configuration(FunctionName=name)["Layers"][0]["Arn"]
        location = functions.get_layer_version_by_arn(Arn=layer)["Content"]["Location"]
        _, packed = self.get(location, None)
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return load(archive.read(_LAYER_FILE).decode(), "providers.toml of the deployed layer")


def get(url: str, data: bytes | None) -> tuple[int, bytes]:
    """Status and body, whatever the status; raises OSError where nobody answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=_TIMEOUT_S) as answer:
            return int(answer.status), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.deployed", description="What a stack's parts are called.")
    parser.add_argument("--stack", required=True, help="the CloudFormation stack, for example mediajobs-dev")
    try:
        stack = Stack.read(boto3.client("cloudformation"), parser.parse_args(arguments).stack)
    except (DeployedError, ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    for name in _SHOWN:
        print(f"{name:21} {stack.outputs[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
