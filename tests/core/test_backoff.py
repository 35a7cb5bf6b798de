"""Backoff: the n-th look stands at floor x 2^n after the anchor, whatever happened in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mediajobs import backoff

TIMES = st.integers(0, 10**13)
WAITS = st.integers(1, 10**8)


def test_looks_double_from_the_floor_to_the_cap() -> None:
    now, looks = 0, []
    for _ in range(7):
        now = backoff.doubling(0, now, floor=10, cap=100)
        looks.append(now)
    assert looks == [10, 20, 40, 80, 160, 260, 360]


def test_tries_double_from_the_floor_to_the_cap() -> None:
    assert [backoff.step(n, floor=5, cap=30) for n in (0, 1, 2, 3, 4, 5, 10**9)] == [5, 5, 10, 20, 30, 30, 30]


@given(TIMES, TIMES, WAITS, WAITS, st.floats(0, 0.999))
def test_a_look_is_ahead_and_within_floor_and_cap_and_jitter(
    anchor: int, now: int, floor: int, more: int, jitter: float
) -> None:
    cap = floor + more
    when = backoff.doubling(anchor, now, floor=floor, cap=cap, jitter=jitter)
    assert isinstance(when, int)
    assert now + floor <= when <= now + cap + cap * backoff.JITTER


@given(st.integers(-5, 10**6), WAITS, WAITS, st.floats(0, 0.999))
def test_a_try_is_within_floor_and_cap_and_jitter(attempt: int, floor: int, more: int, jitter: float) -> None:
    cap = floor + more
    wait = backoff.step(attempt, floor=floor, cap=cap, jitter=jitter)
    assert isinstance(wait, int)
    assert floor <= wait <= cap + cap * backoff.JITTER
