"""What is told on a job's live channel: monotone for whoever keeps the version, the end last; never in the way."""

from __future__ import annotations

from typing import Any

import pytest

from mediajobs.api.answers import LiveEvent
from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.signatures.channels import channel, opened_by
from mediajobs.steps.jobs import get
from mediajobs.steps.relay import relay
from mediajobs.steps.webhook import take
from tests.steps.kit import ACME, LISTEN, OPERATOR, PLAIN, Stage


def told(stage: Stage, job: Job) -> list[dict[str, Any]]:
    return stage.live.on(channel(job.tenant, job.id))


def tick(stage: Stage, job: Job, percent: int, number: int = 0) -> str:
    """A progress event of the provider, through intake; its verdict."""
    sent = stage.sim.delivery(stage.ref(job), "p-1", Status.RUNNING, event_id=f"e{percent}-{number}", progress=percent)
    return take(stage.world, sent)[1]


def test_relay_tells_each_state_that_the_table_names_and_the_end_last() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.relay()
    events = told(stage, job)
    assert [(event["status"], event["stage"], event["final"]) for event in events] == [
        ("running", "storing", False),
        ("succeeded", None, True),
    ]
    assert [event["progress"] for event in events] == [None, 100]
    assert events[0]["version"] < events[1]["version"]
    assert [each.last for each in stage.live.told] == [False, True]


def test_every_event_has_the_documented_form() -> None:
    """The schema in docs/live.md and in mediajobs/api/answers.py."""
    stage = Stage()
    job = stage.running()
    tick(stage, job, 40)
    stage.say(job, Status.FAILED)
    stage.relay()
    asked = Stage(PLAIN)
    asked.unsure()
    asked.relay()
    events = [each.event for each in (*stage.live.told, *asked.live.told)]
    assert len(events) == 3
    for event in events:
        LiveEvent.model_validate(event)
        assert event["schema_version"] == "1"


def test_attention_is_told() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.relay()
    assert [event["attention"] for event in told(stage, job)] == ["ambiguous_submission"]


def test_ticks_go_to_the_channel_and_not_to_the_table() -> None:
    """A hundred within a second: each is told, one is kept."""
    stage = Stage()
    job = stage.running()
    writes = len(stage.store.writes)
    verdicts = [tick(stage, job, number) for number in range(99)]
    assert [event["progress"] for event in told(stage, job)] == list(range(99))
    assert verdicts.count("progress") == 1
    assert len(stage.store.writes) == writes


def test_a_tick_never_says_a_hundred() -> None:
    """Done means stored."""
    stage = Stage()
    job = stage.running()
    tick(stage, job, 100)
    assert told(stage, job)[-1]["progress"] == 99
    assert told(stage, job)[-1]["final"] is False


def test_nothing_is_told_after_the_end_is_known() -> None:
    stage = Stage()
    job = stage.succeeded()
    assert tick(stage, job, 50) == "noted"
    assert told(stage, job) == []


def test_a_tick_that_was_read_before_the_end_is_known_as_late_by_its_version() -> None:
    """Intake read the job, then it ended, then the tick arrives: after the end, with a smaller version."""
    stage = Stage()
    job = stage.running()

    def ends() -> None:
        stage.live.during = None
        stage.say(job, Status.FAILED)
        stage.relay()

    stage.live.during = ends
    tick(stage, job, 70)
    events = told(stage, job)
    assert [event["final"] for event in events] == [True, False]
    assert events[1]["version"] < events[0]["version"]


def test_a_sign_of_life_without_progress_is_told_once() -> None:
    """It binds a job that was being submitted; the next one changes nothing and says nothing new."""
    stage = Stage()
    job = stage.killed()
    for number in range(2):
        sent = stage.sim.delivery(stage.ref(job), "p-1", Status.RUNNING, event_id=f"e{number}")
        assert take(stage.world, sent) == (200, "noted")
    assert stage.state(job) is State.RUNNING
    assert [event["stage"] for event in told(stage, job)] == ["generating"]


def test_a_channel_that_fails_costs_a_line_and_a_metric_and_nothing_else() -> None:
    """Relay's other words are done, the record does not come again, the webhook is answered 200."""
    stage = Stage()
    job = stage.running()
    stage.live.fail = 3
    assert tick(stage, job, 10) == "progress"
    stage.say(job, Status.FAILED)
    ended = stage.read(job)
    assert relay(stage.world, ended) == ("next", "publish", "live")
    assert len(stage.topic.published) == 1
    assert stage.metrics.counted["LiveFailed"] == 2
    assert [line[1] for line in stage.log.lines].count("not told live") == 2


def test_a_defect_in_telling_stops_no_step() -> None:
    """Whatever is raised there."""
    stage = Stage()
    job = stage.running()

    def breaks() -> None:
        raise ZeroDivisionError

    stage.live.during = breaks
    assert tick(stage, job, 10) == "progress"
    assert relay(stage.world, stage.say(job, Status.FAILED)) == ("next", "publish", "live")


def test_a_throttled_tick_swallows_no_end() -> None:
    """The terminal event right behind a tick is settled as if there had been none."""
    stage = Stage()
    job = stage.running()
    stage.live.fail = 1
    tick(stage, job, 10)
    tick(stage, job, 11)
    done = stage.sim.delivery(stage.ref(job), "p-1", Status.FAILED, event_id="end")
    assert take(stage.world, done)[0] == 200
    assert stage.state(job) is State.FAILED
    stage.relay()
    assert told(stage, job)[-1]["final"] is True


def test_a_record_that_relay_sees_again_can_be_told_from_news() -> None:
    """The stream may bring an old record once more, after the end."""
    stage = Stage()
    job = stage.succeeded()
    (earlier,) = [write.after for write in stage.store.writes if write.after.out == "store next live"]
    stage.relay()
    relay(stage.world, earlier)
    versions = [event["version"] for event in told(stage, job)]
    assert versions == [earlier.version, job.version, earlier.version]


# -- who gets a token


def test_a_reader_of_an_open_job_gets_a_token_for_its_channel_and_one_hour() -> None:
    stage = Stage()
    job = stage.running()
    live = get(stage.world, ACME, job.id).live
    assert live is not None
    assert live.endpoint == LISTEN
    assert live.channel == channel("acme", job.id)
    assert opened_by(stage.secrets.key, live.token, stage.clock.now()) == live.channel
    assert 3_599_000 <= live.expires_at - stage.clock.now() <= 3_600_000
    assert opened_by(stage.secrets.key, live.token, live.expires_at) is None


def test_an_operator_listens_to_the_tenant_s_channel() -> None:
    stage = Stage()
    job = stage.running()
    live = get(stage.world, OPERATOR, job.id).live
    assert live is not None
    assert live.channel == channel("acme", job.id)


@pytest.mark.parametrize("key", ["first", "second"])
def test_an_ended_job_has_no_channel_any_more(key: str) -> None:
    stage = Stage()
    job = stage.succeeded(key)
    assert get(stage.world, ACME, job.id).live is None


def test_without_an_events_api_there_is_no_token() -> None:
    stage = Stage(live_endpoint="")
    assert get(stage.world, ACME, stage.running().id).live is None


def test_a_job_is_read_even_where_no_token_can_be_made() -> None:
    """GET is the truth, the socket a hint."""
    stage = Stage()
    job = stage.running()
    stage.secrets.key = b"short"
    assert get(stage.world, ACME, job.id).live is None
    assert stage.metrics.counted["LiveFailed"] == 1
