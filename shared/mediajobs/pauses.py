"""A provider's pause and circuit breaker, and who may take a slot. Pure.

The state stands in `S#<provider>/pause` and is read with the slot rows in one Query. It is written after
the job's own note, set only to lengthen, and reset only under the `revision` that was read at the claim, so
a success never wipes a newer pause. An operator's pause ends only by the operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from mediajobs.jobs.events import AnswerKind

AMBIGUOUS_IN_A_ROW = 5
AMBIGUOUS_STEPS_S = (30, 60, 120, 240, 480, 900)
BLOCKED_STEPS_S = (60, 120, 240, 480, 900)
PROBE_LEASE_MS = 60_000
LONGEST_MS = 900_000


class PauseReason(StrEnum):
    """Why nothing is sent to a provider for now."""

    RETRY_AFTER = "retry_after"  # it asked us to wait; just ends
    BLOCKED = "blocked"  # the account's fault; ends by a probe
    AMBIGUOUS = "ambiguous"  # five answers in a row that prove nothing; ends by a probe
    OPERATOR = "operator"  # ends by the operator


PROBED = frozenset({PauseReason.BLOCKED, PauseReason.AMBIGUOUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The provider's stored state. A healthy provider's is all defaults and costs no write."""

    reason: PauseReason | None = None
    until: int = 0
    step: int = 0
    bad: int = 0  # ambiguous answers in a row
    limit: int | None = None  # an operator's, lower than the configured one
    note: str = ""
    revision: int = 0

    def holds(self, now: int) -> bool:
        """Nothing is submitted, but for a probe."""
        if self.reason is None:
            return False
        return self.reason in PROBED or self.reason is PauseReason.OPERATOR or now < self.until

    def may_probe(self, now: int) -> bool:
        """One job may go and see whether the provider is well again."""
        return self.reason in PROBED and now >= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What one Query of `S#<provider>` tells: rows held, pause, and the waiting room's present round."""

    name: str
    held: tuple[str, ...] = ()  # row names
    holders: tuple[str, ...] = ()  # job ids, in the order of `held`
    pause: Pause = Pause()
    round: int = 0

    def limit(self, configured: int) -> int:
        """The limit in force: the configured one, or an operator's lower one."""
        return configured if self.pause.limit is None else min(configured, self.pause.limit)

    def free(self, configured: int) -> tuple[str, ...]:
        """Row names a claim may put: the first `limit - rows held` of the free numbers."""
        limit = self.limit(configured)
        rows = (f"{number:03d}" for number in range(1, limit + 1))
        unheld = [row for row in rows if row not in self.held]
        return tuple(unheld[: max(0, limit - len(self.held))])


def _step(steps: tuple[int, ...], step: int) -> int:
    return 1000 * steps[min(step, len(steps) - 1)]


def _paused(pause: Pause, reason: PauseReason, now: int, step: int, note: str) -> Pause:
    steps = BLOCKED_STEPS_S if reason is PauseReason.BLOCKED else AMBIGUOUS_STEPS_S
    # Only ever longer: what a provider asked for, or an earlier pause, is not cut short.
    return replace(pause, reason=reason, until=max(pause.until, now + _step(steps, step)), step=step, note=note)


def after_answer(pause: Pause, kind: AnswerKind, now: int, *, probe: bool, retry_at: int | None, note: str) -> Pause:
    """The provider's state after one answer to a submit; equal to `pause` where nothing is to be written."""
    if pause.reason is PauseReason.OPERATOR:
        return pause
    if kind in (AnswerKind.ACCEPTED, AnswerKind.REJECTED):
        if not probe and pause.reason in PROBED:
            return pause  # an answer from before the pause does not end it
        return replace(pause, reason=None, until=0, step=0, bad=0, note="")
    if kind is AnswerKind.BLOCKED:
        return _after_blocked(pause, now, probe=probe, note=note)
    if kind is AnswerKind.AMBIGUOUS:
        return _after_ambiguous(pause, now, probe=probe, note=note)
    if retry_at is None:
        return pause
    return _retry_after(pause, now, retry_at, probe=probe, note=note)


def _after_blocked(pause: Pause, now: int, *, probe: bool, note: str) -> Pause:
    if probe and pause.reason in PROBED:
        return _paused(pause, PauseReason.BLOCKED, now, pause.step + 1, note)
    return pause if pause.reason is PauseReason.BLOCKED else _paused(pause, PauseReason.BLOCKED, now, 0, note)


def _after_ambiguous(pause: Pause, now: int, *, probe: bool, note: str) -> Pause:
    counted = replace(pause, bad=min(pause.bad + 1, AMBIGUOUS_IN_A_ROW))
    if pause.reason in PROBED:
        return _paused(counted, pause.reason, now, pause.step + 1, note) if probe and pause.reason else pause
    if counted.bad < AMBIGUOUS_IN_A_ROW:
        return counted
    return _paused(counted, PauseReason.AMBIGUOUS, now, 0, note)


def _retry_after(pause: Pause, now: int, retry_at: int, *, probe: bool, note: str) -> Pause:
    until = min(retry_at, now + LONGEST_MS)
    if pause.reason is not None and pause.reason in PROBED:
        # 429 to a probe says nothing of the account: again at the same step.
        again = _paused(pause, pause.reason, now, pause.step, note)
        return replace(again, until=max(until, again.until)) if probe else pause
    if until <= max(now, pause.until):
        return pause
    return replace(pause, reason=PauseReason.RETRY_AFTER, until=until, note=note)


def leased(pause: Pause, now: int) -> Pause:
    """The probe's own mark: `until` moved on, so that the next job goes only when this one ended silently."""
    return replace(pause, until=now + PROBE_LEASE_MS)
