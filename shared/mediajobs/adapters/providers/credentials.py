"""One provider's secrets as its adapter uses them."""

from __future__ import annotations

from mediajobs.adapters.providers.config import Auth
from mediajobs.errors import ConfigurationError, Retryable
from mediajobs.ports import Secrets

MOST_MADE = 20


class Credentials:
    """The API key and the webhook secrets, always as the cache behind `Secrets` has them.

    Reading them raises ConfigurationError or Retryable; asking for newer ones never raises.
    """

    def __init__(self, name: str, auth: Auth, secrets: Secrets) -> None:
        self._name, self._auth, self._secrets = name, auth, secrets
        self._seen: dict[str, None] = {}
        self._made: tuple[str, ...] = ()

    @property
    def seen(self) -> tuple[str, ...]:
        """Every secret handed out so far: none of them may stand in a message."""
        return (*self._made, *self._seen)

    def keep_out_of_messages(self, *made: str) -> None:
        """What was made of a secret is one too. Of the passing ones only the last few are remembered."""
        # One assignment: several threads of one function ask at the same time.
        self._made = tuple(dict.fromkeys((*made, *self._made)))[:MOST_MADE]

    def api_key(self) -> str:
        """The key of our account."""
        return self._api_key(refresh=False)

    def newer_api_key(self, than: str) -> str | None:
        """The key after a forced look, where it is another one."""
        try:
            key = self._api_key(refresh=True)
        except (ConfigurationError, Retryable):
            return None
        return key if key != than else None

    def headers(self, api_key: str) -> dict[str, str]:
        """The header that proves who we are."""
        prefix = self._auth.prefix.strip()
        return {self._auth.header: f"{prefix} {api_key}" if prefix else api_key}

    def webhook_secrets(self) -> list[str]:
        """Those that a webhook may be signed with."""
        return self._webhook_secrets(refresh=False)

    def newer_webhook_secrets(self, than: list[str]) -> list[str] | None:
        """Those after a forced look, where they are others."""
        try:
            secrets = self._webhook_secrets(refresh=True)
        except (ConfigurationError, Retryable):
            return None
        return secrets if secrets != than else None

    def _api_key(self, *, refresh: bool) -> str:
        key = self._secrets.provider(self._name, refresh=refresh).get("api_key")
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"The secret of provider {self._name} has no api_key.")
        self._seen[key] = None
        return key

    def _webhook_secrets(self, *, refresh: bool) -> list[str]:
        found = self._secrets.provider(self._name, refresh=refresh).get("webhook_secrets")
        secrets = [secret for secret in found if isinstance(secret, str)] if isinstance(found, list) else []
        if not secrets:
            raise ConfigurationError(f"The secret of provider {self._name} has no webhook_secrets.")
        self._seen.update(dict.fromkeys(secrets))
        return secrets
