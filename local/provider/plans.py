"""What will happen to one job and to one submission of it, decided from named faults.

Everything here is a pure function of the seed and of names, so the same run can be had again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from local.provider.settings import MODELS, Settings

Value = bool | int | float | str
Faults = Mapping[str, Value]
Draw = Callable[[str], float]

ALWAYS = 1_000_000_000
OLD_TIMESTAMP_S = 600.0
# The longest run time a client may ask for; it keeps a slip of the pen from holding a slot for ever.
LONGEST_S = 60.0

# Of each group at most one fault hits a job or a submission.
BEFORE = ("unavailable_before", "rate_limited_before")
AFTER = ("close_after", "error_after", "unavailable_after", "no_id_after")
LOSS = ("drop", "drop_terminal")
REPEAT = ("repeat_2", "repeat_5")
LIFE = ("never_finish", "lost", "unknown_final", "provider_fails")
CONTENT = ("wrong_type", "wrong_type_always", "truncated", "truncated_always", "empty", "empty_always")
SINGLE = ("reorder", "delay", "webhook_first", "expired_url", "unknown_word", "poll_error")
JOB_GROUPS = (LOSS, REPEAT, LIFE, CONTENT, *((name,) for name in SINGLE))
DRAWN = frozenset(name for group in (BEFORE, AFTER, *JOB_GROUPS) for name in group) | {"blocked"}
# Only a script can ask for these: they shape a forced fault.
SCRIPTED = frozenset(
    {"old_timestamp", "duration_s", "retry_after_s", "slow_answer_s", "slow_poll_s", "slow_download_s", "dead_link"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPlan:
    """What happens to one submission: refused before the job exists, or answered badly after."""

    before: str = ""
    after: str = ""
    retry_after_s: int = 1
    slow_answer_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The whole simulated life of one accepted job, fixed when it is accepted."""

    queue_s: float
    duration_s: float
    ending: str = "completed"
    drop: str = ""
    repeat: int = 1
    reorder: bool = False
    delay_s: float = 0.0
    old_timestamp: bool = False
    webhook_first: str = ""
    expired_url: bool = False
    content: str = ""
    bad_downloads: int = 0
    unknown_word: bool = False
    poll_errors: int = 0
    # The first answer of its kind is held back so long; whoever waits for it can be killed meanwhile.
    slow_poll_s: float = 0.0
    slow_download_s: float = 0.0
    faults: tuple[str, ...] = ()


def drawer(seed: int, *names: object) -> Draw:
    """A source of one number in [0, 1) per word, the same for the same seed and names."""
    base = ":".join(map(str, (seed, *names)))

    def draw(word: str) -> float:
        digest = hashlib.blake2b(f"{base}:{word}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64

    return draw


def pick(group: tuple[str, ...], chances: Mapping[str, float], draw: Draw) -> str:
    """The one fault of the group that hits, or the empty word: chances of a group add up."""
    left = draw("|".join(group))
    for name in group:
        left -= chances.get(name, 0.0)
        if left < 0:
            return name
    return ""


def drawn_faults(groups: tuple[tuple[str, ...], ...], chances: Mapping[str, float], draw: Draw) -> Faults:
    """The faults that hit by chance, each group on its own draw."""
    names = (pick(group, chances, draw) for group in groups)
    return {name: True for name in names if name}


def submit_plan(faults: Faults, attempt: int, draw: Draw) -> SubmitPlan:
    """The plan of one attempt; a forced fault with a number n hits the first n attempts only."""
    hits = [name for name in (*BEFORE, *AFTER) if attempt < int(faults.get(name, 0))]
    slow = float(faults.get("slow_answer_s", 0.0)) if attempt == 0 else 0.0
    return SubmitPlan(
        before=next((name for name in hits if name in BEFORE), ""),
        after=next((name for name in hits if name in AFTER), ""),
        retry_after_s=int(faults.get("retry_after_s", 1 + int(2 * draw("retry_after")))),
        slow_answer_s=slow,
    )


def job_plan(faults: Faults, model: str, asked_s: float | None, settings: Settings, draw: Draw) -> JobPlan:
    """The plan of one job: its model's nature, what its input asks for, and its faults."""
    on = {name: value for name, value in faults.items() if value}
    delay_s, old = _delay(on, draw)
    content, bad_downloads = _content(on)
    return JobPlan(
        queue_s=0.0 if "webhook_first" in on else settings.expected_s * (0.02 + 0.05 * draw("queue")),
        duration_s=_duration(on, model, asked_s, settings, draw),
        ending=_ending(on, model),
        drop="all" if "drop" in on else "terminal" if "drop_terminal" in on else "",
        repeat=5 if "repeat_5" in on else 2 if "repeat_2" in on else 1,
        reorder="reorder" in on,
        delay_s=delay_s,
        old_timestamp=old,
        webhook_first=_first(on, draw),
        expired_url="expired_url" in on,
        content=content,
        bad_downloads=bad_downloads,
        unknown_word="unknown_word" in on,
        poll_errors=int(on.get("poll_error", 0)),
        slow_poll_s=float(on.get("slow_poll_s", 0.0)),
        slow_download_s=float(on.get("slow_download_s", 0.0)),
        faults=tuple(sorted(on)),
    )


def _duration(on: Faults, model: str, asked_s: float | None, settings: Settings, draw: Draw) -> float:
    if "duration_s" in on:
        return float(on["duration_s"])
    if asked_s is not None:
        return min(max(asked_s, 0.0), LONGEST_S)
    factor = MODELS[model].factor
    if factor is None:
        # Two draws make the middle likelier: 1 to 6 s around the expected 4 s.
        factor = 0.25 + 1.25 * (draw("duration") + draw("duration again")) / 2
    return settings.expected_s * factor


def _ending(on: Faults, model: str) -> str:
    if "lost" in on:
        return "lost"
    if "never_finish" in on:
        return "gone"
    if "unknown_final" in on:
        return "archived"
    return "failed" if "provider_fails" in on or MODELS[model].fails else "completed"


def _delay(on: Faults, draw: Draw) -> tuple[float, bool]:
    """Five to ninety seconds, half of them also signed with an old time."""
    forced_old = bool(on.get("old_timestamp", False))
    if "delay" not in on:
        return 0.0, forced_old
    if on["delay"] is True:
        return 5 + 85 * draw("delay length"), forced_old or draw("delay age") < 0.5
    return float(on["delay"]), forced_old


def _first(on: Faults, draw: Draw) -> str:
    """Which event is to arrive before the answer to the submission."""
    value = on.get("webhook_first")
    if value in ("running", "terminal"):
        return str(value)
    if value is None:
        return ""
    return "terminal" if draw("first") < 0.3 else "running"


def _content(on: Faults) -> tuple[str, int]:
    for name in (*CONTENT, "dead_link"):
        if name in on:
            kind = name.removesuffix("_always")
            return kind, ALWAYS if name != kind else int(on[name])
    return "", 0
