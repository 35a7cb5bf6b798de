"""The simulation's own parts: it must not be kinder than the world, nor different from it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mediajobs.errors import InProgress, NoAnswer, NotSent, Retryable, Throttled
from mediajobs.jobs.due import KEY_MARGIN_MS
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Do
from tests.simulation.world import once as once_module
from tests.simulation.world.functions import LATE_MS, TIMEOUTS_S, Fleet
from tests.simulation.world.once import RecordedOnce, Records
from tests.simulation.world.people import Caller
from tests.simulation.world.process import Inline, Killed, Threaded
from tests.simulation.world.provider import Accepted, Ledger, Plan
from tests.simulation.world.queue import Queues
from tests.simulation.world.scheduler import START, Scheduler
from tests.simulation.world.town import Town
from tests.simulation.world.watch import Violation, Watch
from tests.simulation.world.weather import Boundaries, Seeded, Weather, lost, refused

ROOT = Path(__file__).resolve().parents[2]


def a_town(weather: Weather | None = None, **fields: object) -> Town:
    return Town(weather or Weather(), names=("keyed",), fleet=Fleet(), **fields)  # type: ignore[arg-type]


def test_functions_have_the_timeouts_of_the_template() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    for function, seconds in TIMEOUTS_S.items():
        block = template.split(f"CodeUri: functions/{function}/")[1].split("CodeUri:")[0]
        found = re.search(r"Timeout: (\d+)", block)
        assert found is not None
        assert int(found[1]) == seconds, function


def test_queues_hide_a_message_as_long_as_the_template_says() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    queues = Queues(a_town(), 4)
    for queue in (queues.to_dispatch, queues.to_store):
        assert f"VisibilityTimeout: {queue._visibility_ms // 1000}" in template


def test_no_request_is_on_the_wire_for_longer_than_a_key_is_spared_for() -> None:
    assert LATE_MS < KEY_MARGIN_MS
    assert KEY_MARGIN_MS > 55_000


def test_the_scheduler_runs_things_in_order_and_stops_where_it_is_enough() -> None:
    scheduler, done = Scheduler(), []
    for wait, name in ((20, "c"), (10, "a"), (10, "b"), (30, "d")):
        scheduler.after(wait, lambda name=name: done.append(name))  # type: ignore[misc]
    scheduler.run(START + 25)
    assert (done, scheduler.now) == (["a", "b", "c"], START + 25)
    scheduler.after(1, lambda: done.append("e"))
    scheduler.run(START + 100, enough=lambda: "e" in done)
    assert (done[-1], scheduler.now) == ("e", START + 26)


@pytest.mark.parametrize("kind", [Inline, Threaded])
def test_a_process_ends_at_its_timeout_and_nothing_of_it_runs_on(kind: type[Inline | Threaded]) -> None:
    scheduler, seen = Scheduler(), []
    process = kind(scheduler, "dispatch", 1, 1_000)

    def work() -> object:
        process.pause(400)
        seen.append("alive")
        process.pause(700)
        seen.append("dead")
        return "done"

    answers: list[object] = []
    process.run(work, answers.append)
    scheduler.run(START + 5_000)
    assert seen == ["alive"]
    assert isinstance(answers[0], Killed)


def test_a_threaded_process_that_is_stopped_leaves_no_thread() -> None:
    scheduler = Scheduler()
    process = Threaded(scheduler, "dispatch", 1, 60_000)
    process.run(lambda: process.pause(30_000), lambda _: None)
    scheduler.run(START + 10)
    process.stop()
    process.stop()
    assert process.dead


def test_a_message_comes_again_after_its_visibility_timeout_where_its_consumer_died() -> None:
    town = a_town(Boundaries({1: "kill"}))
    town.queues.dispatch("a" * 26, Do.SUBMIT)
    town.scheduler.run(START + 89_000)
    assert (town.invocations - town.ticks, town.crashes) == (1, 1)
    town.scheduler.run(START + 91_000)
    assert (town.invocations - town.ticks, town.crashes) == (2, 1)
    town.scheduler.run(START + 600_000)
    assert town.invocations - town.ticks == 2, "a message that was taken is deleted"


def test_what_a_fault_raises_is_what_the_adapters_raise() -> None:
    assert isinstance(refused("http.submit"), NotSent)
    assert isinstance(lost("http.submit"), NoAnswer)
    assert isinstance(refused("store.write"), Throttled)
    assert isinstance(lost("queues.dispatch"), Retryable)


def test_a_fault_strikes_by_its_own_number_alone() -> None:
    """However many others were asked for in between."""
    rates = {"lost": 0.2, "lag": 0.5}
    first, second = Seeded(3, rates), Seeded(3, rates)
    plain = [first.happens("lost store") for _ in range(200)]
    mixed = []
    for _ in range(200):
        second.happens("lag")
        mixed.append(second.happens("lost store"))
    assert plain == mixed
    assert 20 < sum(plain) < 60
    kept = next(name for name in first.struck)
    only = Seeded(3, rates, only=frozenset({kept}))
    assert [only.happens("lost store") for _ in range(200)].count(True) == 1


def test_once_is_blocked_by_a_killed_run_until_its_time_is_over_and_then_runs_again() -> None:
    records, now = Records(), [START]

    def once(deadline: int) -> RecordedOnce:
        return RecordedOnce(lambda: records, lambda: now[0], lambda: deadline, lambda _, work: work())

    def killed() -> str:
        raise Killed

    with pytest.raises(Killed):
        once(START + 30_000)("publish", ["job"], killed)
    with pytest.raises(InProgress):
        once(START + 60_000)("publish", ["job"], lambda: "sent")
    now[0] += 30_001
    assert once(START + 60_000)("publish", ["job"], lambda: "sent") == "sent"
    assert once(START + 60_000)("publish", ["job"], lambda: "again") == "sent"
    now[0] += once_module.EXPIRES_MS["publish"] + 1
    assert once(now[0] + 1)("publish", ["job"], lambda: "anew") == "anew"


def test_the_provider_charges_a_key_once_within_its_life_and_again_after_it() -> None:
    scheduler = Scheduler()
    ledger = Ledger(scheduler, {"keyed": 900_000})
    plan = Plan(duration_ms=60_000)
    first = ledger.post("keyed", "a.1.i", "a.1.i", plan, None)
    assert ledger.post("keyed", "a.1.i", "a.1.i", plan, None) is first
    scheduler.run(START + 900_001)
    assert ledger.post("keyed", "a.1.i", "a.1.i", plan, None) is not first
    assert ledger.charges == {"a.1.i": 2}
    assert ledger.post("plain", "b.1.i", "b.1.i", plan, None) is not ledger.post("plain", "b.1.i", "b.1.i", plan, None)


def test_the_watch_sees_a_second_charge_and_a_live_job_without_a_slot() -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    for _ in range(2):
        town.ledger.post("keyed", "a.1.i", None, Plan(), None)
    assert [text.partition(" ")[0] for text in watch.found] == ["I2"]
    watch.found.clear()
    job_id = _pending(town)
    reference = town.table.jobs[job_id].reference
    town.ledger.post("keyed", reference, None, Plan(), None)
    assert [text.partition(" ")[0] for text in watch.found] == ["I4"]


def test_the_watch_sees_a_publication_under_two_ids() -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    _pending(town)
    town.scheduler.run(START + 60_000)
    assert watch.found == []
    (sent,) = town.topic.sends
    town.topic.publish(sent.message, group=sent.group, deduplication_id=sent.deduplication_id + "1", tenant="a")
    watch._published()
    assert watch.found


def _ended(town: Town, **fields: object) -> tuple[Job, Job]:
    """A job that was published, as it was before its last write, and with these fields written over it."""
    job_id = _pending(town)
    town.scheduler.run(START + 60_000)
    job = town.table.jobs[job_id]
    assert job.published_at is not None
    return job, replace(job, **{"version": job.version + 1, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("invariant", "fields"),
    [
        ("I1", {"state": State.FAILED}),
        ("I1", {"version": 99}),
        ("I1", {"incarnation": "another"}),
        ("I1", {"final_version": 99}),
        ("I3", {"published_at": None, "due_at": None}),
        ("I4", {"slot": "001"}),
    ],
)
def test_the_watch_sees_a_write_that_no_rule_makes(invariant: str, fields: dict[str, object]) -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    before, after = _ended(town, **fields)
    assert watch.found == []
    watch._written(before, after, "wrong")
    assert invariant in {text.partition(" ")[0] for text in watch.found}


@pytest.mark.parametrize("spoiled", ["body", "type", "gone", "none"])
def test_the_watch_sees_a_result_that_is_not_what_the_job_says(spoiled: str) -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    job, _ = _ended(town)
    key = job.outputs[0].key
    kept = town.objects.stored[key]
    if spoiled == "gone":
        del town.objects.stored[key]
    if spoiled == "body":
        town.objects.stored[key] = replace(kept, body=kept.body + b"x")
    if spoiled == "type":
        town.objects.stored[key] = replace(kept, content_type="text/html")
    watch._stored(replace(job, outputs=()) if spoiled == "none" else job, "v9")
    assert [text.partition(" ")[0] for text in watch.found] == ["I5"]


def test_the_watch_sees_what_is_late_what_never_ends_and_what_was_never_sent() -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    job, _ = _ended(town)
    town.table.jobs[job.id] = replace(job, published_at=None, due_at=town.scheduler.now - 121_000)
    watch.nothing_is_late()
    assert [text.partition(" ")[0] for text in watch.found] == ["I6"]
    watch.found.clear()
    with pytest.raises(Violation, match=r"I6 .* is still succeeded"):
        watch.at_the_end()
    watch.found.clear()
    town.table.jobs[job.id] = job
    town.topic.sends.clear()
    with pytest.raises(Violation, match=r"I5 .* published: None"):
        watch.at_the_end()


@pytest.mark.parametrize("ended", [State.FAILED, State.CANCELED])
def test_the_watch_sees_a_job_that_is_called_over_while_it_lives_or_was_paid_for(ended: State) -> None:
    town = a_town()
    watch = Watch(town, {"keyed": 1})
    job_id = _pending(town)
    town.scheduler.run(START + 3_000)
    running = town.table.jobs[job_id]
    assert running.state is State.RUNNING
    watch._none_lives(replace(running, state=ended), "24f", "v9")
    assert [text.partition(" ")[0] for text in watch.found] == ["I7"]
    watch.found.clear()
    watch._none_lives(replace(running, state=ended), "23r", "v9")
    assert watch.found == [], "a person takes that upon himself"
    town.table.jobs[job_id] = replace(running, state=ended)
    town.ledger.post("keyed", running.reference, None, Plan(), None)
    assert {text.partition(" ")[0] for text in watch.found} >= {"I2", "I7"}


def test_a_time_to_live_takes_the_job_and_what_stands_beside_it() -> None:
    town = a_town()
    job_id = _pending(town)
    town.scheduler.run(START + 60_000)
    town.table.expire(job_id)
    assert (town.table.jobs, town.table.inputs, list(town.table.due(START * 2))) == ({}, {}, [])


def _pending(town: Town) -> str:
    return Caller(town).submit("key-1", "keyed", Plan(duration_ms=5_000))


def test_accepted_jobs_know_whose_they_are() -> None:
    one = Accepted(id="p1", provider="keyed", reference="a.2.inc", plan=Plan(), at=0, webhook_url=None)
    assert (one.job_id, one.live) == ("a", True)
