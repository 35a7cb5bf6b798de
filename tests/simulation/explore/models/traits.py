"""What the providers of the models can do."""

from __future__ import annotations

from mediajobs.jobs.events import Traits
from tests.simulation.explore.model import DAY_S

KEYED = Traits(provider="sim", idempotent=True, key_life_s=DAY_S, cancel=True, max_run_s=7200)
SHORT_KEY = Traits(provider="sim", idempotent=True, key_life_s=400, cancel=True, max_run_s=7200)
PLAIN = Traits(provider="sim", cancel=True, max_run_s=7200)
SHORT_RUN = Traits(provider="sim", cancel=True, max_run_s=600, expected_s=100)
LOSING = Traits(provider="sim", cancel=True, max_run_s=600, expected_s=100, lost_after=1)
NO_CANCEL = Traits(provider="sim", idempotent=True, key_life_s=DAY_S, max_run_s=7200)
FOUND = Traits(provider="sim", lookup=True, cancel=True, max_run_s=7200)
HINTED = Traits(provider="sim", idempotent=True, key_life_s=DAY_S, cancel=True, webhooks=False, max_run_s=7200)
ACCOUNT = Traits(provider="sim", cancel=True, max_run_s=7200, account_webhooks=True)
