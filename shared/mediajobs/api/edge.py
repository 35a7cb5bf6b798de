"""What every HTTP function shares: routing, and the promise that each request gets an answer of ours.

Powertools' resolver finds the route. It is not left to answer by itself: an exception that it does not know would
become a 502 of the gateway, and its own 404 is no problem+json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response

from mediajobs.api import keys, problems, routes
from mediajobs.api.problems import Answer
from mediajobs.errors import ConfigurationError, MediaJobsError, NotFound, Problem, Unauthorized
from mediajobs.messages import Caller
from mediajobs.ports import Log, World

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

# A custom domain's base path stands before the route; API Gateway leaves it in `path`.
_BASE_PATH = re.compile(r"^/.+?(?=/v1/)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Call:
    """One request that found its route."""

    event: Mapping[str, Any]

    @property
    def caller(self) -> Caller:
        """Raises Unauthorized where the authorizer proved nobody."""
        return keys.caller(self.event)

    def path(self, name: str) -> str:
        """A parameter of the path, as API Gateway read it."""
        value = (self.event.get("pathParameters") or {}).get(name)
        if not isinstance(value, str) or not value:
            raise NotFound("There is nothing at this address.")
        return value

    def query(self, name: str) -> str | None:
        """A parameter of the query; of several the last."""
        value = (self.event.get("queryStringParameters") or {}).get(name)
        return value if isinstance(value, str) else None


Action = Callable[[Call], Answer]


def answer(status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    """A JSON answer. Nothing here is for caches: it is one tenant's and changes."""
    body = json.dumps(document, allow_nan=False)
    return Answer(status=status, body=body, headers={"Cache-Control": "no-store"} | dict(headers or {}))


def build(world: World, function: str, actions: Mapping[str, Action]) -> Handler:
    """The handler of one function: its routes of the table, each with its action, and no exception ever."""
    app = APIGatewayRestResolver(enable_validation=False, strip_prefixes=[_BASE_PATH])
    own = routes.of(function)
    if {route.operation for route in own} != set(actions):
        raise ConfigurationError(f"{function} must have exactly the actions {[route.operation for route in own]}")

    def told(error: Exception) -> Answer:
        return _told(world.log, app.current_event.raw_event, error)

    for route in own:
        rule = re.sub(r"\{(\w+)\}", r"<\1>", route.path)
        app.route(rule, method=route.method)(_run(app, actions[route.operation]))
    app.exception_handler(Exception)(lambda error: _response(told(error)))
    app.not_found(lambda _: _response(told(_no_route(app.current_event.raw_event, own))))

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            return app.resolve(event, context)
        except Exception as error:  # noqa: BLE001 an event so odd that no route could be looked for
            return _proxy(_told(world.log, event, error))

    return handler


def unwired(log: Log, event: object, fault: Exception) -> dict[str, Any]:
    """The answer of a function that could not be set up: the caller is told to come again, the operator why."""
    return _proxy(_told(log, event, fault))


def instance(event: object) -> str | None:
    """The id under which this very request can be found in the logs, as a URI."""
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    request = context.get("requestId") if isinstance(context, Mapping) else None
    if not isinstance(request, str) or not _UUID.fullmatch(request):
        return None
    return f"urn:uuid:{request}"


def _run(app: APIGatewayRestResolver, action: Action) -> Callable[..., Response[Any]]:
    def run(**_: str) -> Response[Any]:
        return _response(action(Call(app.current_event.raw_event)))

    return run


def _response(answer: Answer) -> Response[Any]:
    return Response(
        status_code=answer.status,
        content_type=answer.content_type,
        body=answer.body,
        headers=dict(answer.headers),
    )


def _proxy(answer: Answer) -> dict[str, Any]:
    headers = {"Content-Type": answer.content_type} | answer.headers
    return {
        "statusCode": answer.status,
        "body": answer.body,
        "isBase64Encoded": False,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
    }


def _told(told_to: Log, event: object, error: Exception) -> Answer:
    problem = problems.as_problem(error)
    known = instance(event)
    if not isinstance(error, Problem):
        log = told_to.warning if isinstance(error, MediaJobsError) else told_to.error
        log("answered with a problem", problem=problem.slug, instance=known, error=error)
    try:
        scope = keys.caller(event).scope if isinstance(event, Mapping) else "user"
    except Problem:
        scope = "user"
    return problems.render(problem, instance=known, scope=scope)


def _no_route(event: Mapping[str, Any], own: tuple[routes.Route, ...]) -> Problem:
    path = _BASE_PATH.sub("", str(event.get("path")))
    methods = sorted(
        {route.method for route in own if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.path) + "/*", path)}
    )
    if not methods:
        return NotFound("There is nothing at this address.")
    if event.get("httpMethod") in methods:
        # The address fits, but a part of it has characters that none of ours has.
        secured = any(route.secured for route in own)
        return NotFound("There is nothing at this address.") if secured else Unauthorized("not authorized")
    allowed = ", ".join(methods)
    return problems.MethodNotAllowed(f"This address takes {allowed}.", allow=allowed)
