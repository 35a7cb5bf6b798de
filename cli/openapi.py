"""Write docs/openapi.json from the code: the route table, the schemas of requests and answers, the problems.

python -m cli.openapi            write it
python -m cli.openapi --check    say whether the kept one still tells the truth
"""

import json
import re
import sys
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from cli.kept import DOCS, command
from mediajobs import errors
from mediajobs.api import answers, bodies, keys, problems, schemas
from mediajobs.api.routes import ROUTES, Route

KEPT = DOCS / "openapi.json"
VERSION = "1.0.0"

_BODIES: tuple[type[BaseModel], ...] = (
    schemas.Submit,
    schemas.NewUpload,
    schemas.Resolve,
    schemas.ProviderChange,
    schemas.CallbackChange,
    schemas.Rotation,
)
_ANSWERS: tuple[type[BaseModel], ...] = (
    answers.Accepted,
    answers.Callback,
    answers.Job,
    answers.JobList,
    answers.Problem,
    answers.Provider,
    answers.Received,
    answers.Upload,
)

# Answers that are no JSON.
_SAID: dict[str, dict[str, Any]] = {
    "file": {
        "description": "The file, under its own type.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    },
    "elsewhere": {"description": "A large file is read at Location, within a few minutes."},
}

_WHEN = {
    400: "Not JSON, or the Idempotency-Key is missing or unusable.",
    401: "No API key, or one that nobody has.",
    403: "The caller may not do this.",
    404: "No such thing, or it is another tenant's.",
    409: "Not possible as the job stands; the job is in the answer.",
    413: f"The body is over {bodies.LIMIT} bytes.",
    422: "Well-formed, but a field is wrong, the provider or model is unknown, or the key stands for another payload.",
    429: "Too many requests; see Retry-After.",
    500: "A fault of ours; sending the request again with the same key is safe.",
    503: "A passing fault; see Retry-After.",
}

PARAMETERS: dict[str, dict[str, Any]] = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": True,
        "description": "New for each user action, the same at each retry. Bare or in double quotes: the same key.",
        "schema": {"type": "string", "minLength": 1, "maxLength": keys.LONGEST_KEY},
    },
    "JobId": {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The job's request_id.",
        "schema": {"type": "string", "pattern": "^[a-z2-7]{26}$"},
    },
    "Provider": {"name": "provider", "in": "path", "required": True, "schema": {"type": "string"}},
    "Tenant": {
        "name": "tenant",
        "in": "path",
        "required": True,
        "description": "Whose events; the tenant of its API keys.",
        "schema": {"type": "string", "pattern": "^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?$"},
    },
    "Reference": {
        "name": "ref",
        "in": "path",
        "required": True,
        "description": "request_id, submission and token, as given to the provider.",
        "schema": {"type": "string"},
    },
    "InputReference": {
        "name": "ref",
        "in": "path",
        "required": True,
        "description": "request_id and token, as given to the provider.",
        "schema": {"type": "string"},
    },
    "InputName": {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
    "Limit": {
        "name": "limit",
        "in": "query",
        "description": "Jobs in one page.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    },
    "Cursor": {
        "name": "cursor",
        "in": "query",
        "description": "From the page before.",
        "schema": {"type": "string", "maxLength": 2048},
    },
    "AttentionOnly": {
        "name": "attention",
        "in": "query",
        "description": "Only jobs with an open question, all tenants', oldest first; needs scope operator.",
        "schema": {"type": "boolean", "default": False},
    },
}

HEADERS: dict[str, dict[str, Any]] = {
    "Location": {"description": "Where to read it.", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "true where the key had been used before.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
}


def document() -> dict[str, Any]:
    """The API's description, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Media Jobs",
            "version": VERSION,
            "description": (
                "Long media jobs at third-party providers: no duplicate charge, no lost callback, no job pending for "
                "ever. Times are ISO 8601 in UTC. Errors are application/problem+json with a stable type."
            ),
        },
        "servers": [
            {
                "url": "{api_url}",
                "variables": {"api_url": {"default": "/", "description": "Output ApiUrl of the stack."}},
            }
        ],
        "security": [{"ApiKey": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": {f"Problem{status}": _problem(status) for status in _statuses()},
            "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
        },
    }


def text() -> str:
    """The file's content."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _schemas() -> dict[str, Any]:
    # A field with a default may be left out of an answer as much as of a request, so one mode fits both.
    models = [(model, "validation") for model in (*_BODIES, *_ANSWERS)]
    _, schema = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    return dict(sorted(schema["$defs"].items()))


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.operation, "summary": route.summary}
    if route.detail:
        operation["description"] = route.detail
    if route.parameters:
        operation["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in route.parameters]
    if route.body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(route.body)}}}
    responses: dict[str, Any] = {}
    for status, schema in route.answers.items():
        responses[str(status)] = _SAID.get(schema) or {
            "description": _first_line(schema),
            "content": {"application/json": {"schema": _ref(schema)}},
        }
        if names := route.headers.get(status):
            responses[str(status)]["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    for status in sorted(route.problems):
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    operation["responses"] = responses
    if not route.secured:
        operation["security"] = []
    return operation


def _problem(status: int) -> dict[str, Any]:
    slugs = sorted({kind.slug for kind in _kinds() if kind.status == status})
    types = " or ".join(f"`{problems.TYPE_PREFIX}{slug}`" for slug in slugs)
    response: dict[str, Any] = {
        "description": f"{_WHEN[status]} Type {types}.",
        "content": {problems.CONTENT_TYPE: {"schema": _ref("Problem")}},
    }
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return response


def _kinds() -> list[type[errors.Problem]]:
    found = [errors.Problem]
    for kind in found:
        found.extend(kind.__subclasses__())
    return found


def _statuses() -> list[int]:
    return sorted({status for route in ROUTES for status in route.problems})


def _first_line(schema: str) -> str:
    model = next(model for model in _ANSWERS if model.__name__ == schema)
    return re.split(r"(?<=[.;])\s", (model.__doc__ or schema).strip())[0]


def _ref(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


def main() -> int:
    return command("cli.openapi", KEPT, text, again="make openapi")


if __name__ == "__main__":
    sys.exit(main())
