"""Secrets Manager behind `ports.Secrets`: cached by Powertools, a forced look at most once per half minute and name.

No error here holds any part of a secret's content.
"""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.utilities.parameters import SecretsProvider
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError
from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.aws import translated
from mediajobs.clock import Clock
from mediajobs.errors import ConfigurationError

KEPT_S = 300
FORCED_EVERY_MS = 30_000
_SHORTEST_TOKENS_KEY = 32
_SHAPE = '{"api_key": "...", "webhook_secrets": ["whsec_..."]}'
_DENIED = frozenset({"AccessDeniedException", "AccessDenied", "DecryptionFailure", "InvalidRequestException"})


class ManagedSecrets:
    """Implements `ports.Secrets`.

    A secret that is missing or wrong is looked at again each half minute: it works soon after a person has put it
    right, and no flood of requests becomes a flood of look-ups.
    """

    def __init__(self, client: Any, clock: Clock, *, provider_prefix: str, tokens: str = "") -> None:
        self._cache = SecretsProvider(boto3_client=client)
        self._clock = clock
        self._prefix, self._tokens = provider_prefix, tokens
        self._looked: dict[str, int] = {}
        self._wrong: dict[str, str] = {}

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, object]:
        secret = self._prefix + name
        text = self._text(secret, refresh=refresh)
        found = _provider(text)
        if isinstance(found, str) and not refresh:
            found = _provider(self._text(secret, refresh=True))
        if isinstance(found, str):
            raise ConfigurationError(f"The secret {secret} {found}. It must look like {_SHAPE}.")
        return found

    def tokens(self, *, refresh: bool = False) -> bytes:
        if not self._tokens:
            raise ConfigurationError("TOKENS_SECRET is not set; write the name of the secret that signs our tokens.")
        key = self._text(self._tokens, refresh=refresh).strip().encode()
        if len(key) < _SHORTEST_TOKENS_KEY:
            text = f"is too short. It must be a random text of at least {_SHORTEST_TOKENS_KEY} characters"
            raise ConfigurationError(f"The secret {self._tokens} {text}.")
        return key

    def _text(self, secret: str, *, refresh: bool) -> str:
        now = self._clock.now()
        may_look = now - self._looked.get(secret, now - FORCED_EVERY_MS) >= FORCED_EVERY_MS
        if secret in self._wrong and not may_look:
            raise ConfigurationError(self._wrong[secret])
        forced = may_look and (refresh or secret in self._wrong)
        if forced:
            self._looked[secret] = now
        try:
            value = self._cache.get(secret, max_age=KEPT_S, force_fetch=forced)
        except GetParameterError as error:
            raise self._failure(secret, now, error) from None
        self._wrong.pop(secret, None)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def _failure(self, secret: str, now: int, error: GetParameterError) -> Exception:
        cause = error.__context__
        if not isinstance(cause, ClientError | BotoCoreError):
            return error
        code = cause.response.get("Error", {}).get("Code", "") if isinstance(cause, ClientError) else ""
        failure: Exception = translated(cause, f"reading the secret {secret}")
        if code == "ResourceNotFoundException":
            failure = ConfigurationError(f"There is no secret {secret}. Create it; it must look like {_SHAPE}.")
        elif code in _DENIED:
            text = "Allow this function secretsmanager:GetSecretValue on it, and its key's kms:Decrypt"
            failure = ConfigurationError(f"The secret {secret} may not be read ({code}). {text}.")
        if isinstance(failure, ConfigurationError):
            self._looked[secret], self._wrong[secret] = now, str(failure)
        return failure


def _provider(text: str) -> dict[str, object] | str:
    """The secret's fields, or what is wrong with them."""
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(found, dict):
        return "is not a JSON object"
    key, secrets = found.get("api_key"), found.get("webhook_secrets", [])
    if not isinstance(key, str) or not key.strip():
        return "has no api_key"
    if not key.strip().isascii() or not key.strip().isprintable():
        return "has an api_key with characters that no header can carry"
    if not isinstance(secrets, list) or not all(isinstance(secret, str) for secret in secrets):
        return "has webhook_secrets that are not a list of texts"
    return {"api_key": key.strip(), "webhook_secrets": list(secrets)}
