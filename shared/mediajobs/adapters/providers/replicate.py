"""Replicate: what `presets/replicate.toml` cannot say. A model with a version is asked for at another address."""

from __future__ import annotations

import json
from dataclasses import replace

from mediajobs.adapters.providers.generic import GenericAdapter, canonical
from mediajobs.jobs.model import Job
from mediajobs.messages import Request

# They send "output" and "logs" events too, unless told which are wanted; only the last one is sent again when it fails.
_EVENTS = ["completed"]


class ReplicateAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        request = super().request(job, body, webhook_url)
        _, _, version = self.place(job).model.partition(":")
        if not version:
            return request
        url = self.config.base_url.rstrip("/") + "/v1/predictions"
        document = {**json.loads(request.body), "version": version}
        return replace(request, url=url, body=canonical(document))

    def document(self, job: Job, body: dict[str, object], webhook_url: str | None) -> dict[str, object]:
        document = super().document(job, body, webhook_url)
        return {**document, "webhook_events_filter": _EVENTS} if webhook_url else document
