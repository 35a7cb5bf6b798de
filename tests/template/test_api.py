"""The API: its routes, who checks them, and what API Gateway answers by itself."""

import json
from typing import Any

import pytest

from mediajobs import errors
from mediajobs.api.problems import CONTENT_TYPE, TYPE_PREFIX
from mediajobs.api.routes import ROUTES
from tests.template.reading import events

PROBLEMS = {
    "BAD_REQUEST_BODY": errors.BadRequest,
    "BAD_REQUEST_PARAMETERS": errors.BadRequest,
    "UNAUTHORIZED": errors.Unauthorized,
    "INVALID_SIGNATURE": errors.Unauthorized,
    "ACCESS_DENIED": errors.Forbidden,
    "MISSING_AUTHENTICATION_TOKEN": errors.NotFound,  # API Gateway's words for a route it does not know
    "RESOURCE_NOT_FOUND": errors.NotFound,
    "REQUEST_TOO_LARGE": errors.TooLarge,
    "THROTTLED": errors.TooManyRequests,
    "QUOTA_EXCEEDED": errors.TooManyRequests,
    "AUTHORIZER_FAILURE": errors.Problem,
    "AUTHORIZER_CONFIGURATION_ERROR": errors.Problem,
    "INTEGRATION_FAILURE": errors.Unavailable,
    "INTEGRATION_TIMEOUT": errors.Unavailable,
    "DEFAULT_4XX": errors.BadRequest,
    "DEFAULT_5XX": errors.Problem,
}


@pytest.fixture
def api(template: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = template["Resources"]["Api"]["Properties"]
    return properties


def test_routes_are_named_one_by_one(template: dict[str, Any]) -> None:
    """Those of the code, each to its function. The emulator knows no ANY, and a route nobody listed is a 404."""
    declared = {(event["Method"], event["Path"], name.lower()) for name, event in events(template, "Api")}
    assert declared == {(route.method, route.path, route.function) for route in ROUTES}


def test_every_route_belongs_to_the_one_api(template: dict[str, Any]) -> None:
    """An event without RestApiId would make SAM create a second API."""
    assert all(event["RestApiId"] == {"Ref": "Api"} for _, event in events(template, "Api"))


def test_only_providers_pass_without_an_api_key(template: dict[str, Any], api: dict[str, Any]) -> None:
    """Their proof is a signature, or the token in an input's URL; every other route takes the default authorizer."""
    free = {event["Path"] for _, event in events(template, "Api") if event.get("Auth")}
    assert free == {"/v1/webhooks/{provider}", "/v1/webhooks/{provider}/{ref}", "/v1/inputs/{ref}/{name}"}
    assert free == {route.path for route in ROUTES if not route.secured}
    assert all(event["Auth"] == {"Authorizer": "NONE"} for _, event in events(template, "Api") if event["Path"] in free)
    assert api["Auth"]["DefaultAuthorizer"] == "ApiKey"


def test_authorizer_looks_at_the_key_and_forgets_after_a_minute(api: dict[str, Any]) -> None:
    """The key is the cache's key; a minute is how long a revoked key goes on working."""
    authorizer = api["Auth"]["Authorizers"]["ApiKey"]
    assert authorizer["FunctionArn"] == {"Fn::GetAtt": "Authorize.Arn"}
    assert authorizer["FunctionPayloadType"] == "REQUEST"
    assert authorizer["Identity"] == {"Headers": ["X-API-Key"], "ReauthorizeEvery": 60}


def test_webhook_bytes_arrive_as_sent(api: dict[str, Any]) -> None:
    """Text mode mangles bytes that are no UTF-8, compression unpacks them: both break a signature."""
    assert api["BinaryMediaTypes"] == ["*/*"]
    assert "MinimumCompressionSize" not in api


def test_api_is_regional_with_one_stage(api: dict[str, Any]) -> None:
    """Without an OpenApiVersion SAM adds a second stage called "Stage"."""
    assert api["EndpointConfiguration"] == {"Type": "REGIONAL"}
    assert api["OpenApiVersion"] == "3.0.1"
    assert isinstance(api["StageName"], str)


def test_stage_is_throttled_and_keeps_no_bodies(api: dict[str, Any]) -> None:
    """Execution logs would hold keys, prompts and the tokens in webhook paths."""
    (settings,) = api["MethodSettings"]
    assert settings["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert settings["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}
    assert (settings["ResourcePath"], settings["HttpMethod"]) == ("/*", "*")
    assert settings["LoggingLevel"] == "OFF"
    assert settings["DataTraceEnabled"] is False


def test_no_trace_holds_a_url(api: dict[str, Any]) -> None:
    """API Gateway's segments hold whole URLs: those of webhooks with their tokens, those of inputs with theirs."""
    assert api["TracingEnabled"] is False


def test_access_logs_are_asked_for_and_hold_no_token(template: dict[str, Any], api: dict[str, Any]) -> None:
    """They need a setting of the account, so they are off by default; a webhook's path holds its token."""
    condition, asked, otherwise = api["AccessLogSetting"]["Fn::If"]
    assert template["Parameters"]["AccessLogs"]["Default"] == "false"
    assert template["Conditions"][condition] == {"Fn::Equals": [{"Ref": "AccessLogs"}, "true"]}
    assert otherwise == {"Ref": "AWS::NoValue"}
    line = json.loads(asked["Format"])
    assert line["route"] == "$context.resourcePath"
    assert not {"$context.path", "$context.customDomain.basePathMatched"} & set(line.values())


@pytest.mark.parametrize("kind", PROBLEMS)
def test_api_gateway_answers_in_our_words(api: dict[str, Any], kind: str) -> None:
    """A client sees one kind of error, whoever refuses: same type, title and status as the code's."""
    problem = PROBLEMS[kind]
    answer = api["GatewayResponses"][kind]
    body = json.loads(answer["ResponseTemplates"]["application/json"])
    assert answer["ResponseParameters"]["Headers"]["Content-Type"] == f"'{CONTENT_TYPE}'"
    assert answer["StatusCode"] == str(problem.status)
    assert body["type"] == TYPE_PREFIX + problem.slug
    assert (body["title"], body["status"]) == (problem.title, problem.status)
    assert body["detail"]


def test_every_answer_of_api_gateway_is_ours(api: dict[str, Any]) -> None:
    """The two defaults catch what is not named."""
    assert set(api["GatewayResponses"]) == set(PROBLEMS)


def test_answers_that_ask_for_patience_say_how_long(api: dict[str, Any]) -> None:
    """Retry-After, in whole seconds."""
    for kind, answer in api["GatewayResponses"].items():
        waits = answer["ResponseParameters"]["Headers"].get("Retry-After", "''").strip("'")
        assert waits.isdigit() == (answer["StatusCode"] in ("429", "503")), kind
