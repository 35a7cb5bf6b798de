"""What happens when in a run: pure in the seed, so that a run can be had again as far as its machine allows."""

from __future__ import annotations

from dataclasses import dataclass

from local.provider.plans import Draw, drawer

TENANTS = ("demo", "bakery", "garden")
WAVES = 8
# Of the load's time: waves end early enough for faults to meet the last of them.
_FIRST_WAVE, _LAST_WAVE = 0.02, 0.85
_CANCELED = 0.1
# Seconds between two kills; closer together, a slow machine would do nothing but start processes.
_KILL_EVERY_S = (3.0, 7.0)
_KILLS_FROM, _KILLS_TO = 0.04, 0.97


@dataclass(frozen=True)
class Task:
    """One job to submit at a moment of the load, and when, if at all, its caller thinks better of it."""

    at_s: float
    number: int
    tenant: str
    provider: str
    key: str
    cancel_after_s: float | None


@dataclass(frozen=True)
class Step:
    """One trouble at a moment of the load."""

    at_s: float
    what: str


@dataclass(frozen=True)
class Plan:
    """The whole load."""

    load_s: float
    tasks: tuple[Task, ...]
    steps: tuple[Step, ...]
    kills: tuple[float, ...]


def plan(seed: int, jobs: int, minutes: float) -> Plan:
    """Waves of jobs by several tenants, the schedule off for a while, two provider restarts, one redeploy, kills."""
    load_s = minutes * 60
    return Plan(
        load_s=load_s,
        tasks=tuple(_task(seed, number, jobs, load_s) for number in range(jobs)),
        steps=(
            Step(0.10 * load_s, "schedule off"),
            Step(0.37 * load_s, "schedule on"),
            Step(0.42 * load_s, "restart provider"),
            Step(0.50 * load_s, "redeploy"),
            Step(0.80 * load_s, "restart provider"),
        ),
        kills=_kills(drawer(seed, "kills"), load_s),
    )


def _task(seed: int, number: int, jobs: int, load_s: float) -> Task:
    draw = drawer(seed, "task", number)
    wave = number * WAVES // jobs
    at = _FIRST_WAVE + (_LAST_WAVE - _FIRST_WAVE) * wave / max(1, WAVES - 1)
    return Task(
        at_s=at * load_s,
        number=number,
        tenant=TENANTS[int(draw("tenant") * len(TENANTS))],
        provider="sim" if draw("provider") < 0.6 else "sim-nokey",
        key=f"soak-{seed}-{number}",
        cancel_after_s=8 * draw("cancel after") if draw("cancel") < _CANCELED else None,
    )


def _kills(draw: Draw, load_s: float) -> tuple[float, ...]:
    least, most = _KILL_EVERY_S
    moments = [_KILLS_FROM * load_s]
    while moments[-1] < _KILLS_TO * load_s:
        moments.append(moments[-1] + least + (most - least) * draw(f"gap {len(moments)}"))
    return tuple(moments[:-1])
