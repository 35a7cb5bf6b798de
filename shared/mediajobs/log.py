"""What operators see: JSON lines and counters, both through Powertools.

Each invocation ends with one line, whatever happened in it, and carries the ids by which it is found: the Lambda
request (`invocation`), the gateway's request (`instance` in a problem), the job. Nothing secret gets in: fields are
refused by name, values are plain and bounded, and an exception of pydantic (whose text repeats what was sent) is
reduced to its type.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from mediajobs.clock import Clock
from mediajobs.errors import Problem

SERVICE = "mediajobs"
NAMESPACE = "MediaJobs"

_DENIED = frozenset(
    {
        "api_key",
        "authorization",
        "body",
        "cookie",
        "headers",
        "html",
        "input",
        "inputs",
        "link",
        "links",
        "password",
        "prompt",
        "request",
        "response",
        "secret",
        "secrets",
        "signature",
        "text",
        "token",
        "tokens",
        "url",
        "urls",
        "x_api_key",
    }
)
_DENIED_ENDS = ("_api_key", "_password", "_prompt", "_secret", "_secrets", "_signature", "_token", "_url", "_urls")
_WITHHELD = "(withheld)"

_LONGEST = 1000
_MOST = 50
_DEEPEST = 4
_FRAMES = 8

_JOB = re.compile(r"jobs/([a-z2-7]{26})")

# Names that the logging module keeps for itself.
_TAKEN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "level", "timestamp", "service"}

E = TypeVar("E")
R = TypeVar("R")
Function = Callable[[E, Any], R]


class FieldRefusedError(ValueError):
    """A field of a log line has a name under which secrets and prompts travel."""


class JsonLog:
    """Implements `ports.Log`. With `strict` a refused field raises, as it does in tests; else it is withheld."""

    def __init__(
        self,
        *,
        level: str | None = None,
        strict: bool = False,
        stream: IO[str] | None = None,
        service: str = SERVICE,
    ) -> None:
        self._strict = strict
        self._logger = Logger(
            service=service,
            level=level,
            stream=stream,
            utc=True,
            use_rfc3339=True,
            json_serializer=_line,
            location=None,  # it would always name this module
        )

    def info(self, message: str, **fields: object) -> None:
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, **fields: object) -> None:
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._write(logging.ERROR, message, fields)

    def bind(self, **fields: object) -> None:
        """Put these on every line until `unbind`."""
        self._logger.append_keys(**self._clean(fields))

    def unbind(self, *names: str) -> None:
        self._logger.remove_keys(names)

    def _write(self, level: int, message: str, fields: Mapping[str, object]) -> None:
        writer = {logging.INFO: self._logger.info, logging.WARNING: self._logger.warning}.get(level, self._logger.error)
        writer(message[:_LONGEST], extra=self._clean(fields))

    def _clean(self, fields: Mapping[str, object]) -> dict[str, object]:
        clean: dict[str, object] = {}
        for name, value in fields.items():
            shown = f"{name}_" if name in _TAKEN else name
            if _is_denied(name):
                clean[shown] = self._refuse(name)
            elif isinstance(value, BaseException):
                clean[shown] = _exception(value)
                clean["stack"] = _stack(value)
            elif value is not None:
                clean[shown] = self._plain(value, 1)
        return clean

    def _refuse(self, name: str) -> str:
        if self._strict:
            raise FieldRefusedError(name)
        return _WITHHELD

    def _plain(self, value: object, depth: int) -> object:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
        if depth < _DEEPEST and isinstance(value, Mapping):
            return {
                str(name): self._refuse(str(name)) if _is_denied(str(name)) else self._plain(one, depth + 1)
                for name, one in list(value.items())[:_MOST]
            }
        if depth < _DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
            return [self._plain(one, depth + 1) for one in list(value)[:_MOST]]
        return f"<{type(value).__name__}>"


class EmfMetrics:
    """Implements `ports.Metrics`: counts are summed up and written as CloudWatch embedded metrics by `flush`.

    Every count stands under the dimension `service` alone too, where the alarms look.
    """

    def __init__(self, *, service: str = SERVICE, namespace: str = NAMESPACE) -> None:
        self._service = service
        self._namespace = namespace
        self._lock = threading.Lock()  # reconcile counts from many threads
        self._counts: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        key = tuple(sorted((label, str(word)[:200].strip() or "none") for label, word in dimensions.items()))
        with self._lock:
            counts = self._counts.setdefault(key, {})
            counts[name] = counts.get(name, 0) + value

    def flush(self) -> None:
        """Write what was counted since the last time: one line for each set of dimensions."""
        with self._lock:
            counted, self._counts = self._counts, {}
        for dimensions, counts in counted.items():
            provider = AmazonCloudWatchEMFProvider(namespace=self._namespace, service=self._service)
            if dimensions:
                provider.add_dimensions(service=self._service, **dict(dimensions))
            for name, value in counts.items():
                provider.add_metric(name=name, unit=MetricUnit.Count, value=value)
            provider.flush_metrics()


def logged(
    handler: Function[E, R],
    *,
    name: str,
    log: JsonLog,
    metrics: EmfMetrics,
    clock: Clock,
    describe: Callable[[E, R], Mapping[str, object]] | None = None,
) -> Function[E, R]:
    """The handler, with one line at its end and its counts written, whether it answers or raises."""
    facts = describe or describe_event

    def run(event: E, context: Any) -> R:
        started = clock.now()
        log.bind(function=name, invocation=getattr(context, "aws_request_id", None))
        try:
            answer = handler(event, context)
        except Problem as problem:  # the authorizer's way to say no
            log.info("refused", status=problem.status, ms=clock.now() - started)
            raise
        except Exception as error:
            log.error("failed", error=error, ms=clock.now() - started)  # noqa: TRY400 the field has the stack, bounded
            raise
        else:
            log.info("done", ms=clock.now() - started, **facts(event, answer))
            return answer
        finally:
            metrics.flush()
            log.unbind("function", "invocation")

    return run


def describe_event(event: object, answer: object) -> dict[str, object]:
    """What one line tells of an invocation: the request and its answer, or how many records of a batch failed."""
    if not isinstance(event, Mapping):
        return {}
    facts: dict[str, object] = {}
    if isinstance(event.get("Records"), list):
        facts["records"] = len(event["Records"])
    if isinstance(answer, Mapping) and isinstance(answer.get("batchItemFailures"), list):
        facts["failed"] = len(answer["batchItemFailures"])
    if isinstance(answer, Mapping) and "statusCode" in answer:
        facts |= _describe_request(event, answer)
    return facts


def _describe_request(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, object]:
    """Never the path: a webhook's holds its token."""
    context = event.get("requestContext")
    context = context if isinstance(context, Mapping) else {}
    caller = context.get("authorizer")
    parameters = event.get("pathParameters")
    parameters = parameters if isinstance(parameters, Mapping) else {}
    location = (answer.get("multiValueHeaders") or {}).get("Location") or [""]
    made = _JOB.fullmatch(str(location[0]))  # any other one is a signed link
    facts: dict[str, object] = {
        "method": event.get("httpMethod"),
        "route": event.get("resource"),
        "status": answer["statusCode"],
        "tenant": caller.get("tenant") if isinstance(caller, Mapping) else None,
        "gateway_request": context.get("requestId"),
        "job": parameters.get("id") or (made[1] if made else None),
        "provider": parameters.get("provider"),
    }
    if isinstance(answer["statusCode"], int) and answer["statusCode"] >= 400:
        facts["problem"] = _problem(answer.get("body"))
    return facts


def _problem(body: object) -> str | None:
    try:
        document = json.loads(body) if isinstance(body, str) else None
    except ValueError:
        return None
    return str(document.get("type", "")).rpartition(":")[2] if isinstance(document, dict) else None


def _is_denied(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return plain in _DENIED or plain.endswith(_DENIED_ENDS)


def _exception(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__.partition(".")[0] in ("pydantic", "pydantic_core"):
        return kind.__name__
    return f"{kind.__name__}: {error}"[:_LONGEST]


def _stack(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]


def _line(record: object) -> str:
    """One line whatever is in it: ASCII, so that no character ends it early."""
    return json.dumps(record, default=lambda value: f"<{type(value).__name__}>", separators=(",", ":"))
