"""Secrets Manager in memory: what is stored, and what a warm function has cached of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from mediajobs.errors import ConfigurationError

TOKENS = b"a-key-for-webhook-urls-of-64-chars-a-key-for-webhook-urls-of-64-"


@dataclass
class MemorySecrets:
    """Implements `ports.Secrets`. `put` changes what is stored; the old value is served until a refresh.

    `refreshes` names every forced look asked for. `frozen` plays the half minute in which none is made.
    """

    key: bytes = TOKENS
    refreshes: list[str] = field(default_factory=list)
    frozen: bool = False
    fail: Exception | None = None

    def __post_init__(self) -> None:
        self._stored: dict[str, dict[str, object]] = {}
        self._cached: dict[str, dict[str, object]] = {}

    def put(self, name: str, api_key: str, *webhook_secrets: str) -> None:
        """Store a provider's secret as a person would."""
        self._stored[name] = {"api_key": api_key, "webhook_secrets": list(webhook_secrets)}

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, object]:
        if refresh:
            self.refreshes.append(name)
        if self.fail is not None:
            raise self.fail
        if name not in self._stored:
            raise ConfigurationError(f"There is no secret for provider {name}.")
        if name not in self._cached or (refresh and not self.frozen):
            self._cached[name] = self._stored[name]
        return copy.deepcopy(self._cached[name])

    def tokens(self, *, refresh: bool = False) -> bytes:
        if refresh:
            self.refreshes.append("tokens")
        return self.key
