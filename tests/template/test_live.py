"""The Events API: functions publish by their roles, listeners ask authorize, and nothing that it says is kept."""

from typing import Any

from mediajobs.signatures.channels import NAMESPACE
from tests.template.reading import environment

IAM, FUNCTION = [{"AuthType": "AWS_IAM"}], [{"AuthType": "AWS_LAMBDA"}]


def _properties(template: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"][name]["Properties"]
    return found


def test_listeners_ask_authorize_and_publishers_are_roles(template: dict[str, Any]) -> None:
    """No API key anywhere: one that is handed to a browser would open every channel."""
    config = _properties(template, "LiveApi")["EventConfig"]
    assert config["ConnectionAuthModes"] == config["DefaultSubscribeAuthModes"] == FUNCTION
    assert config["DefaultPublishAuthModes"] == IAM
    assert {provider["AuthType"] for provider in config["AuthProviders"]} == {"AWS_IAM", "AWS_LAMBDA"}
    channels = _properties(template, "LiveChannels")
    assert (channels["PublishAuthModes"], channels["SubscribeAuthModes"]) == (IAM, FUNCTION)


def test_an_answer_of_the_authorizer_is_never_kept(template: dict[str, Any]) -> None:
    """Kept for a token, it might open another channel than the one it was given for."""
    (function,) = [
        provider["LambdaAuthorizerConfig"]
        for provider in _properties(template, "LiveApi")["EventConfig"]["AuthProviders"]
        if provider["AuthType"] == "AWS_LAMBDA"
    ]
    assert function["AuthorizerResultTtlInSeconds"] == 0
    assert function["AuthorizerUri"] == {"Fn::GetAtt": "Authorize.Arn"}


def test_the_namespace_is_the_one_that_channels_are_in(template: dict[str, Any]) -> None:
    """A channel of another namespace would be refused at each publish."""
    assert _properties(template, "LiveChannels")["Name"] == NAMESPACE


def test_only_this_api_may_ask_authorize(template: dict[str, Any]) -> None:
    """Without the permission AppSync refuses everybody, and says no more."""
    permission = _properties(template, "LiveAsksAuthorize")
    assert permission["Principal"] == "appsync.amazonaws.com"
    assert permission["SourceArn"] == {"Fn::GetAtt": "LiveApi.ApiArn"}
    assert permission["FunctionName"] == {"Ref": "Authorize"}


def test_addresses_are_of_one_api(template: dict[str, Any]) -> None:
    """Events are published where jobs sends listeners to; a domain of one's own serves both."""
    publish = [environment(template, name)["LIVE_URL"]["Fn::If"] for name in ("Relay", "Webhook")]
    (_, domain, own) = publish[0]
    assert publish[0] == publish[1]
    assert own["Fn::If"] == ["CreatesLive", {"Fn::Sub": "https://${LiveApi.Dns.Http}"}, ""]
    listen = environment(template, "Jobs")["LIVE_LISTEN_URL"]["Fn::If"]
    assert listen[1] == domain == {"Ref": "LiveBaseUrl"}
    assert listen[2]["Fn::If"] == ["CreatesLive", {"Fn::Sub": "https://${LiveApi.Dns.Realtime}"}, ""]
