"""What an answer to a submit proves (DESIGN section 3, PROTOCOL H2, CASES 9 and 42)."""

from __future__ import annotations

from typing import Any

import pytest

from mediajobs.errors import ConfigurationError, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.jobs.events import Answered, AnswerKind
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Response
from tests.fakes.secrets import MemorySecrets
from tests.unit.providers.kit import KEY, NOW, WEBHOOK_URL, ScriptedHttp, adapter, job, said, secrets

MINUTE = 60_000


def submit(answer: Response | Exception, *edits: tuple[str, str]) -> tuple[Answered, ScriptedHttp]:
    http = ScriptedHttp(answer)
    made = adapter(http, None, *edits)
    request = made.request(job(), {"prompt": "a red bicycle"}, WEBHOOK_URL)
    return made.submit(request, "token-1", 3, NOW), http


# fmt: off
OUTCOMES: list[tuple[str, Response | Exception, AnswerKind]] = [
    ("accepted", said(201, {"id": "p-1", "status": "queued"}), AnswerKind.ACCEPTED),
    ("accepted with 200", said(200, {"id": "p-1"}), AnswerKind.ACCEPTED),
    ("accepted, NaN in a metric", said(200, raw=b'{"id": "p-1", "cost": NaN}'), AnswerKind.ACCEPTED),
    ("accepted, with a byte order mark", said(200, raw=b'\xef\xbb\xbf{"id": "p-1"}'), AnswerKind.ACCEPTED),
    ("200 without an id", said(200, {"status": "queued"}), AnswerKind.AMBIGUOUS),
    ("200 with a null id", said(200, {"id": None}), AnswerKind.AMBIGUOUS),
    ("200 with a number for an id", said(200, {"id": 7}), AnswerKind.AMBIGUOUS),
    ("200 with an empty id", said(200, {"id": ""}), AnswerKind.AMBIGUOUS),
    ("200 with an endless id", said(200, {"id": "x" * 257}), AnswerKind.AMBIGUOUS),
    ("200 that is HTML", said(200, raw=b"<html>sign in</html>"), AnswerKind.AMBIGUOUS),
    ("200 cut short", said(200, raw=b'{"id": "p'), AnswerKind.AMBIGUOUS),
    ("200 with a list", said(200, ["p-1"]), AnswerKind.AMBIGUOUS),
    ("200 and refused content, but no id", said(200, {"error": {"code": "content_moderated"}}), AnswerKind.AMBIGUOUS),
    ("204", said(204, raw=b""), AnswerKind.AMBIGUOUS),
    ("302", said(302, {}, location="https://elsewhere.example"), AnswerKind.AMBIGUOUS),
    ("400", said(400, {"error": {"code": "bad", "message": "no"}}), AnswerKind.REJECTED),
    ("413", said(413, raw=b"too large"), AnswerKind.REJECTED),
    ("422", said(422, {}), AnswerKind.REJECTED),
    ("a 4xx with a code for refused content", said(451, {"error": {"code": "content_moderated"}}), AnswerKind.REJECTED),
    ("a blocked status with that code", said(403, {"error": {"code": "content_moderated"}}), AnswerKind.REJECTED),
    ("a 500 with that code", said(500, {"error": {"code": "content_moderated"}}), AnswerKind.AMBIGUOUS),
    ("402", said(402, {}), AnswerKind.BLOCKED),
    ("403", said(403, raw=b"<html>"), AnswerKind.BLOCKED),
    ("429", said(429, {}), AnswerKind.NOT_ACCEPTED),
    ("409 in progress", said(409, {"error": {"code": "request_in_progress"}}), AnswerKind.AMBIGUOUS),
    ("404, in no list", said(404, {}), AnswerKind.AMBIGUOUS),
    ("408, in no list", said(408, {}), AnswerKind.AMBIGUOUS),
    ("500", said(500, {}), AnswerKind.AMBIGUOUS),
    ("502", said(502, raw=b"bad gateway"), AnswerKind.AMBIGUOUS),
    ("503 alone", said(503, {}), AnswerKind.AMBIGUOUS),
    ("503 with a Retry-After of no meaning", said(503, {}, retry_after="soon"), AnswerKind.AMBIGUOUS),
    ("503 with Retry-After, which is listed", said(503, {}, retry_after="7"), AnswerKind.NOT_ACCEPTED),
    ("500 with Retry-After", said(500, {}, retry_after="7"), AnswerKind.AMBIGUOUS),
    ("no byte sent", NotSent("connection refused"), AnswerKind.NOT_ACCEPTED),
    ("no answer", NoAnswer("read timed out"), AnswerKind.AMBIGUOUS),
    ("an address we do not call", UnsafeUrl("10.0.0.1 is private"), AnswerKind.BLOCKED),
]
# fmt: on


