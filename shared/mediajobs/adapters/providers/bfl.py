"""Black Forest Labs: what `presets/bfl.toml` cannot say. The webhook secret goes to them with each job."""

from __future__ import annotations

import json
from dataclasses import replace

from mediajobs.adapters.providers.generic import GenericAdapter, canonical
from mediajobs.errors import ConfigurationError
from mediajobs.messages import Request

_FIELD = "webhook_secret"


class BflAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    def authorized(self, request: Request, key: str) -> Request:
        """With the secret that their webhook will be signed with. It is none of the request's digest, like the key.

        Without a secret nothing is sent: the webhook would come unsigned, and be refused.
        """
        signed = super().authorized(request, key)
        document = json.loads(request.body)
        if not document.get(self.config.submit.webhook_field or ""):
            return signed
        secrets = self.credentials.webhook_secrets()
        if not secrets[0].strip():
            raise ConfigurationError(f"The first of the webhook_secrets of provider {self.name} is empty.")
        return replace(signed, body=canonical({**document, _FIELD: secrets[0].strip()}))

    def set_by_us(self) -> tuple[str, ...]:
        return (*super().set_by_us(), _FIELD)
