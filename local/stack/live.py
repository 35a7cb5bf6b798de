"""The Events API of the laptop: what template.yaml creates on AWS, made through the API, which the emulator knows.

Its settings are the template's own, so the two cannot drift apart. The front stands before it as a domain of yours
would, so its address is known before the deploy and nothing needs to resolve `*.localhost`.
"""

from collections.abc import Mapping
from typing import Any

from local.stack.template import Template

API = "LiveApi"
CHANNELS = "LiveChannels"


def settings(template: Template, authorize_arn: str) -> dict[str, Any]:
    """The template's EventConfig in the words of the AppSync API."""
    config: dict[str, Any] = _in_words_of_the_api(template.wanted(API, "EventConfig"))
    for provider in config["authProviders"]:
        if "lambdaAuthorizerConfig" in provider:
            provider["lambdaAuthorizerConfig"]["authorizerUri"] = authorize_arn
    return config


def ensure(appsync: Any, template: Template, name: str, authorize_arn: str) -> dict[str, str]:
    """The hosts under which the emulator knows the API, `http` and `realtime`; made where it is not there yet."""
    config = settings(template, authorize_arn)
    found = next((api for api in appsync.list_apis()["apis"] if api["name"] == name), None)
    if found is None:
        api = appsync.create_api(name=name, eventConfig=config)["api"]
        appsync.create_channel_namespace(apiId=api["apiId"], **_namespace(template))
    else:
        api = appsync.update_api(apiId=found["apiId"], name=name, eventConfig=config)["api"]
    return {"http": api["dns"]["HTTP"], "realtime": api["dns"]["REALTIME"]}


def _namespace(template: Template) -> dict[str, Any]:
    words = ("Name", "PublishAuthModes", "SubscribeAuthModes")
    given: dict[str, Any] = _in_words_of_the_api({word: template.wanted(CHANNELS, word) for word in words})
    return given


def _in_words_of_the_api(value: Any) -> Any:
    """CloudFormation's names begin with a capital, the API's do not."""
    if isinstance(value, Mapping):
        return {name[:1].lower() + name[1:]: _in_words_of_the_api(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_in_words_of_the_api(each) for each in value]
    return value