@pytest.mark.parametrize(("answer", "kind"), [case[1:] for case in OUTCOMES], ids=[case[0] for case in OUTCOMES])
def test_only_proof_says_accepted_or_not_accepted(answer: Response | Exception, kind: AnswerKind) -> None:
    """One request goes out; its answer is the owner's, and an id comes only with accepted."""
    answered, http = submit(answer)
    assert answered.kind is kind
    assert (answered.token, answered.submission) == ("token-1", 3)
    assert answered.provider_job_id == ("p-1" if kind is AnswerKind.ACCEPTED else None)
    assert len(http.submits) == 1
    assert kind is AnswerKind.ACCEPTED or answered.message


def test_503_is_ambiguous_unless_it_is_listed() -> None:
    """PROTOCOL H2: a gateway sends it also after the job was made."""
    unlisted = ("not_accepted_with_retry_after = [503]", "")
    listed = ("not_accepted_with_retry_after = [503]", "not_accepted = [429, 503]")
    assert submit(said(503, {}, retry_after="7"), unlisted)[0].kind is AnswerKind.AMBIGUOUS
    assert submit(said(503, {}), listed)[0].kind is AnswerKind.NOT_ACCEPTED


@pytest.mark.parametrize("status", [400, 451])
def test_refused_content_is_told_apart_from_a_wrong_request(status: int) -> None:
    """A caller can change a prompt."""
    answered, _ = submit(said(status, {"error": {"code": "content_moderated", "message": "the prompt"}}))
    assert (answered.kind, answered.code) == (AnswerKind.REJECTED, ErrorCode.CONTENT_MODERATED)
    assert answered.message == f"HTTP {status}: the prompt"
    assert submit(said(400, {"error": {"code": "other"}}))[0].code is ErrorCode.REJECTED


# fmt: off
WAITS: list[tuple[str, int | None]] = [
    ("7", 7_000), ("1.5", 1_500), ("0", 0), ("-3", 0), (" 7 ", 7_000), ("", None), ("soon", None), ("7, 7", None),
    ("Wed, 21 Oct 2026 07:28:00 GMT", 0),                 # long past
    ("Fri, 15 Jan 2027 08:05:00 GMT", 5 * MINUTE),
    ("Fri, 15 Jan 2027 10:00:00 GMT", 15 * MINUTE),       # two hours ahead: our cap
    ("Fri, 15 Jan 99999 08:05:00 GMT", None),
    ("Fri, 15 Jan 9999 08:05:00 -2359", 15 * MINUTE),
    ("1" + "0" * 400, 15 * MINUTE), ("9" * 5000, 15 * MINUTE), ("1e9", None), ("nan", None), ("inf", None),
    ("\uff11\uff17", None), ("-" + "9" * 400, 0), (".5", 500), ("\x00", None),
]
# fmt: on


@pytest.mark.parametrize(("text", "wait"), WAITS, ids=[repr(text[:20]) for text, _ in WAITS])
def test_retry_after_becomes_a_wait_between_0_and_15_minutes(text: str, wait: int | None) -> None:
    """CASES 42: whole milliseconds, and nothing where the header says nothing; the backoff is another's."""
    retry_at = submit(said(429, {}, retry_after=text))[0].retry_at
    assert retry_at == (None if wait is None else NOW + wait)
    assert retry_at is None or isinstance(retry_at, int)


def test_a_date_counts_from_the_answers_own_date() -> None:
    """The provider's clock and ours need not agree."""
    answer = said(429, {}, retry_after="Wed, 21 Oct 2026 07:28:30 GMT", date="Wed, 21 Oct 2026 07:28:00 GMT")
    assert submit(answer)[0].retry_at == NOW + 30_000


