"""What an operator would put into a new deployment by hand: provider secrets, API keys, a consumer's queue."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from local.stack.emulator import opener
from local.stack.places import Place, StackError


def subscriber_queue(sqs: Any, place: Place) -> tuple[str, str]:
    """URL and ARN of a FIFO queue for finished jobs, as a consumer of the product would bring it."""
    name = f"{place.stack_name}-subscriber.fifo"
    # The consumer in the demo looks at each message once; it must not come back while it does.
    url = sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true", "VisibilityTimeout": "60"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
        "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:sns:*:*:{place.stack_name}-*"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    return str(url), str(arn)


def provider_names(configuration: Path) -> list[str]:
    """The providers that a configuration names."""
    try:
        found = tomllib.loads(configuration.read_text()).get("providers", {})
    except tomllib.TOMLDecodeError as error:
        raise StackError(f"The provider configuration is not TOML: {error}.") from None
    return list(found)


def provider_credentials(provider_url: str) -> Mapping[str, Any]:
    """What the simulated provider gives its client at sign-up, by name."""
    with opener().open(f"{provider_url}/_config", timeout=10) as answer:
        credentials: dict[str, Any] = json.load(answer)["providers"]
    return credentials


def provider_secrets(secretsmanager: Any, prefix: str, names: Iterable[str], known: Mapping[str, Any]) -> list[str]:
    """Put the secret of each named provider; the names of those that the simulated provider knows nothing about."""
    unknown = []
    for name in names:
        if name in known:
            _put(secretsmanager, prefix + name, json.dumps(known[name]))
        else:
            unknown.append(name)
    return unknown


def _put(secretsmanager: Any, name: str, value: str) -> None:
    try:
        secretsmanager.create_secret(Name=name, SecretString=value)
    except secretsmanager.exceptions.ResourceExistsException:
        secretsmanager.put_secret_value(SecretId=name, SecretString=value)
