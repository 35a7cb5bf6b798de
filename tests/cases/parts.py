"""What a deployment of the cases is made of: a provider's configuration, a Lambda context, a table with a stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mediajobs.adapters.http import Limits
from tests.contract import aws
from tests.hostile.server import Behaviour, Peer
from tests.steps.kit import Counters

CALLBACK = "https://jobs.example.com/api"
API_KEY = "sk-of-the-provider-account"
TOKENS = "signs-webhook-urls-in-the-cases-of-this-repository-only-00000000"
PROMPT = {"prompt": "a red bicycle leaning on a garden wall"}
PATIENT = Limits(connect_s=20.0, read_s=20.0, answer_s=30.0, stream_s=60.0)
QUICK = Limits(connect_s=2.0, read_s=0.3, answer_s=2.0, stream_s=10.0)  # where a peer is silent
PORTS = frozenset({"queues", "topic", "objects", "http", "providers", "secrets", "once", "create"})

# A provider without keys and without lookup: what cannot be proven there is never repaired by sending again.
TABLES = """
[providers.sim]
adapter = "generic"
base_url = "URL"
[providers.sim.submit]
path = "/v1/jobs"
model_field = "model"
input_field = "input"
webhook_field = "webhook_url"
reference_field = "reference"
[providers.sim.poll]
path = "/v1/jobs/{id}"
[providers.sim.cancel]
path = "/v1/jobs/{id}/cancel"
[providers.sim.read]
progress = "progress"
outputs = "outputs"
size = "size"
error_message = "error"
reference = "reference"
[providers.sim.webhook]
[providers.sim.statuses]
processing = "running"
completed = "succeeded"
failed = "failed"
[providers.sim.timing]
expected_s = 60
max_run_s = 3600
poll_floor_s = 120
[providers.sim.models]
video-1 = { kind = "video" }
image-1 = { kind = "image" }
audio-1 = { kind = "audio" }
"""
ON_THIS_MACHINE = "[providers.sim.results]\nallow_http = true\nallow_private = true\n"
KEYED = "[providers.sim.idempotency]\nkey_life_s = 86400\n"
LOOKED_UP = '[providers.sim.lookup]\npath = "/v1/lookup?reference={reference}"\nitems = "jobs"\n'

NUMBERS = itertools.count(1)


class Context:
    """What Lambda hands to a function, as far as it is read."""

    def __init__(self, remaining_ms: int = 30_000) -> None:
        self.aws_request_id = f"7d9d3c4a-0d0e-4b57-8f4e-{next(NUMBERS):012x}"
        self.function_name = "mediajobs"
        self._remaining_ms = remaining_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._remaining_ms


class Counts(Counters):
    """Implements `ports.Metrics`, and the flush at the end of an invocation."""

    def flush(self) -> None:
        """What was counted stays here."""


@dataclass(frozen=True)
class Sdk:
    """The clients of one account."""

    dynamodb: Any
    sqs: Any
    secrets: Any


class Table(aws.Faulty):
    """The job table's client; `images` is what the table's stream shows of its writes, from the first on."""

    def __init__(self, real: Any) -> None:
        super().__init__(real, lock=True)
        self.images: list[dict[str, Any]] = []

    def _call(self, operation: str, real: Callable[..., Any], params: dict[str, Any]) -> Any:
        def arrives(**given: Any) -> Any:
            answer = real(**given)
            puts = [given, *(entry.get("Put", {}) for entry in given.get("TransactItems", ()))]
            self.images += [put["Item"] for put in puts if put.get("Item", {}).get("sk") == {"S": "H"}]
            return answer

        return super()._call(operation, arrives, params)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """A route whose nth request meets the nth of these, then the last one again."""
    left = list(behaviours)

    def behave(peer: Peer) -> bool | None:
        return (left.pop(0) if len(left) > 1 else left[0])(peer)

    return behave
