"""The edge of the function that the schedule calls. Apart from `batches`, whose packages it has no use for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tick_of(event: Mapping[str, Any], request_id: str) -> str:
    """What tells one tick from the next: the schedule's time, the same for its retries.

    Where the scheduler hands it over unsubstituted (`<aws.…>`) or not at all, the request's own id.
    """
    time = event.get("scheduled_time")
    if isinstance(time, str) and time and not time.startswith("<"):
        return time
    return request_id
