"""The envelopes: what API Gateway, SQS, the table's stream and Scheduler put around the content."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from events.fixed import NOW, OPERATOR_TENANT, OTHER_TENANT, TENANT
from mediajobs.api.routes import ROUTES

ACCOUNT = "000000000000"
REGION = "us-east-1"
API = "a1b2c3d4e5"
STAGE = "api"
REQUEST_ID = "5f2b9c1e-6a53-4f0e-9d1c-0a6f6b1f2c3d"

USER = {"tenant": TENANT, "scope": "user"}
RIVAL = {"tenant": OTHER_TENANT, "scope": "user"}
OPERATOR = {"tenant": OPERATOR_TENANT, "scope": "operator"}

Headers = Mapping[str, str | list[str]]


def api(
    method: str,
    path: str,
    *,
    body: object = None,
    headers: Headers | None = None,
    caller: Mapping[str, str] | None = USER,
    query: Mapping[str, str] | None = None,
    wrapped: bool = False,
) -> dict[str, Any]:
    """A request as the REST API hands it over; `wrapped` in base64, as it comes with BinaryMediaTypes */*."""
    resource, parameters = _route(path)
    several = _several({"Host": f"{API}.execute-api.{REGION}.amazonaws.com", **(headers or {})})
    data = body if isinstance(body, bytes) else None if body is None else _json(body)
    text = None if data is None else base64.b64encode(data).decode() if wrapped else data.decode()
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": {name: values[-1] for name, values in several.items()},
        "multiValueHeaders": several,
        "queryStringParameters": dict(query) if query else None,
        "multiValueQueryStringParameters": {name: [value] for name, value in query.items()} if query else None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": _request_context(method, path, resource, caller),
        "body": text,
        "isBase64Encoded": wrapped and text is not None,
    }


def authorizer(headers: Headers, *, method: str = "GET", path: str = "/v1/jobs") -> dict[str, Any]:
    """A request as API Gateway hands it to its request authorizer."""
    request = api(method, path, headers=headers, caller=None)
    arn = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{API}/{STAGE}/{method}{path}"
    kept = {name: value for name, value in request.items() if name not in ("body", "isBase64Encoded")}
    return {"type": "REQUEST", "methodArn": arn, **kept}


def listener(token: str, operation: str = "EVENT_SUBSCRIBE", channel: str | None = None) -> dict[str, Any]:
    """AppSync's question to the authorizer of an Events API."""
    asked = {
        "apiId": "abcdefghijklmnopqrstuvwxyz",
        "accountId": ACCOUNT,
        "requestId": REQUEST_ID,
        "operation": operation,
        "channelNamespaceName": channel.split("/")[1] if channel else None,
        "channel": channel,
    }
    return {"authorizationToken": token, "requestContext": asked, "requestHeaders": {"user-agent": "example/1.0"}}


def message(body: object, *, queue: str, receives: int = 1, number: int = 1) -> dict[str, Any]:
    """One record of SQS. A text is taken as it is: not everything in a queue is JSON."""
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    return {
        "messageId": f"19dd0b57-b21e-4ac1-bd88-01bbb068cb{number:02x}",
        "receiptHandle": f"handle-{number}",
        "body": text,
        "attributes": {
            "ApproximateReceiveCount": str(receives),
            "SentTimestamp": str(NOW - 1000),
            "SenderId": f"AROAEXAMPLE:{queue}",
            "ApproximateFirstReceiveTimestamp": str(NOW),
        },
        "messageAttributes": {},
        "md5OfBody": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:mediajobs-{queue}",
        "awsRegion": REGION,
    }


def change(image: Mapping[str, Any] | None, *, number: int = 1, name: str = "MODIFY") -> dict[str, Any]:
    """One record of the table's stream; without an image it tells of a row that is gone."""
    keys = {key: value for key, value in (image or {}).items() if key in ("pk", "sk")}
    record: dict[str, Any] = {
        "ApproximateCreationDateTime": NOW // 1000,
        "Keys": as_text(keys or {"pk": {"S": "J#gone"}, "sk": {"S": "H"}}),
        "SequenceNumber": f"{number:021d}",
        "SizeBytes": 900,
        "StreamViewType": "NEW_IMAGE",
    }
    if image is not None:
        record["NewImage"] = as_text(image)
    return {
        "eventID": f"c4ca4238a0b923820dcc509a6f7584{number:02x}",
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": record,
        "eventSourceARN": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/mediajobs/stream/2027-01-15T00:00:00.000",
    }


def records(*given: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(given)}


def as_text(value: Any) -> Any:
    """An item as the stream's JSON has it: bytes are base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: as_text(part) for name, part in value.items()}
    return [as_text(part) for part in value] if isinstance(value, list) else value


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


def _several(headers: Headers) -> dict[str, list[str]]:
    return {name: [value] if isinstance(value, str) else list(value) for name, value in headers.items()}


def _route(path: str) -> tuple[str, dict[str, str]]:
    """The route of a path, and what the path says in its places."""
    for route in ROUTES:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)
        if found := re.fullmatch(pattern, path):
            return route.path, found.groupdict()
    return path, {}


def _request_context(method: str, path: str, resource: str, caller: Mapping[str, str] | None) -> dict[str, Any]:
    context: dict[str, Any] = {
        "accountId": ACCOUNT,
        "apiId": API,
        "domainName": f"{API}.execute-api.{REGION}.amazonaws.com",
        "domainPrefix": API,
        "extendedRequestId": "JJbxmFlhIAMFQGA=",
        "httpMethod": method,
        "identity": {"sourceIp": "203.0.113.7", "userAgent": "example/1.0"},
        "path": f"/{STAGE}{path}",
        "protocol": "HTTP/1.1",
        "requestId": REQUEST_ID,
        "requestTime": "15/Jan/2027:08:00:00 +0000",
        "requestTimeEpoch": NOW,
        "resourceId": "abc123",
        "resourcePath": resource,
        "stage": STAGE,
    }
    if caller is not None:
        context["authorizer"] = {**caller, "principalId": caller["tenant"], "integrationLatency": 12}
    return context
