"""Callbacks: a tenant's registration, one event on its way to it, and the rules for both. Pure.

What is known of a delivery stands where it cannot be lost apart from it: in its own message. SQS keeps when the message
was sent and brings it again; the registration keeps how the receiver fares. Nothing is written for a happy callback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from mediajobs.backoff import doubling, step

SECOND, HOUR = 1000, 3_600_000
LIFE_MS = 72 * HOUR  # of an event, from when it was queued
FIRST_WAIT_MS, LONGEST_WAIT_MS = 10 * SECOND, 3 * HOUR
FIRST_HOLD_MS, LONGEST_HOLD_MS = 5 * SECOND, 300 * SECOND
LONGEST_ASKED_MS = HOUR  # of what a receiver may ask for by Retry-After
PROBE_MS = 15 * SECOND  # longer than one attempt may take
HEEDED_MS = 900 * SECOND  # within which SNS heeds a changed filter
MOST_SECRETS = 3


class Ended(StrEnum):
    """Why a registration is over."""

    OPERATOR = "operator"
    GONE = "gone"  # the receiver answered 410


class Verdict(StrEnum):
    """What became of a message for this time. The last two come again."""

    DELIVERED = "delivered"
    NOBODY = "nobody"  # no registration any more
    GONE = "gone"
    GIVEN_UP = "given up"
    FAILED = "failed"
    HELD = "held"  # not tried: this receiver fails, and another event is its probe


AGAIN = frozenset({Verdict.FAILED, Verdict.HELD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A signing secret, `whsec_` and base64; in force until `until` (None: until it is rotated)."""

    value: str = field(repr=False)
    since: int
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Where a tenant hears of its jobs. Ended ones stay for operators to see, without their secrets."""

    tenant: str
    address: str = field(repr=False)  # a URL, which may hold a token of the tenant's own
    secrets: tuple[Secret, ...]  # the newest first
    since: int
    ended_at: int | None = None
    ended: Ended | None = None
    failures: int = 0  # attempts in a row, of all its events
    failing_since: int | None = None
    trouble: str = ""  # the last failure, in a few words
    held_until: int = 0  # while it fails: the next attempt is made after this; once ended: the topic is told again
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One event as the queue brought it. `body` goes out byte for byte; `handle` is this receive's."""

    tenant: str
    event_id: str
    body: bytes
    sent_at: int
    handle: str


class Callbacks(Protocol):
    """Tenants' registrations, the topic's subscription for them, and the queue that it feeds."""

    def registration(self, tenant: str) -> Registration | None:
        """As it is now, ended or not."""
        ...

    def save(self, before: Registration | None, after: Registration) -> bool:
        """Write `after` (its revision raised by one) if what stands there is still `before`."""
        ...

    def registered(self) -> tuple[str, ...]:
        """The tenants whose registration has not ended, in order."""
        ...

    def listen(self, tenants: Sequence[str]) -> None:
        """From now on the topic sends the queue these tenants' events and no others."""
        ...

    def later(self, notice: Notice, seconds: int) -> None:
        """Let the queue bring it again after so long."""
        ...

    def bury(self, notice: Notice, why: str) -> None:
        """Put it into the dead-letter queue of callbacks."""
        ...


def next_revision(registration: Registration) -> Registration:
    """As it stands once `save` has written it."""
    return replace(registration, revision=registration.revision + 1)


def opened(tenant: str, address: str, secret: str, now: int) -> Registration:
    return Registration(tenant=tenant, address=address, secrets=(Secret(value=secret, since=now),), since=now)


def moved(registration: Registration, address: str) -> Registration:
    """At another address, with the same secrets; how the old one fared says nothing of the new one."""
    return replace(worked(registration), address=address)


def rotated(registration: Registration, secret: str, now: int, overlap_ms: int) -> Registration | None:
    """Signed with the new secret too; older ones end with the overlap at the latest. None: too many are in force."""
    until = now + overlap_ms
    kept = tuple(
        replace(old, until=until if old.until is None else min(old.until, until))
        for old in in_force(registration, now)
        if overlap_ms
    )
    if len(kept) >= MOST_SECRETS:
        return None
    return replace(registration, secrets=(Secret(value=secret, since=now), *kept))


def over(registration: Registration, why: Ended, now: int) -> Registration:
    return replace(registration, secrets=(), ended=why, ended_at=now)


def unheeded(registration: Registration, now: int) -> Registration | None:
    """One that has ended, though the topic goes on: that is told again, once an hour. None where it need not be."""
    if registration.ended_at is None or now < max(registration.ended_at + HEEDED_MS, registration.held_until):
        return None
    return replace(registration, held_until=now + HOUR)


def in_force(registration: Registration, now: int) -> tuple[Secret, ...]:
    """The secrets to sign with: a receiver may know any of them."""
    return tuple(secret for secret in registration.secrets if secret.until is None or now < secret.until)


def failed(registration: Registration, why: str, now: int, *, chance: float, asked_ms: int = 0) -> Registration:
    """Held for longer with each failure in a row, at least as long as the receiver asked for (within bounds)."""
    failures = registration.failures + 1
    hold = step(failures, floor=FIRST_HOLD_MS, cap=LONGEST_HOLD_MS, jitter=chance)
    return replace(
        registration,
        failures=failures,
        failing_since=registration.failing_since or now,
        trouble="".join(one if one.isprintable() else "?" for one in why),  # a queue's attribute holds no others
        held_until=now + max(hold, min(asked_ms, LONGEST_ASKED_MS)),
    )


def probing(registration: Registration, now: int) -> Registration:
    """One event is tried, and the others held until its end is known."""
    return replace(registration, held_until=now + PROBE_MS)


def worked(registration: Registration) -> Registration:
    return replace(registration, failures=0, failing_since=None, trouble="", held_until=0)


def wait_s(notice: Notice, registration: Registration, now: int, *, chance: float) -> int:
    """Seconds until this event's next turn: the time it has waited again, within bounds, not before the hold's end.

    So the number of receives does not grow with the length of the line. The last turn is at the end of its life.
    """
    next_at = doubling(notice.sent_at, now, floor=FIRST_WAIT_MS, cap=LONGEST_WAIT_MS, jitter=chance)
    next_at = max(min(next_at, notice.sent_at + LIFE_MS), registration.held_until)
    return max(1, -(-(next_at - now) // SECOND))


def expired(notice: Notice, now: int) -> bool:
    """Its three days are over."""
    return now >= notice.sent_at + LIFE_MS
