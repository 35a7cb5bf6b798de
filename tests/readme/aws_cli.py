"""Stands in for the AWS CLI, which this project does not install: `aws <service> <operation> --<parameter> <value>`.

It takes the CLI's words, calls the API they mean and prints the answer as the CLI does. An operation or a parameter
that the API does not have is refused, so a command that the CLI would refuse fails here too.
"""

from __future__ import annotations

import json
import sys

import boto3


def main(words: list[str]) -> int:
    service, operation, *options = words
    client = boto3.client(service)  # type: ignore[call-overload]
    method = operation.replace("-", "_")
    shape = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method]).input_shape
    known = {_option(name): name for name in shape.members}
    names, values = options[::2], options[1::2]
    if len(names) != len(values) or not set(names) <= set(known):
        sys.stderr.write(f"Unknown options: {', '.join(sorted(set(names) - set(known)))}\n")
        return 252
    answer = getattr(client, method)(**{known[name]: value for name, value in zip(names, values, strict=True)})
    answer.pop("ResponseMetadata", None)
    sys.stdout.write(json.dumps(answer, indent=4, default=str) + "\n")
    return 0


def _option(name: str) -> str:
    """SecretString -> --secret-string."""
    return "--" + "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
