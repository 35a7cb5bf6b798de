"""When a job is looked at: `due_at` is a lower bound that a happy job never moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from mediajobs.jobs.due import far, first_due, first_poll, next_due
from mediajobs.jobs.events import AnswerKind, DecisionKind, Gone, Moved, Published, Status, Stored, Traits
from tests.core.life import CANCEL, KEYED, LOOKED_UP, MEDIA, NOW, PLAIN, TICK, Life, answered, away, claim, word

HOUR = 3600


def test_the_first_look_is_one_and_a_half_times_the_expected_time_where_webhooks_are_trusted() -> None:
    assert Life().due_in_s == 450
    assert Life(Traits(provider="sim", expected_s=4, poll_floor_s=2)).due_in_s == 6


def test_without_webhooks_the_first_look_is_one_poll_floor_away() -> None:
    assert Life(Traits(provider="sim", webhooks=False, poll_floor_s=10)).due_in_s == 10


def test_a_start_deadline_before_the_first_look_is_itself_the_first_look() -> None:
    assert Life(start_within_s=60).due_in_s == 60


def test_a_happy_job_never_moves_its_due_and_the_mark_removes_it() -> None:
    life = Life()
    due = life.job.due_at
    for event in (
        claim(),
        answered(AnswerKind.ACCEPTED, provider_job_id="p0"),
        word(Status.SUCCEEDED),
        Stored(outputs=(MEDIA,)),
    ):
        life.later(30).do(event)
        assert life.job.due_at == due
    life.do(Published(ttl=1))
    assert life.job.due_at is None


def test_a_job_that_waited_has_its_due_brought_back_by_the_claim_once() -> None:
    life = Life()
    life.do(away())
    life.later(450).do(Moved(due_at=life.job.start_deadline))
    life.later(HOUR).do(claim())
    assert life.due_in_s == 60  # the lease's end, its true due
    due = life.job.due_at
    life.do(answered(AnswerKind.ACCEPTED, provider_job_id="p0"))
    assert life.job.due_at == due


def test_a_claim_has_the_first_poll_of_the_running_job_in_view() -> None:
    """Else a job without webhooks that waited would be polled when its lease is over, not at the floor."""
    life = Life(replace(KEYED, webhooks=False, poll_floor_s=10)).having(due_at=NOW + 80_000_000)
    life.claim()
    assert life.job.due_at == NOW + 10_000


def test_an_idle_job_that_waited_has_its_due_brought_back_by_the_claim_too() -> None:
    """Its claim is a note, and a killed one must not lie there until the start deadline."""
    life = Life().idle()
    life.do(away())
    life.later(450).do(Moved(due_at=life.job.start_deadline))
    life.later(HOUR).do(claim("w1"))
    assert life.due_in_s == 60


@pytest.mark.parametrize(("ahead_s", "moved"), [(600, False), (601, True)])
def test_a_transition_moves_the_due_only_from_further_than_ten_minutes_or_the_first_poll(
    ahead_s: int, moved: bool
) -> None:
    life = Life().claim().having(due_at=NOW + ahead_s * 1000)
    life.do(answered(AnswerKind.ACCEPTED, provider_job_id="p0"))
    assert (life.due_in_s == 450) == moved
    assert (life.due_in_s == ahead_s) == (not moved)


def test_far_is_the_greater_of_the_first_poll_and_ten_minutes() -> None:
    assert far(Traits(provider="sim", expected_s=4)) == 600_000
    assert far(Traits(provider="sim", expected_s=1000)) == 1_500_000


def test_a_waiting_jobs_next_due_is_its_start_deadline() -> None:
    life = Life()
    life.do(away())
    assert first_due(life.job, life.traits) == life.job.start_deadline


@pytest.mark.parametrize(
    ("life", "seconds"),
    [
        (Life().claim(), 60),
        (Life().idle(), 70),
        (Life().unsure(), 10),
        (Life().run(), 450),
        (Life().store(), 180),
        (Life().succeed(), 60),
        (Life(PLAIN).unsure(), HOUR),
    ],
    ids=["lease end", "retry and a minute", "retry", "first poll", "store", "publish", "a question: slowly"],
)
def test_the_true_due_is_a_pure_function_of_the_job(life: Life, seconds: int) -> None:
    due = first_due(life.job, life.traits)
    assert due is not None
    assert (due - life.now) / 1000 == seconds


def test_notes_bring_the_due_nearer_and_never_further() -> None:
    for make, event, expected in (
        (lambda: Life().claim(), answered(AnswerKind.AMBIGUOUS, retry_at=NOW + 10_000), 10),
        (lambda: Life().claim(), answered(AnswerKind.NOT_ACCEPTED, retry_at=NOW + 10_000), 70),
        (lambda: Life().run(), CANCEL, 10),
    ):
        life = make()
        life.do(event)
        assert life.due_in_s == expected
        near = make().having(due_at=NOW + 1000)
        near.do(event)
        assert near.due_in_s == 1


def test_an_open_question_is_looked_at_when_the_slot_lapses() -> None:
    traits = replace(PLAIN, max_run_s=600)
    life = Life(traits).unsure().having(due_at=NOW + 90_000_000)
    assert first_due(life.job, traits) == NOW + 600_000
    lost = Life(traits).run().later(500).having(due_at=NOW + 90_000_000, misses=2)
    lost.do(Gone(provider_job_id="p0"))
    assert lost.due_in_s == 100


def test_a_question_about_a_running_job_does_not_bring_its_polls_forward() -> None:
    life = Life().run().later(900)
    life.do(Moved(due_at=life.now + 300_000))
    life.do(TICK)
    assert (life.reason, life.due_in_s) == ("overdue", 300)


def test_a_look_never_puts_off_the_next_one_by_itself() -> None:
    """With one note in between, looks at an open question still come every hour."""
    life = Life(PLAIN).unsure()
    life.do(TICK)
    life.later(HOUR / 2)
    life.do(life.decides(DecisionKind.ADOPT, "p7"))
    life.having(adopt=None)
    looks = 0
    for _ in range(10):
        assert life.job.due_at is not None
        wanted = max(life.job.due_at, first_due(life.job, life.traits) or 0)
        life.now = max(life.now, life.job.due_at)
        if wanted > life.now:
            life.do(Moved(due_at=wanted))
            continue
        looks += 1
        life.do(TICK)
        life.do(Moved(due_at=next_due(life.job, life.traits, life.now, 0)))
    assert looks >= 8


def polls(traits: Traits, hours: float, *, cancel: bool = False) -> list[float]:
    """Seconds after running began at which a job is polled that never says anything."""
    life = Life(traits).run()
    if cancel:
        life.do(CANCEL)
    times: list[float] = []
    while life.now < NOW + hours * HOUR * 1000:
        assert life.job.due_at is not None
        life.now = max(life.now, life.job.due_at, first_due(life.job, traits) or 0)
        times.append((life.now - NOW) / 1000)
        life.do(TICK)
        life.do(Moved(due_at=next_due(life.job, traits, life.now, 0)))
    return times


def test_polls_back_off_from_the_floor_to_five_minutes_and_then_to_half_an_hour() -> None:
    times = polls(KEYED, 3)
    assert times[:5] == [450, 460, 470, 490, 530]
    gaps = [b - a for a, b in pairwise(times)]
    before = [gap for at, gap in zip(times, gaps, strict=False) if at + gap <= 900]
    assert max(before) <= 300
    assert 900 in times  # the moment it is overdue is not missed
    assert max(gaps) <= 1800
    assert gaps[-1] > 300


def test_without_webhooks_polls_begin_at_the_floor() -> None:
    assert polls(replace(KEYED, webhooks=False), 0.05)[:3] == [10, 20, 30]


def test_after_a_day_polls_come_every_six_hours() -> None:
    times = polls(KEYED, 72)
    gaps = [b - a for a, b in pairwise(times) if a > 30 * HOUR]
    assert max(gaps) <= 6 * HOUR
    assert max(gaps) > HOUR


def test_a_cancel_brings_the_polls_to_the_floor() -> None:
    assert polls(KEYED, 0.1, cancel=True)[0] == 10


def test_jitter_only_adds() -> None:
    life = Life().run().later(450)
    plain = next_due(life.job, KEYED, life.now, 0)
    spread = next_due(life.job, KEYED, life.now, 0.999)
    assert plain < spread <= plain + (plain - life.now) * 0.2 + 1


def test_the_next_look_is_never_late_for_a_deadline_a_lapse_or_a_lease() -> None:
    waiting = Life(start_within_s=700).later(690)
    assert next_due(waiting.job, KEYED, waiting.now, 0) == waiting.job.start_deadline
    open_attempt = Life().claim().later(30)
    assert next_due(open_attempt.job, KEYED, open_attempt.now, 0) <= NOW + 60_000
    unsure = Life(replace(PLAIN, max_run_s=900)).unsure().later(600)
    assert next_due(unsure.job, unsure.traits, unsure.now, 0) == NOW + 900_000


def test_lookups_back_off() -> None:
    life = Life(LOOKED_UP).unsure(10)
    times = []
    for _ in range(4):
        assert life.job.due_at is not None
        life.now = life.job.due_at
        times.append((life.now - NOW) / 1000)
        life.do(Moved(due_at=next_due(life.job, LOOKED_UP, life.now, 0)))
    assert times == [10, 20, 30, 50]


def test_expected_times_may_be_fractions_of_seconds() -> None:
    assert first_poll(Traits(provider="sim", expected_s=0.5)) == 750
