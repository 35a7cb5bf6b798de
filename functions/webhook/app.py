"""POST /v1/webhooks/…: a provider's event, taken only as far as its signature proves it."""

from mediajobs import wiring

handler = wiring.webhook_handler()
