"""When to try again. Pure: a policy returns a time, it never sleeps nor writes.

Exponential without a counter: the next wait is the time already waited, so the n-th look stands at
floor x 2^n after the anchor whatever was written in between.
"""

from __future__ import annotations

JITTER = 0.2


def doubling(anchor: int, now: int, *, floor: int, cap: int, jitter: float = 0.0) -> int:
    """The next look, in ms after the epoch: the time since `anchor` again, within [floor, cap].

    `jitter` in [0, 1) spreads it by up to JITTER upwards, never below the floor.
    """
    wait = min(max(now - anchor, floor), cap)
    return now + wait + int(wait * JITTER * jitter)


def step(attempt: int, *, floor: int, cap: int, jitter: float = 0.0) -> int:
    """The wait in ms before try number `attempt` + 1: floor x 2^(attempt - 1), at most cap, plus jitter."""
    wait = min(floor << max(0, min(attempt - 1, 30)), cap)
    return wait + int(wait * JITTER * jitter)
