"""Two authorizers in one function: API Gateway's, where an API key becomes a policy and a caller, and AppSync Events',
where a live token opens one channel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mediajobs.api import keys
from mediajobs.errors import Unauthorized
from mediajobs.messages import Caller
from mediajobs.ports import Store, World


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.authorize`."""

    def authorize(self, store: Store, api_key: str) -> Caller | None: ...

    def may_listen(self, world: World, token: str, operation: str, channel: str | None) -> bool: ...


def build(world: World, steps: Steps) -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """The handler of function authorize.

    It raises for a key it does not know: exactly the text "Unauthorized" makes API Gateway answer 401, where a
    Deny would be 403. Any other exception is a fault of ours and becomes the gateway's 500, never an Allow.
    """

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        if "methodArn" not in event and "authorizationToken" in event:
            return _listener(world, steps, event)
        caller = steps.authorize(world.store, keys.api_key(event))
        if caller is None:
            world.metrics.count("KeysRefused")
            raise Unauthorized("Unauthorized")
        return {
            "principalId": caller.tenant,
            "policyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": _every_route(event["methodArn"])}
                ],
            },
            "context": {"tenant": caller.tenant, "scope": caller.scope},
        }

    return handler


def _listener(world: World, steps: Steps, event: Mapping[str, Any]) -> dict[str, Any]:
    """AppSync's question whether this token may connect or subscribe. The answer is for this once: kept, it would
    outlive the token, and nobody says whether a kept one is for one channel.
    """
    asked = event.get("requestContext") or {}
    token, channel = event["authorizationToken"], asked.get("channel")
    fits = isinstance(token, str) and (channel is None or isinstance(channel, str))
    allowed = fits and steps.may_listen(world, token, str(asked.get("operation")), channel)
    if not allowed:
        world.metrics.count("ListenersRefused")
    return {"isAuthorized": allowed, "ttlOverride": 0}


def _every_route(method_arn: str) -> str:
    """The whole stage: the cached policy serves the caller's next requests too, whatever their route."""
    api, stage = method_arn.split("/")[:2]
    return f"{api}/{stage}/*"
