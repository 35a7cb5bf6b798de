"""The four tests everyone asks for: drop a callback, repeat an event, delay it ten minutes, expire a result URL.

Through the real handlers, with API Gateway's events and real signatures, in virtual time.
"""

from __future__ import annotations

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Reason, State
from tests.simulation.lifecycles import Life
from tests.simulation.world.functions import Fleet
from tests.simulation.world.people import Caller, Operator
from tests.simulation.world.provider import Plan
from tests.simulation.world.scheduler import START
from tests.simulation.world.town import Town
from tests.simulation.world.watch import Watch
from tests.simulation.world.weather import Weather

SECOND = 1_000
MINUTE = 60 * SECOND
TEN_MINUTES = 10 * MINUTE
_fleet = Fleet()


def a_life(plan: Plan) -> Life:
    """One job at a provider with signed webhooks; it was expected to take 40 s."""
    limits = {"keyed": 1}
    town = Town(Weather(), names=("keyed",), limits=limits, fleet=_fleet)
    life = Life(town, Watch(town, limits), Caller(town), Operator(town))
    life.submit("keyed", plan)
    return life


def until(life: Life, seconds: float) -> Job:
    """The job as it is so long after its submit."""
    life.town.scheduler.run(START + round(seconds * SECOND))
    return life.town.table.jobs[life.jobs[0]]


def answers(life: Life) -> list[tuple[int, str]]:
    """Status and word of each delivery of the last event, in order."""
    return [(sent.answer, sent.status_word) for sent in life.town.webhooks.answered if sent.status_word != "processing"]


def published_once(life: Life) -> bool:
    return len(life.town.topic.published) == 1 and sum(life.town.ledger.charges.values()) == 1


def test_drop_a_callback_and_the_job_is_settled_by_a_poll() -> None:
    """The callback never comes; the first poll at one and a half times the expected duration finds the result."""
    life = a_life(Plan(duration_ms=20 * SECOND))
    life.town.webhooks.drop = lambda _job, what: what == "end"
    assert until(life, 59).state is State.RUNNING
    assert until(life, 121).state is State.SUCCEEDED
    assert until(life, 180).published_at is not None
    assert answers(life) == []
    assert published_once(life)
    life.watch.at_the_end()


def test_repeat_an_event_and_it_changes_nothing_more() -> None:
    """The very same signed bytes, again and again: while it is worked on, once it is done, and much later."""
    life = a_life(Plan(duration_ms=20 * SECOND))
    town = life.town
    ended = town.ledger.on_end
    for seconds in (0.05, 0.1, 1, 60, 240):
        ended.append(lambda job, seconds=seconds: town.scheduler.after(round(seconds * SECOND), again))  # type: ignore[misc]

    def again() -> None:
        town.post(*first[0], taken.append)

    first: list[tuple[str, dict[str, str], bytes]] = []
    taken: list[int] = []
    post = town.webhooks.post

    def keep(path: str, headers: dict[str, str], body: bytes, told: object) -> None:
        if b"completed" in body:
            first.append((path, headers, body))
        post(path, headers, body, told)  # type: ignore[arg-type]

    town.webhooks.post = keep
    done = until(life, 25)
    assert (done.state, done.published_at is not None) == (State.SUCCEEDED, True)
    assert until(life, 400) == done
    assert taken == [200] * 5
    assert len(town.topic.sends) == 1
    assert len(town.objects.stored) == 1
    assert published_once(life)
    life.watch.at_the_end()


def test_delay_an_event_ten_minutes_with_its_old_timestamp_and_it_is_refused_and_the_poll_has_settled_the_job() -> None:
    """The tolerance is 300 s: it may be a replay, so it is 401. Nothing hangs on it."""
    life = a_life(Plan(duration_ms=20 * SECOND))
    life.town.webhooks.delay_ms = lambda _job, what: TEN_MINUTES if what == "end" else 0
    settled = until(life, 200)
    assert (settled.state, answers(life)) == (State.SUCCEEDED, [])
    assert until(life, 20 + 601) == settled
    assert answers(life) == [(401, "completed")]
    # The provider signs its next try anew: taken, and ignored.
    assert until(life, 20 + 606) == settled
    assert answers(life) == [(401, "completed"), (200, "completed")]
    assert published_once(life)
    life.watch.at_the_end()


def test_delay_an_event_ten_minutes_with_a_fresh_timestamp_and_it_is_taken_and_ignored() -> None:
    """Sent only then: rightly signed and fresh, so it is 200; the job ended long ago and stays as it is."""
    life = a_life(Plan(duration_ms=20 * SECOND))
    town = life.town
    town.webhooks.drop = lambda _job, what: what == "end" and town.scheduler.now < START + TEN_MINUTES
    settled = until(life, 599)
    assert (settled.state, settled.published_at is not None) == (State.SUCCEEDED, True)
    (theirs,) = town.ledger.accepted.values()
    town.scheduler.at(START + TEN_MINUTES + 20 * SECOND, lambda: town.webhooks.ended(theirs))
    assert until(life, 700) == settled
    assert answers(life) == [(200, "completed")]
    assert [entry.split("|")[1] for entry in town.table.events(settled.id)] == ["terminal"]
    assert published_once(life)
    life.watch.at_the_end()


def test_expire_a_result_url_and_a_fresh_one_is_fetched() -> None:
    """The link answers 403 when we come; the provider is asked for another one, and the result is kept."""
    life = a_life(Plan(duration_ms=20 * SECOND, link_life_ms=100, tells_expiry=False))
    done = until(life, 60)
    assert (done.state, len(done.outputs)) == (State.SUCCEEDED, 1)
    assert [fields["word"] for _, message, fields in life.town.log.lines if message == "links refreshed"] == [
        "completed"
    ]
    assert published_once(life)
    life.watch.at_the_end()


def test_expire_a_result_url_for_which_there_is_no_other_and_a_person_is_asked() -> None:
    """It was paid for, so it does not fail; once the provider serves it again, `retry` brings it home."""
    life = a_life(Plan(duration_ms=20 * SECOND, link_life_ms=100, tells_expiry=False, fresh_links=False))
    asked = until(life, 60)
    assert asked.state is State.STORING
    assert asked.attention is not None
    assert asked.attention.reason is Reason.RESULT_UNAVAILABLE
    (theirs,) = life.town.ledger.accepted.values()
    theirs.link_until = START + TEN_MINUTES
    life.operator.resolve(asked, "retry")
    assert until(life, 120).state is State.SUCCEEDED
    assert published_once(life)
    life.watch.at_the_end()
