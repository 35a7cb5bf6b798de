"""States of a job, their ranks and the words that the public API uses for them.

Every state's comment says what puts a job there, what takes it out and what happens after a crash;
`docs/lifecycle.md` is compared with this module by a test.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a job stands. A transition strictly raises the rank; that is what one-way means."""

    # Put there by submit; left by the claim, a cancel or the start deadline.
    # After a crash relay or reconcile wakes dispatch again.
    PENDING = "pending"
    # Put there by the claim, which takes a slot in the same write; left by the provider's answer, a
    # webhook, a lookup or a person; while idle also by cancel and the start deadline.
    # After a crash it is resumed with the same key where that is safe, else it shows attention.
    SUBMITTING = "submitting"
    # Put there by dispatch, intake or lookup together with the provider's job id; left by a webhook or
    # poll about that id. After a crash reconcile polls.
    RUNNING = "running"
    # Put there by intake or a poll that says the provider succeeded; left by store.
    # After a crash reconcile wakes store again.
    STORING = "storing"
    # Terminal: never left. After a crash relay or reconcile publishes.
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


RANK: dict[State, int] = {
    State.PENDING: 0,
    State.SUBMITTING: 1,
    State.RUNNING: 2,
    State.STORING: 3,
    State.SUCCEEDED: 4,
    State.FAILED: 4,
    State.CANCELED: 4,
}

TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELED})
OPEN = frozenset(State) - TERMINAL
HOLDS_SLOT = frozenset({State.SUBMITTING, State.RUNNING})

PUBLIC_STATUS: dict[State, str] = {
    State.PENDING: "pending",
    State.SUBMITTING: "pending",
    State.RUNNING: "running",
    State.STORING: "running",
    State.SUCCEEDED: "succeeded",
    State.FAILED: "failed",
    State.CANCELED: "canceled",
}


class Outcome(StrEnum):
    """What is known of one attempt to submit."""

    OPEN = "open"
    NOT_ACCEPTED = "not_accepted"
    AMBIGUOUS = "ambiguous"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why a job shows attention: an open question that only evidence or a person answers."""

    AMBIGUOUS_SUBMISSION = "ambiguous_submission"
    OVERDUE = "overdue"
    PROVIDER_LOST = "provider_lost"
    RESULT_UNAVAILABLE = "result_unavailable"
    DEAD_LETTER = "dead_letter"


class FindingKind(StrEnum):
    """Something a person should know that blocks nothing."""

    LATE_RESULT = "late_result"
    EXTRA_SUBMISSION = "extra_submission"


class ErrorCode(StrEnum):
    """Why a job failed, in words a caller can act on."""

    REJECTED = "rejected"
    CONTENT_MODERATED = "content_moderated"
    PROVIDER_ERROR = "provider_error"
    INVALID_RESULT = "invalid_result"
    EXPIRED_IN_QUEUE = "expired_in_queue"
    FAILED_BY_OPERATOR = "failed_by_operator"


class Source(StrEnum):
    """Who brought the news that a history entry records."""

    API = "api"
    DISPATCH = "dispatch"
    WEBHOOK = "webhook"
    POLL = "poll"
    STORE = "store"
    OPERATOR = "operator"
    SYSTEM = "system"
