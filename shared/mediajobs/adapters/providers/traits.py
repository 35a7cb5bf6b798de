"""What the rules need to know of a provider: all of it stands in its configuration, so no adapter is loaded for it."""

from __future__ import annotations

from mediajobs.adapters.providers.config import Provider
from mediajobs.jobs.events import Traits


def traits(name: str, config: Provider, model: str, *, webhooks: bool) -> Traits:
    """Those of a model; one that left the configuration has the provider's own times."""
    timing, entry = config.timing, config.models.get(model)
    calls_back = webhooks and config.webhook is not None
    per_job = config.submit.webhook_field or config.submit.webhook_query
    return Traits(
        provider=name,
        idempotent=config.idempotency is not None,
        key_life_s=int(config.idempotency.key_life_s) if config.idempotency else 0,
        lookup=config.lookup is not None,
        cancel=config.cancel is not None,
        webhooks=calls_back and config.webhook is not None and config.webhook.trusted,
        account_webhooks=calls_back and per_job is None,
        expected_s=entry.expected_s if entry and entry.expected_s is not None else timing.expected_s,
        max_run_s=timing.max_run_s,
        poll_floor_s=timing.poll_floor_s,
        lost_after=timing.lost_after,
        limit=config.limit,
    )
