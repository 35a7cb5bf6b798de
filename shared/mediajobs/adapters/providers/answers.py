"""What the provider's answer to a submit proves: the outcome table of docs/lifecycle.md, read strictly.

Proof is a status that the configuration lists, or an id in a 2xx. Everything else may have been accepted: a gateway
answers 503 also when the service behind it took the job and then went away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.config import Answers
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.vocabulary import Vocabulary
from mediajobs.jobs.events import Answered, AnswerKind
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Response


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Whose answer it is, and when it came."""

    token: str
    submission: int
    now: int

    def answered(self, kind: AnswerKind, message: str, *, wait_s: float | None = None) -> Answered:
        """An answer without an id; `wait_s` is what the provider asked for, None where it did not."""
        retry_at = None if wait_s is None else self.now + round(wait_s * 1000)
        return Answered(
            kind=kind,
            token=self.token,
            submission=self.submission,
            message=message[: reading.MOST_MESSAGE],
            retry_at=retry_at,
        )


def read_answer(
    response: Response, attempt: Attempt, *, lists: Answers, vocabulary: Vocabulary, secrets: Iterable[str]
) -> Answered:
    """The outcome of the attempt that `response` answers. Never raises for anything in it.

    An id in a 2xx is a job, whatever else is said; a code that is listed counts for more than the status.
    """
    status, body = response.status, loose(response.body)
    code = vocabulary.code(body)
    accepted = _accepted(body, status, attempt, vocabulary) if 200 <= status < 300 else None
    if accepted is not None and (code is None or accepted.kind is AnswerKind.ACCEPTED):
        return accepted
    message = f"HTTP {status}: {vocabulary.message(body, secrets) or code or ''}".rstrip(": ")
    wait_s = reading.wait_s(response.headers, attempt.now)
    if status < 500 and vocabulary.moderated(body):
        return Answered(
            kind=AnswerKind.REJECTED,
            token=attempt.token,
            submission=attempt.submission,
            code=ErrorCode.CONTENT_MODERATED,
            message=message[: reading.MOST_MESSAGE],
        )
    kind = _by_code(code, lists) or _proof(status, lists, asked_to_wait=wait_s is not None)
    return attempt.answered(kind, message, wait_s=wait_s)


def _accepted(body: object, status: int, attempt: Attempt, vocabulary: Vocabulary) -> Answered:
    try:
        provider_job_id = vocabulary.id(body)
    except Unusable as fault:
        return attempt.answered(AnswerKind.AMBIGUOUS, f"HTTP {status}, but {fault}")
    if provider_job_id is None:
        return attempt.answered(AnswerKind.AMBIGUOUS, f"HTTP {status} without a job id")
    return Answered(
        kind=AnswerKind.ACCEPTED,
        token=attempt.token,
        submission=attempt.submission,
        provider_job_id=provider_job_id,
        poll_url=vocabulary.poll_url(body),
    )


def _by_code(code: str | None, lists: Answers) -> AnswerKind | None:
    if code is None:
        return None
    if code in lists.rejected_codes:
        return AnswerKind.REJECTED
    if code in lists.blocked_codes:
        return AnswerKind.BLOCKED
    return AnswerKind.NOT_ACCEPTED if code in lists.not_accepted_codes else None


def _proof(status: int, lists: Answers, *, asked_to_wait: bool) -> AnswerKind:
    if status in lists.rejected:
        return AnswerKind.REJECTED
    if status in lists.blocked:
        return AnswerKind.BLOCKED
    if status in lists.not_accepted or (asked_to_wait and status in lists.not_accepted_with_retry_after):
        return AnswerKind.NOT_ACCEPTED
    return AnswerKind.AMBIGUOUS


def loose(body: bytes) -> object:
    """The JSON in an answer, None where it is none."""
    try:
        return reading.document(body, strict=False)
    except Unusable:
        return None
