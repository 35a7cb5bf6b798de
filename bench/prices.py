"""The price table, in one place: dollars per million in us-east-1, as of late 2026. A Region of yours may differ."""

from __future__ import annotations

from collections.abc import Mapping

WRITE_UNITS = 0.625  # DynamoDB on demand
READ_UNITS = 0.125
SQS = 0.40  # requests to a standard queue
SNS = 0.31  # publications to a FIFO topic, 0.30 and their data
REST_CALLS = 3.50  # API Gateway, REST
LIVE_EVENTS = 1.00  # AppSync Events, published; one more of the same for each 5 KB delivered to a subscriber

# What an event source mapping asks of SQS for one message, beside the send: receive and delete.
SQS_PER_MESSAGE = 2


def dollars(*, writes: float, reads: float, sqs: float, sns: float) -> dict[str, float]:
    """Dollars per million jobs, given what one job takes; `total` is what the budget is about."""
    parts = {
        "writes": writes * WRITE_UNITS,
        "reads": reads * READ_UNITS,
        "sqs": sqs * SQS,
        "sns": sns * SNS,
    }
    return parts | {"total": sum(parts.values())}


def rounded(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in parts.items()}
