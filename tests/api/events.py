"""Events as API Gateway's REST API shapes them."""

from __future__ import annotations

import base64
import json
import re
from types import SimpleNamespace
from typing import Any

REQUEST_ID = "5f2b9c1e-6a53-4f0e-9d1c-0a6f6b1f2c3d"
API_KEY = "mj_0123456789abcdefghijklmnopqrstuvwxyz"
ARN = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/api"
RESOURCES = (
    "/v1/callbacks/{tenant}",
    "/v1/callbacks/{tenant}/rotate",
    "/v1/jobs",
    "/v1/jobs/{id}",
    "/v1/jobs/{id}/cancel",
    "/v1/jobs/{id}/resolve",
    "/v1/providers/{provider}",
    "/v1/uploads",
    "/v1/inputs/{ref}/{name}",
    "/v1/webhooks/{provider}",
    "/v1/webhooks/{provider}/{ref}",
)

USER = {"tenant": "acme", "scope": "user", "principalId": "acme"}
OTHER = {"tenant": "rival", "scope": "user", "principalId": "rival"}
OPERATOR = {"tenant": "ops", "scope": "operator", "principalId": "ops"}


def context() -> Any:
    return SimpleNamespace(aws_request_id="7d9d3c4a-0d0e-4b57-8f4e-2f6d0c9b1a2b", function_name="mediajobs")


def proxy(
    method: str,
    path: str,
    *,
    body: object = None,
    headers: dict[str, str | list[str]] | None = None,
    caller: dict[str, str] | None = USER,
    query: dict[str, str] | None = None,
    binary: bool = True,
) -> dict[str, Any]:
    """A request as the function gets it; `binary` is what BinaryMediaTypes */* does to the body."""
    resource, parameters = _matched(path)
    raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    several = {name: [value] if isinstance(value, str) else value for name, value in (headers or {}).items()}
    request_context: dict[str, Any] = {
        "accountId": "123456789012",
        "apiId": "a1b2c3d4e5",
        "httpMethod": method,
        "identity": {"sourceIp": "203.0.113.7", "userAgent": "test"},
        "path": f"/api{path}",
        "protocol": "HTTP/1.1",
        "requestId": REQUEST_ID,
        "resourcePath": resource,
        "stage": "api",
    }
    if caller is not None:
        request_context["authorizer"] = dict(caller)
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": {name: values[-1] for name, values in several.items()} or None,
        "multiValueHeaders": several or None,
        "queryStringParameters": query,
        "multiValueQueryStringParameters": {name: [value] for name, value in query.items()} if query else None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": request_context,
        "body": None if raw is None else base64.b64encode(raw).decode() if binary else raw.decode(),
        "isBase64Encoded": binary and raw is not None,
    }


def authorizer(headers: dict[str, str | list[str]], *, route: str = "GET/v1/jobs") -> dict[str, Any]:
    several = {name: [value] if isinstance(value, str) else value for name, value in headers.items()}
    return {
        "type": "REQUEST",
        "methodArn": f"{ARN}/{route}",
        "resource": "/v1/jobs",
        "path": "/v1/jobs",
        "httpMethod": "GET",
        "headers": {name: values[-1] for name, values in several.items()},
        "multiValueHeaders": several,
        "pathParameters": None,
        "queryStringParameters": None,
        "requestContext": {"apiId": "a1b2c3d4e5", "stage": "api", "requestId": REQUEST_ID},
    }


def header(answer: dict[str, Any], name: str) -> str | None:
    """A header of an answer, whatever the case of its name."""
    several: dict[str, list[str]] = answer.get("multiValueHeaders") or {}
    found = [values for known, values in several.items() if known.lower() == name.lower()]
    return found[0][0] if found else None


def document(answer: dict[str, Any]) -> Any:
    """An answer's body, which has to be JSON that any parser reads."""
    assert answer["isBase64Encoded"] is False

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(answer["body"], parse_constant=refuse)


def problem(answer: dict[str, Any], status: int, slug: str) -> Any:
    """The problem in an answer, once everything that a caller relies on has been checked."""
    assert (answer["statusCode"], header(answer, "Content-Type")) == (status, "application/problem+json"), answer
    told = document(answer)
    assert told["type"] == f"urn:mediajobs:problem:{slug}"
    assert told["status"] == status
    assert told["title"]
    assert told["detail"]
    return told


def _matched(path: str) -> tuple[str, dict[str, str]]:
    for resource in RESOURCES:
        if found := re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", resource), path):
            return resource, found.groupdict()
    return path, {}
