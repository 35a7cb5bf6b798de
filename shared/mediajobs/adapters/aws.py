"""What every AWS client of the product shares: time limits, and one translation of the SDK's errors."""

from __future__ import annotations

from collections import Counter
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError, IncompleteReadError  # noqa: A004

from mediajobs.errors import ConfigurationError, MediaJobsError, Retryable, Throttled, WriteConflict

CONNECT_S = 2
READ_S = 5
ATTEMPTS = 3

THROTTLES = frozenset(
    {
        "LimitExceededException",
        "OverLimit",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttled",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
CONFLICTS = frozenset({"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"})
MISSING = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchBucket",
        "NotFound",
        "NotFoundException",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException"})
PASSING = frozenset({"InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable"})
NO_ANSWER = (ConnectionError, HTTPClientError, IncompleteReadError)


def config(*, read_s: float = READ_S, attempts: int = ATTEMPTS) -> Config:
    """Limits under which one call ends before an API function's 25 s do, its resends included.

    The SDK's own defaults (60 s, five times) would outlive the caller, who then asks again.
    """
    return Config(
        connect_timeout=CONNECT_S,
        read_timeout=read_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
    )


def client(service: str, **options: Any) -> Any:
    """A client with those limits; `options` as `boto3.client` takes them (`endpoint_url`, `region_name`)."""
    options.setdefault("config", config())
    make: Any = boto3.client  # the stubs know one signature per service, not a service by name
    made = make(service, **options)
    made.meta.events.register("before-send", lambda **_: _count(service))
    return made


_requests: Counter[str] = Counter()


def _count(service: str) -> None:
    """Each request that leaves, resends included; the SDK takes no answer from here."""
    _requests[service] += 1


def taken_requests() -> dict[str, int]:
    """How many requests went to each service since this was asked last: what an invocation costs."""
    taken = dict(_requests)
    _requests.clear()
    return taken


def translated(error: ClientError | BotoCoreError, what: str) -> MediaJobsError:
    """The product's error for an SDK error; `what` names the call. Nothing above the adapters sees the SDK's.

    No answer is Retryable: the call may have been carried out, and every write of ours can be repeated.
    """
    if isinstance(error, ClientError):
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        passing = Retryable(f"{what}: {code or status}") if status >= 500 else None
        return of_code(code, what) or passing or MediaJobsError(f"{what}: {error}")
    if isinstance(error, NO_ANSWER):
        return Retryable(f"{what}: {type(error).__name__}")
    return MediaJobsError(f"{what}: {error}")


def of_code(code: str, what: str) -> MediaJobsError | None:
    """The product's error for an AWS error code or a transaction's cancellation reason, where there is one."""
    if code in THROTTLES:
        return Throttled(f"{what}: {code}")
    if code in CONFLICTS:
        return WriteConflict(f"{what}: {code}")
    if code in MISSING:
        return ConfigurationError(f"{what}: {code}. Check the name given to this function and the Region it runs in.")
    if code in DENIED:
        return ConfigurationError(f"{what}: {code}. This function's role does not allow the call.")
    if code in PASSING:
        return Retryable(f"{what}: {code}")
    return None
