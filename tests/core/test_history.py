"""A job's bounded memory."""

from __future__ import annotations

from mediajobs.jobs import history
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import AnswerKind, DecisionKind, Published, Status, Stored
from mediajobs.jobs.states import Source, State
from tests.core.life import CANCEL, MEDIA, NOW, PLAIN, Life, answered, claim, word


def test_a_happy_job_has_five_entries() -> None:
    life = Life().succeed()
    life.do(Published(ttl=1))
    assert life.job.history == (
        f"1||pending|api|{NOW}",
        f"2|pending|submitting|dispatch|{NOW}|1",
        f"3|submitting|running|dispatch|{NOW}|1|p0",
        f"4|running|storing|webhook|{NOW}|1",
        f"5|storing|succeeded|store|{NOW}|1",
    )
    assert life.job.history_count == 5


def test_outcomes_and_decisions_stand_in_it_as_short_strings() -> None:
    life = Life(PLAIN).unsure().later(60)
    life.do(CANCEL)
    life.do(life.decides(DecisionKind.RESUBMIT))
    assert [entry.split("|")[1:3] for entry in life.job.history[2:]] == [
        ["~ambiguous", "dispatch"],
        ["~cancel_requested", "api"],
        ["~resubmit", "operator"],
    ]


def test_every_transition_is_in_it_and_names_the_state_it_led_to() -> None:
    life = Life()
    for event in (claim(), word(Status.RUNNING), word(Status.SUCCEEDED), Stored(outputs=(MEDIA,))):
        decision = life.do(event)
        assert isinstance(decision, Change)
        assert life.job.history[-1].split("|")[:3] == [str(life.job.version), decision.before.state, life.state]


def test_the_first_and_the_last_twenty_are_kept_and_all_are_counted() -> None:
    life = Life()
    for _ in range(40):
        life.having(retry_at=None)
        life.do(claim())
        life.do(answered(AnswerKind.NOT_ACCEPTED))
    assert len(life.job.history) == 21
    assert life.job.history[0].endswith(f"|pending|api|{NOW}")
    assert life.job.history_count == 1 + 1 + 40  # submit, the first claim, forty outcomes
    assert life.job.history[-1].split("|")[0] == str(life.job.version)


def test_it_stays_under_four_kilobytes_whatever_the_provider_calls_its_jobs() -> None:
    life = Life()
    longest = history.transition(
        9,
        State.SUBMITTING,
        State.RUNNING,
        Source.WEBHOOK,
        NOW,
        attempt=9,
        provider_job_id="i" * 256,
        event_id="e" * 256,
        body_digest="f" * 64,
    )
    # A job has at most four transitions; everything else is a note.
    entries = [longest] * 4 + [history.note(number, "x" * 200, Source.DISPATCH, NOW, 9) for number in range(60)]
    for entry in [*entries[4:], *entries[:4]]:
        kept, count = history.append(life.job, entry)
        life.having(history=kept, history_count=count)
    assert sum(len(entry.encode()) for entry in life.job.history) < 4096


def test_what_others_chose_cannot_forge_an_entry() -> None:
    entry = history.note(7, "a|b\nc", Source.DISPATCH, NOW)
    assert entry == f"7|~a_b_c|dispatch|{NOW}"