def test_a_message_is_bounded_and_holds_no_secret() -> None:
    """Providers like to repeat what they were sent."""
    text = f"Incorrect API key provided: {KEY}. Webhook {WEBHOOK_URL}?a=b was not called. " + "x" * 5000
    message = submit(said(401, {"error": {"message": text}}))[0].message
    assert len(message) == 200
    assert message.startswith("HTTP 401: Incorrect API key provided: ***. Webhook https://jobs.example/*** was not")
    assert KEY not in submit(NoAnswer(f"Bearer {KEY}"))[0].message


def test_a_secret_at_the_cut_is_not_half_told() -> None:
    """Secrets go first, then the length."""
    message = submit(said(400, {"error": {"message": "y" * 180 + " " + KEY}}))[0].message
    assert KEY[:6] not in message


@pytest.mark.parametrize("value", [{"a": []}, ["x"], 5, True, "\ud800", "a\n\tb\x00"])
def test_an_error_text_of_any_type_becomes_one_line(value: Any) -> None:
    """It is stored and shown, so it can be encoded and has no control of the line."""
    message = submit(said(400, {"error": {"message": value}}))[0].message
    assert message.encode()
    assert "\n" not in message


def refused_then(*answers: Response | Exception, status: int = 401) -> tuple[Answered, ScriptedHttp]:
    """A refusal of the key while another one is stored already, and what comes then."""
    kept = secrets()
    kept.provider("acme")  # cached by now
    kept.put("acme", "sk-new")
    http = ScriptedHttp(said(status, {}), *answers)
    made = adapter(http, kept)
    request = made.request(job(), {"prompt": "a"}, None)
    return made.submit(request, "t", 1, NOW), http


@pytest.mark.parametrize("status", [401, 403])
def test_a_rotated_key_is_used_at_once(status: int) -> None:
    """The status is listed: it proves that nothing was accepted, so a second send charges nobody twice."""
    answered, http = refused_then(said(201, {"id": "p-1"}), status=status)
    assert answered.kind is AnswerKind.ACCEPTED
    assert [sent.headers["Authorization"] for sent in http.submits] == [f"Bearer {KEY}", "Bearer sk-new"]
    assert http.submits[0].body == http.submits[1].body


def test_the_second_answer_counts() -> None:
    """A second request that may have been accepted makes the attempt ambiguous."""
    assert refused_then(NoAnswer("reset"))[0].kind is AnswerKind.AMBIGUOUS
    answered, http = refused_then(said(401, {}))
    assert answered.kind is AnswerKind.BLOCKED
    assert len(http.submits) == 2


def test_the_same_key_is_not_sent_again() -> None:
    """A forced look that brings nothing new ends it."""
    kept = secrets()
    http = ScriptedHttp(said(401, {}))
    made = adapter(http, kept)
    assert made.submit(made.request(job(), {}, None), "t", 1, NOW).kind is AnswerKind.BLOCKED
    assert kept.refreshes == ["acme"]
    assert len(http.submits) == 1


def test_a_401_that_is_not_listed_is_never_followed_by_a_second_send() -> None:
    """It proves nothing; the new key is fetched for the next attempt all the same."""
    kept = secrets()
    kept.provider("acme")
    kept.put("acme", "sk-new")
    http = ScriptedHttp(said(401, {}))
    made = adapter(http, kept, ("not_accepted_with_retry_after = [503]", "blocked = [402]"))
    assert made.submit(made.request(job(), {}, None), "t", 1, NOW).kind is AnswerKind.AMBIGUOUS
    assert len(http.submits) == 1
    assert kept.provider("acme")["api_key"] == "sk-new"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(ConfigurationError("There is no secret"), AnswerKind.BLOCKED), (Retryable("throttled"), AnswerKind.NOT_ACCEPTED)],
)
def test_without_the_secret_nothing_is_sent(fault: Exception, kind: AnswerKind) -> None:
    """And that is known, so the job is not held for a person."""
    kept = MemorySecrets(fail=fault)
    http = ScriptedHttp()
    made = adapter(http, kept)
    assert made.submit(made.request(job(), {}, None), "t", 1, NOW).kind is kind
    assert not http.submits
