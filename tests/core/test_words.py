"""`out`: what relay is told, exactly as the design says; and where slots come from and go to."""

from __future__ import annotations

import pytest

from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import (
    Acknowledge,
    AnswerKind,
    DecisionKind,
    Event,
    Gone,
    Invalid,
    Moved,
    NoUrl,
    Published,
    Status,
    StepFailed,
    Stored,
)
from tests.core.life import CANCEL, MEDIA, NOW, PLAIN, TICK, Life, answered, away, claim, word

CASES: list[tuple[str, Life, Event, str | None]] = [
    ("claim", Life(), claim(), None),
    ("resume", Life().unsure(), claim("w1"), None),
    ("accepted", Life().claim(), answered(AnswerKind.ACCEPTED, provider_job_id="p0"), None),
    ("not accepted", Life().claim(), answered(AnswerKind.NOT_ACCEPTED), "dispatch next"),
    ("blocked", Life().claim(), answered(AnswerKind.BLOCKED), "dispatch"),
    ("rejected", Life().claim(), answered(AnswerKind.REJECTED), "next publish live"),
    ("ambiguous, key", Life().claim(), answered(AnswerKind.AMBIGUOUS), "dispatch"),
    ("ambiguous, no key", Life(PLAIN).claim(), answered(AnswerKind.AMBIGUOUS), "live"),
    ("turned away", Life(), away(), "next"),
    ("cancel of a pending job", Life(), CANCEL, "publish live"),
    ("cancel of an idle job", Life().idle(), CANCEL, "publish live"),
    ("cancel of an open attempt", Life().claim(), CANCEL, "cancel"),
    ("cancel of a running job", Life().run(), CANCEL, "cancel"),
    ("bound while a cancel stands", Life().claim().having(cancel_requested=True), word(Status.RUNNING), "cancel"),
    (
        "succeeded while a cancel stands",
        Life().claim().having(cancel_requested=True),
        word(Status.SUCCEEDED),
        "store next live",
    ),
    ("running", Life().claim(), word(Status.RUNNING), None),
    ("storing", Life().run(), word(Status.SUCCEEDED), "store next live"),
    ("failed by the provider", Life().run(), word(Status.FAILED), "next publish live"),
    ("stored", Life().store(), Stored(outputs=(MEDIA,)), "publish live"),
    ("invalid", Life().store(), Invalid(message="x"), "publish live"),
    ("no link", Life().store(), NoUrl(message="x"), "live"),
    ("published", Life().succeed(), Published(ttl=1), None),
    ("expired", Life(start_within_s=0), TICK, "publish live"),
    ("lapsed", Life(PLAIN).unsure().later(7200), TICK, "next"),
    ("overdue", Life().run().later(900), TICK, "live"),
    ("one 404", Life().run(), Gone(provider_job_id="p0"), None),
    ("lost", Life().run().having(misses=2), Gone(provider_job_id="p0"), "live"),
    ("found alive", Life().lost(), word(Status.RUNNING), "live"),
    ("another job", Life().run(), word(Status.RUNNING, "p9"), "live"),
    ("a step failed", Life(), StepFailed(step="dispatch", message="x", retry_at=NOW), "dispatch"),
    ("store failed", Life().store(), StepFailed(step="store", message="x", retry_at=NOW), "store"),
    ("dead letter", Life().having(failures=4), StepFailed(step="dispatch", message="x", retry_at=NOW), "live"),
    ("a look", Life().run(), Moved(due_at=NOW), None),
]


@pytest.mark.parametrize(("life", "event", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_write_carries_exactly_its_own_words(life: Life, event: Event, words: str | None) -> None:
    life.job = life.having(out="dispatch store cancel next publish live").job  # an earlier write's are never kept
    before = life.job
    decision = life.do(event)
    assert isinstance(decision, Change)
    assert life.job.out == words
    life.job = before


def test_answers_of_a_person_carry_their_words() -> None:
    unsure = Life(PLAIN).unsure().later(60)
    unsure.do(unsure.decides(DecisionKind.RESUBMIT))
    assert unsure.job.out == "dispatch next live"
    adopting = Life(PLAIN).unsure()
    adopting.do(adopting.decides(DecisionKind.ADOPT, "p7"))
    assert adopting.job.out == "dispatch"
    found = Life().run()
    found.do(word(Status.RUNNING, "p9"))
    found.do(Acknowledge(provider_job_id="p9"))
    assert found.job.out == "live"
    late = Life().run().later(900)
    late.do(TICK)
    late.do(late.decides(DecisionKind.WAIT))
    assert late.job.out == "live"


TAKES = {"1", "4", "6", "7", "15", "21", "25a", "37"}
FREES = {"8", "8a", "8b", "8c", "10", "16", "17f", "17c", "20", "22", "23", "23r", "24s", "24f", "24c", "27"}


def test_rows_that_move_a_slot_are_those_of_the_protocol() -> None:
    """Checked over random lives in test_invariants; here the two sets themselves, against the rows that there are."""
    from mediajobs.jobs.decide import TABLE

    assert {rule.row for rule in TABLE} >= TAKES | FREES
    assert not TAKES & FREES
