"""Secrets Manager: cached, looked at anew at most each half minute, and nothing of a secret in an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from mediajobs.adapters.secrets import ManagedSecrets
from mediajobs.errors import ConfigurationError, Retryable, Throttled
from mediajobs.ports import Secrets
from tests.fakes.clock import VirtualClock
from tests.fakes.secrets import TOKENS, MemorySecrets

NAME = "stack/providers/acme"
GOOD: dict[str, object] = {"api_key": "sk-one", "webhook_secrets": ["whsec_old", "whsec_new"]}


class Counting:
    """A Secrets Manager client that counts its calls and can fail."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.meta = client.meta
        self.calls = 0
        self.fail: Exception | None = None

    def get_secret_value(self, **arguments: Any) -> Any:
        self.calls += 1
        if self.fail is not None:
            raise self.fail
        return self._client.get_secret_value(**arguments)


class World:
    """One account with secrets, and the adapter over it."""

    def __init__(self) -> None:
        self.sdk = boto3.client("secretsmanager", region_name="eu-central-1")
        self.client = Counting(self.sdk)
        self.clock = VirtualClock()
        self.secrets = ManagedSecrets(
            self.client, self.clock, provider_prefix="stack/providers/", tokens="stack/tokens"
        )

    def put(self, value: object, name: str = NAME) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        try:
            self.sdk.create_secret(Name=name, SecretString=text)
        except self.sdk.exceptions.ResourceExistsException:
            self.sdk.put_secret_value(SecretId=name, SecretString=text)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield World()


@pytest.fixture(params=["fake", "moto"])
def kept(request: pytest.FixtureRequest) -> tuple[Secrets, Any]:
    """The port, and a way to store a secret; the fake must behave like the real one."""
    if request.param == "fake":
        fake = MemorySecrets()
        return fake, lambda key, *webhook: fake.put("acme", key, *webhook)
    world: World = request.getfixturevalue("world")
    world.put(TOKENS.decode(), "stack/tokens")
    return world.secrets, lambda key, *webhook: world.put({"api_key": key, "webhook_secrets": list(webhook)})


def test_a_secret_is_served_from_the_cache_until_a_refresh(kept: tuple[Secrets, Any]) -> None:
    """Both implementations: the old value, then the new one."""
    secrets, put = kept
    put("sk-one", "whsec_old", "whsec_new")
    assert secrets.provider("acme") == GOOD
    put("sk-two")
    assert secrets.provider("acme") == GOOD
    assert secrets.provider("acme", refresh=True) == {"api_key": "sk-two", "webhook_secrets": []}
    assert secrets.provider("acme")["api_key"] == "sk-two"


def test_a_missing_secret_is_a_fault_of_configuration(kept: tuple[Secrets, Any]) -> None:
    """Both implementations."""
    secrets, _ = kept
    with pytest.raises(ConfigurationError, match="acme"):
        secrets.provider("acme")
    assert secrets.tokens() == TOKENS


def test_forced_looks_come_at_most_each_half_minute(world: World) -> None:
    """A flood of bad signatures is no flood of calls."""
    world.put(GOOD)
    for _ in range(50):
        world.secrets.provider("acme", refresh=True)
    assert world.client.calls == 1
    world.clock.advance(29.9)
    world.secrets.provider("acme", refresh=True)
    assert world.client.calls == 1
    world.clock.advance(0.2)
    world.secrets.provider("acme", refresh=True)
    assert world.client.calls == 2
    world.put(GOOD, "stack/providers/other")
    world.secrets.provider("other", refresh=True)
    assert world.client.calls == 3


def test_a_missing_secret_is_not_asked_for_at_every_request(world: World) -> None:
    """It is found within half a minute of being created."""
    for _ in range(20):
        with pytest.raises(ConfigurationError, match="There is no secret stack/providers/acme"):
            world.secrets.provider("acme")
    assert world.client.calls == 1
    world.put(GOOD)
    world.clock.advance(31)
    assert world.secrets.provider("acme") == GOOD
    assert world.client.calls == 2


