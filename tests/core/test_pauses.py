"""A provider's pause: the table of answers, and what may never happen to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.jobs.events import AnswerKind
from mediajobs.pauses import Pause, PauseReason, Provider, after_answer, leased

NOW = 1_800_000_000_000
ACCEPTED, REJECTED, BLOCKED = AnswerKind.ACCEPTED, AnswerKind.REJECTED, AnswerKind.BLOCKED
NOT_ACCEPTED, AMBIGUOUS = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS
WELL = Pause()


def after(pause: Pause, kind: AnswerKind, now: int = NOW, *, probe: bool = False, retry_at: int | None = None) -> Pause:
    return after_answer(pause, kind, now, probe=probe, retry_at=retry_at, note="HTTP 429")


def broken(times: int) -> Pause:
    pause = WELL
    for _ in range(times):
        pause = after(pause, AMBIGUOUS)
    return pause


def minutes(pause: Pause, now: int = NOW) -> float:
    return (pause.until - now) / 60_000


def test_a_healthy_provider_costs_no_write() -> None:
    assert after(WELL, ACCEPTED) == WELL
    assert after(WELL, REJECTED) == WELL
    assert after(WELL, NOT_ACCEPTED) == WELL


def test_five_ambiguous_answers_in_a_row_pause_for_thirty_seconds() -> None:
    assert (broken(4).reason, broken(4).bad) == (None, 4)
    pause = broken(5)
    assert (pause.reason, pause.until) == (PauseReason.AMBIGUOUS, NOW + 30_000)


@pytest.mark.parametrize("kind", [ACCEPTED, REJECTED])
def test_one_definite_answer_starts_the_count_anew(kind: AnswerKind) -> None:
    assert after(broken(4), kind) == WELL
    assert after(after(broken(4), kind), AMBIGUOUS).bad == 1


def test_ambiguous_probes_double_the_pause_to_fifteen_minutes() -> None:
    pause, waits = broken(5), []
    for _ in range(7):
        now = pause.until
        pause = after(leased(pause, now), AMBIGUOUS, now, probe=True)
        waits.append((pause.until - now) / 1000)
    assert waits == [60, 120, 240, 480, 900, 900, 900]


def test_blocked_pauses_for_one_two_four_up_to_fifteen_minutes() -> None:
    pause = after(WELL, BLOCKED)
    waits = [minutes(pause)]
    for _ in range(6):
        now = pause.until
        pause = after(leased(pause, now), BLOCKED, now, probe=True)
        waits.append(minutes(pause, now))
    assert (waits, pause.reason) == ([1, 2, 4, 8, 15, 15, 15], PauseReason.BLOCKED)


def test_a_second_blocked_answer_of_the_same_wave_does_not_take_a_step() -> None:
    pause = after(WELL, BLOCKED)
    assert after(pause, BLOCKED, NOW + 1000) == pause


def test_blocked_takes_the_next_step_also_where_the_probe_was_for_ambiguous_answers() -> None:
    pause = replace(broken(5), step=3)
    later = after(leased(pause, NOW), BLOCKED, probe=True)
    assert (later.reason, later.step, minutes(later)) == (PauseReason.BLOCKED, 4, 15)


def test_ambiguous_takes_the_next_step_of_a_blocked_pause() -> None:
    pause = after(WELL, BLOCKED)
    later = after(leased(pause, NOW), AMBIGUOUS, probe=True)
    assert (later.reason, later.step) == (PauseReason.BLOCKED, 1)


@pytest.mark.parametrize("kind", [ACCEPTED, REJECTED])
def test_an_accepted_or_rejected_probe_ends_the_pause(kind: AnswerKind) -> None:
    for pause in (broken(5), after(WELL, BLOCKED)):
        assert after(leased(pause, NOW), kind, probe=True) == WELL


@pytest.mark.parametrize("kind", [ACCEPTED, REJECTED, NOT_ACCEPTED, AMBIGUOUS])
def test_an_answer_to_a_request_from_before_the_pause_neither_ends_nor_lengthens_it(kind: AnswerKind) -> None:
    for pause in (after(WELL, BLOCKED), broken(5)):
        for at in (NOW, NOW + 20_000):
            assert after(pause, kind, at, retry_at=at + 600_000) == pause


def test_429_to_a_probe_pauses_again_at_the_same_step() -> None:
    pause = replace(after(WELL, BLOCKED), step=2)
    now = pause.until
    later = after(leased(pause, now), NOT_ACCEPTED, now, probe=True, retry_at=now + 5000)
    assert (later.reason, later.step, minutes(later, now)) == (PauseReason.BLOCKED, 2, 4)
    longer = after(leased(pause, now), NOT_ACCEPTED, now, probe=True, retry_at=now + 600_000)
    assert minutes(longer, now) == 10


def test_a_probe_that_was_not_sent_lets_its_lease_run_out() -> None:
    pause = after(WELL, BLOCKED)
    marked = leased(pause, pause.until)
    assert after(marked, NOT_ACCEPTED, pause.until, probe=True) == marked
    assert not marked.may_probe(pause.until + 59_999)
    assert marked.may_probe(pause.until + 60_000)


def test_retry_after_pauses_and_just_ends() -> None:
    pause = after(WELL, NOT_ACCEPTED, retry_at=NOW + 7000)
    assert (pause.reason, pause.until) == (PauseReason.RETRY_AFTER, NOW + 7000)
    assert pause.holds(NOW + 6999)
    assert not pause.holds(NOW + 7000)
    assert not pause.may_probe(NOW + 7000)


def test_retry_after_is_at_most_fifteen_minutes() -> None:
    assert minutes(after(WELL, NOT_ACCEPTED, retry_at=NOW + 10**10)) == 15


@pytest.mark.parametrize("ahead", [0, -5000])
def test_a_retry_after_that_is_over_writes_nothing(ahead: int) -> None:
    assert after(WELL, NOT_ACCEPTED, retry_at=NOW + ahead) == WELL


def test_a_shorter_retry_after_never_cuts_a_longer_one() -> None:
    pause = after(WELL, NOT_ACCEPTED, retry_at=NOW + 60_000)
    assert after(pause, NOT_ACCEPTED, retry_at=NOW + 5000) == pause


@pytest.mark.parametrize("kind", [BLOCKED, AMBIGUOUS])
def test_a_breaker_never_cuts_a_longer_retry_after(kind: AnswerKind) -> None:
    pause = replace(after(WELL, NOT_ACCEPTED, retry_at=NOW + 600_000), bad=4)
    later = after(pause, kind)
    assert later.until == NOW + 600_000
    assert later.reason is not PauseReason.RETRY_AFTER


def test_a_blocked_or_ambiguous_pause_does_not_end_by_time() -> None:
    for pause in (broken(5), after(WELL, BLOCKED)):
        assert pause.holds(NOW + 10**12)
        assert pause.may_probe(NOW + 10**12)
        assert not pause.may_probe(pause.until - 1)


@given(st.sampled_from(AnswerKind), st.booleans(), st.one_of(st.none(), st.integers(NOW - 10**6, NOW + 10**7)))
def test_an_operators_pause_ends_only_by_the_operator(kind: AnswerKind, probe: bool, retry_at: int | None) -> None:
    pause = Pause(reason=PauseReason.OPERATOR, until=2**53, limit=2, revision=9)
    assert after(pause, kind, probe=probe, retry_at=retry_at) == pause
    assert pause.holds(NOW + 10**12)
    assert not pause.may_probe(NOW + 10**12)


PAUSES = st.builds(
    Pause,
    reason=st.one_of(st.none(), st.sampled_from(PauseReason)),
    until=st.integers(0, NOW + 10**6),
    step=st.integers(0, 9),
    bad=st.integers(0, 5),
    limit=st.one_of(st.none(), st.integers(1, 9)),
    revision=st.integers(0, 99),
)


@given(PAUSES, st.sampled_from(AnswerKind), st.booleans(), st.one_of(st.none(), st.integers(NOW - 10**6, NOW + 10**7)))
def test_only_a_definite_answer_shortens_a_pause_and_none_touches_the_operators_limit(
    pause: Pause, kind: AnswerKind, probe: bool, retry_at: int | None
) -> None:
    later = after(pause, kind, probe=probe, retry_at=retry_at)
    assert (later.limit, later.revision) == (pause.limit, pause.revision)
    if kind not in (ACCEPTED, REJECTED):
        assert later.until >= pause.until
        assert pause.reason is None or later.reason is not None
    assert later.until <= max(pause.until, NOW + 900_000)


# -- rows that a claim may take


def provider(*held: str, limit: int | None = None) -> Provider:
    return Provider(name="sim", held=held, pause=Pause(limit=limit))


def test_a_claim_may_take_only_one_of_the_first_free_numbers() -> None:
    assert provider().free(3) == ("001", "002", "003")
    assert provider("002").free(3) == ("001", "003")
    assert provider("001", "002", "003").free(3) == ()


def test_rows_beyond_the_limit_count_like_any_other() -> None:
    assert provider("over#a").free(3) == ("001", "002")
    assert provider("007", "over#a", "over#b").free(3) == ()


def test_an_operator_may_only_lower_the_limit_and_rows_above_it_still_count() -> None:
    assert provider(limit=2).free(3) == ("001", "002")
    assert provider(limit=9).free(3) == ("001", "002", "003")
    assert provider("003", limit=2).free(3) == ("001",)
    assert provider("002", "003", limit=2).free(3) == ()


@given(st.sets(st.integers(1, 12)), st.integers(0, 3), st.integers(1, 10), st.one_of(st.none(), st.integers(1, 12)))
def test_a_claim_never_leads_past_the_limit(numbers: set[int], over: int, configured: int, limit: int | None) -> None:
    held = (*(f"{n:03d}" for n in sorted(numbers)), *(f"over#{n}" for n in range(over)))
    offered = provider(*held, limit=limit).free(configured)
    in_force = configured if limit is None else min(limit, configured)
    assert len(offered) == max(0, in_force - len(held))
    assert not set(offered) & set(held)
    assert all(1 <= int(row) <= in_force for row in offered)
