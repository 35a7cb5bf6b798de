"""What all events agree on: the moment, the people, and secrets that are none because they stand here."""

from __future__ import annotations

import base64

NOW = 1_800_000_000_000  # 2027-01-15T08:00:00Z, in milliseconds
TENANT = "demo"
OTHER_TENANT = "rival"
OPERATOR_TENANT = "operations"
IDEMPOTENCY_KEY = "0b6f7f0e-3c9a-4d57-9a43-6d1f6c2e8a10"
PROMPT = "a red bicycle leaning on a garden wall"

API_KEYS = {
    "mj_events-user-key-that-opens-nothing-real": (TENANT, "user"),
    "mj_events-operator-key-that-opens-nothing": (OPERATOR_TENANT, "operator"),
}
USER_KEY, OPERATOR_KEY = API_KEYS

WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"events of this repository only..").decode()
CALLBACK_SECRET = "whsec_" + base64.b64encode(b"signs callbacks of these events.").decode()
RETIRED_WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"the secret before the rotation..").decode()
PROVIDER_API_KEY = "provider-key-of-the-events"
PROVIDER_SECRET = {"api_key": PROVIDER_API_KEY, "webhook_secrets": [WEBHOOK_SECRET]}
TOKENS_KEY = "signs-webhook-urls-in-the-events-of-this-repository-only-0000000"

# Where links lead and providers live in the files; a run puts its own address here.
PROVIDER_URL = "http://127.0.0.1:9"
PROVIDERS = ("sim", "sim-nokey")