# fmt: off
WRONG = [
    ("hunter2", "is not JSON"), ("", "is not JSON"), ("[" * 5000, "is not JSON"),
    ('["hunter2"]', "is not a JSON object"),
    ("{}", "has no api_key"), ('{"api_key": ""}', "has no api_key"), ('{"api_key": 5}', "has no api_key"),
    ('{"api_key": "hunter2\\nx"}', "characters that no header can carry"), ('{"api_key": "hünter2"}', "no header can"),
    ('{"api_key": "hunter2", "webhook_secrets": "whsec_hunter2"}', "webhook_secrets that are not a list"),
    ('{"api_key": "hunter2", "webhook_secrets": [5]}', "webhook_secrets that are not a list"),
]
# fmt: on


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_wrong_secret_is_named_and_not_quoted(world: World, text: str, words: str) -> None:
    """The message says what it must look like."""
    world.put(text or " ")
    with pytest.raises(ConfigurationError) as caught:
        world.secrets.provider("acme")
    message = str(caught.value)
    assert message.startswith(f"The secret {NAME} ")
    assert words in message
    assert '{"api_key": "...", "webhook_secrets": ["whsec_..."]}' in message
    assert "hunter2" not in message


def test_a_wrong_secret_works_soon_after_it_was_put_right(world: World) -> None:
    """Not only when the cache ends or the function starts anew."""
    world.put("not yet")
    with pytest.raises(ConfigurationError):
        world.secrets.provider("acme")
    world.put(GOOD)
    calls = world.client.calls
    for _ in range(5):
        with pytest.raises(ConfigurationError):
            world.secrets.provider("acme")
    assert world.client.calls == calls
    world.clock.advance(31)
    assert world.secrets.provider("acme") == GOOD


@pytest.mark.parametrize("text", ['{"api_key": " sk-one\\n"}', '\ufeff{"api_key": "sk-one", "note": "ours"}'])
def test_what_comes_from_pasting_is_forgiven(world: World, text: str) -> None:
    """A newline at the end of a key would make a header that nobody sends."""
    world.put(text)
    assert world.secrets.provider("acme") == {"api_key": "sk-one", "webhook_secrets": []}


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("AccessDeniedException", ConfigurationError, "may not be read"),
        ("DecryptionFailure", ConfigurationError, "kms:Decrypt"),
        ("ThrottlingException", Throttled, NAME),
        ("InternalServiceError", Retryable, NAME),
    ],
)
def test_each_refusal_of_aws_has_its_own_error(world: World, fault: str, kind: type[Exception], words: str) -> None:
    """Who is to act: a person, or time."""
    answer: Any = {
        "Error": {"Code": fault},
        "ResponseMetadata": {"HTTPStatusCode": 500 if "Internal" in fault else 400},
    }
    world.client.fail = ClientError(answer, "GetSecretValue")
    with pytest.raises(kind, match=words):
        world.secrets.provider("acme")


def test_a_passing_fault_is_over_with_the_next_call(world: World) -> None:
    """It is not kept like a missing secret is."""
    world.put(GOOD)
    world.client.fail = EndpointConnectionError(endpoint_url="https://secretsmanager.example")
    with pytest.raises(Retryable):
        world.secrets.provider("acme")
    world.client.fail = None
    assert world.secrets.provider("acme") == GOOD


def test_the_key_for_webhook_urls_is_text_of_some_length(world: World) -> None:
    """An empty one would let anybody make tokens."""
    world.put("short", "stack/tokens")
    with pytest.raises(ConfigurationError, match="The secret stack/tokens is too short") as caught:
        world.secrets.tokens()
    assert "short." not in str(caught.value).replace("too short.", "")
    without = ManagedSecrets(world.client, world.clock, provider_prefix="stack/providers/")
    with pytest.raises(ConfigurationError, match="TOKENS_SECRET"):
        without.tokens()
