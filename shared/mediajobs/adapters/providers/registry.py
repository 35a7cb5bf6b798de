"""The configured providers by name."""

from __future__ import annotations

from mediajobs.adapters.providers.config import Configuration
from mediajobs.ports import Http, ProviderAdapter, Secrets


class Registry:
    """Implements `ports.Providers`. An adapter is made when first asked for, and its module loaded then.

    `webhooks` is False where no provider can reach us: every job is polled then.
    """

    def __init__(self, config: Configuration, http: Http, secrets: Secrets, *, webhooks: bool = True) -> None:
        self._config, self._http, self._secrets, self._webhooks = config, http, secrets, webhooks
        self._adapters: dict[str, ProviderAdapter] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._config.providers)

    def get(self, name: str) -> ProviderAdapter:
        """Raises KeyError for an unknown name."""
        if name not in self._adapters:
            self._adapters[name] = self._made(name)
        return self._adapters[name]

    def _made(self, name: str) -> ProviderAdapter:
        provider = self._config.providers[name]
        match provider.adapter:
            case "generic":
                from mediajobs.adapters.providers.generic import GenericAdapter

                return GenericAdapter(name, provider, self._http, self._secrets, webhooks=self._webhooks)
