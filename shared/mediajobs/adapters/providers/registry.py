"""The configured providers by name."""

from __future__ import annotations

from importlib import import_module

from mediajobs.adapters.providers.config import Configuration
from mediajobs.adapters.providers.traits import traits
from mediajobs.clock import Clock, SystemClock
from mediajobs.jobs.events import Traits
from mediajobs.ports import Http, ProviderAdapter, Secrets

# Named, not imported: a vendor's module is loaded where a job of that vendor is at hand, and nowhere else.
CLASSES = {
    "generic": "generic.GenericAdapter",
    "fal": "fal.FalAdapter",
    "replicate": "replicate.ReplicateAdapter",
    "runway": "runway.RunwayAdapter",
    "bfl": "bfl.BflAdapter",
    "kling": "kling.KlingAdapter",
    "heygen": "generic.GenericAdapter",  # its configuration says all of it
}


class Registry:
    """Implements `ports.Providers`. An adapter is made when first asked for, and its module loaded then.

    `webhooks` is False where no provider can reach us: every job is polled then.
    """

    def __init__(
        self,
        config: Configuration,
        http: Http,
        secrets: Secrets,
        *,
        webhooks: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._config, self._http, self._secrets, self._webhooks = config, http, secrets, webhooks
        self._clock = clock or SystemClock()
        self._adapters: dict[str, ProviderAdapter] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._config.providers)

    def get(self, name: str) -> ProviderAdapter:
        """Raises KeyError for an unknown name."""
        if name not in self._adapters:
            self._adapters[name] = self._made(name)
        return self._adapters[name]

    def traits(self, name: str, model: str | None = None) -> Traits:
        """As the adapter has them."""
        provider = self._config.providers[name]
        return traits(name, provider, model or next(iter(provider.models)), webhooks=self._webhooks)

    def _made(self, name: str) -> ProviderAdapter:
        provider = self._config.providers[name]
        module, _, named = CLASSES[provider.adapter].partition(".")
        made: ProviderAdapter = getattr(import_module(f"mediajobs.adapters.providers.{module}"), named)(
            name, provider, self._http, self._secrets, webhooks=self._webhooks, clock=self._clock
        )
        return made
