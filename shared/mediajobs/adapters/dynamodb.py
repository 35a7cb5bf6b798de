"""The table, as `ports.Store`."""

from __future__ import annotations

from typing import Any

from mediajobs.adapters.table.calls import Calls, Meter
from mediajobs.adapters.table.details import Details
from mediajobs.adapters.table.heads import Heads
from mediajobs.adapters.table.providers import ProviderRows
from mediajobs.adapters.table.queries import Queries
from mediajobs.clock import Chance, Clock

PAGE_SIZE = 250


class DynamoStore(Heads, Queries, ProviderRows, Details):
    """One table. `client` is a low-level DynamoDB client made by `aws.client`.

    `detail_days` is how long spilled links and outputs are kept; `meter` is told what each call cost.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        clock: Clock,
        chance: Chance,
        detail_days: int = 60,
        page_size: int = PAGE_SIZE,
        meter: Meter | None = None,
    ) -> None:
        calls = Calls(client, table, clock, chance, meter)
        Heads.__init__(self, calls, chance, detail_days)
        Queries.__init__(self, calls, page_size)
        ProviderRows.__init__(self, calls, chance)
        Details.__init__(self, calls)
