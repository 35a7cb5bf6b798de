"""Kling: what `presets/kling.toml` cannot say.

- Each request carries a token of its own, signed with the account's secret key.
- A reference that was used before is refused like a wrong field. That proves nothing: the job may be there, and a
  lookup by the reference finds it.
"""

from __future__ import annotations

import base64
import hmac
import json

from mediajobs.adapters.providers.answers import Attempt, loose
from mediajobs.adapters.providers.config import Auth
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.clock import Clock
from mediajobs.errors import ConfigurationError
from mediajobs.jobs.events import Answered, AnswerKind
from mediajobs.messages import Response
from mediajobs.ports import Secrets

LIVES_S = 1800
EARLIER_S = 5  # their clock may be behind ours

_LEAST_KEY_CHARACTERS = 8


class KlingCredentials(Credentials):
    """The api_key is "<access key>:<secret key>"; only a token made of it leaves this machine."""

    def __init__(self, name: str, auth: Auth, secrets: Secrets, clock: Clock) -> None:
        super().__init__(name, auth, secrets)
        self._provider, self._clock = name, clock

    def headers(self, api_key: str) -> dict[str, str]:
        access, _, secret = api_key.partition(":")
        if len(access) < _LEAST_KEY_CHARACTERS or len(secret) < _LEAST_KEY_CHARACTERS:
            raise ConfigurationError(f'The api_key of provider {self._provider} must be "<access key>:<secret key>".')
        token = make_token(access, secret, self._clock.now() // 1000)
        self.keep_out_of_messages(access, secret, token)
        return super().headers(token)


class KlingAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    def credentials_of(self, secrets: Secrets) -> Credentials:
        return KlingCredentials(self.name, self.config.auth, secrets, self.clock)

    def outcome(self, response: Response, attempt: Attempt) -> Answered:
        answered = super().outcome(response, attempt)
        reference = self.config.submit.reference_field
        said = self.vocabulary.message(loose(response.body), ())
        if answered.kind is AnswerKind.REJECTED and reference is not None and _letters(reference) in _letters(said):
            return attempt.answered(AnswerKind.AMBIGUOUS, answered.message)
        return answered


def _letters(text: str) -> str:
    """The name of a field as it may be written in a sentence: "External task ID"."""
    return "".join(filter(str.isalnum, text.lower()))


def make_token(access: str, secret: str, now_s: int) -> str:
    """A JSON Web Token, HS256, that proves the account for half an hour."""
    header = _encoded(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    claims = {"iss": access, "exp": now_s + LIVES_S, "nbf": now_s - EARLIER_S}
    signed = f"{header}.{_encoded(json.dumps(claims, separators=(',', ':')).encode())}"
    return f"{signed}.{_encoded(hmac.digest(secret.encode(), signed.encode(), 'sha256'))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
