"""The laptop's Events API is the template's; the emulator asks about each operation by the mode that AWS has for it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from local.stack import live
from local.stack.places import ROOT
from local.stack.serve import ask_by_mode
from local.stack.template import Template

AUTHORIZE = "arn:aws:lambda:us-east-1:000000000000:function:authorize"
TEMPLATE = Template.load(ROOT / "template.yaml", {"Local": "true"})


class AppSync:
    """As much of the AppSync API as is used."""

    def __init__(self) -> None:
        self.apis: dict[str, dict[str, Any]] = {}
        self.namespaces: list[dict[str, Any]] = []

    def list_apis(self) -> dict[str, Any]:
        return {"apis": list(self.apis.values())}

    def create_api(self, **given: Any) -> dict[str, Any]:
        dns = {"HTTP": "one.appsync-api.x:1", "REALTIME": "one.appsync-realtime-api.x:1"}
        self.apis["one"] = {"apiId": "one", "dns": dns, **given}
        return {"api": self.apis["one"]}

    def update_api(self, **given: Any) -> dict[str, Any]:
        self.apis[given["apiId"]] |= given
        return {"api": self.apis[given["apiId"]]}

    def create_channel_namespace(self, **given: Any) -> None:
        self.namespaces.append(given)


def test_the_api_is_made_once_as_the_template_says_and_follows_the_function() -> None:
    """A redeploy gives the function a new name; listeners keep their address."""
    appsync = AppSync()
    for authorize in (AUTHORIZE, f"{AUTHORIZE}-2"):
        hosts = live.ensure(appsync, TEMPLATE, "live", authorize)
        assert hosts == {"http": "one.appsync-api.x:1", "realtime": "one.appsync-realtime-api.x:1"}
        config = appsync.apis["one"]["eventConfig"]
        function = {"authorizerUri": authorize, "authorizerResultTtlInSeconds": 0}
        assert config["authProviders"] == [
            {"authType": "AWS_LAMBDA", "lambdaAuthorizerConfig": function},
            {"authType": "AWS_IAM"},
        ]
        assert config["connectionAuthModes"] == [{"authType": "AWS_LAMBDA"}]
        assert config["defaultPublishAuthModes"] == [{"authType": "AWS_IAM"}]
    assert appsync.namespaces == [
        {
            "apiId": "one",
            "name": "jobs",
            "publishAuthModes": [{"authType": "AWS_IAM"}],
            "subscribeAuthModes": [{"authType": "AWS_LAMBDA"}],
        }
    ]


@pytest.mark.parametrize(
    ("operation", "auth", "allowed", "asked"),
    [
        ("EVENT_SUBSCRIBE", {"Authorization": "token"}, True, 1),
        ("EVENT_PUBLISH", {"Authorization": "AWS4-HMAC-SHA256 Credential=x"}, True, 0),
        ("EVENT_PUBLISH", {"Authorization": "token"}, False, 0),
        ("EVENT_PUBLISH", {}, False, 0),
    ],
)
def test_the_function_is_asked_where_its_mode_holds(
    operation: str, auth: dict[str, str], allowed: bool, asked: int
) -> None:
    """Who publishes shows a signature, which no function of ours could judge."""
    questions: list[str] = []

    async def ask(_api: str, _channel: str, what: str, _auth: Any, _headers: Any = None) -> tuple[bool, None]:
        questions.append(what)
        return True, None

    events = SimpleNamespace(
        _authorize_event_op=ask,
        _operation_auth_modes=lambda _api, _channel, what: {"AWS_IAM" if what == "EVENT_PUBLISH" else "AWS_LAMBDA"},
        _modes_accept=lambda _api, _modes, shown: (shown.get("Authorization", "").startswith("AWS4-"), None),
    )
    ask_by_mode(events)
    answer = asyncio.run(events._authorize_event_op("one", "/jobs/a/b", operation, auth))
    assert answer[0] is allowed
    assert len(questions) == asked
