"""Intake: whatever comes, early, late, twice or hostile, the job is moved at most once and nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import BadRequest, NotFound, Retryable, Unauthorized, Unavailable
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import AnswerKind, Decision, DecisionKind, Status, Stored, Tick
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Delivery, Report, ReportKind
from mediajobs.steps.webhook import GRACE_MS, take
from tests.fakes.providers import ScriptedAdapter
from tests.steps.kit import KEYED, PLAIN, Killed, Stage, die

RUNNING, SUCCEEDED, FAILED, UNKNOWN = Status.RUNNING, Status.SUCCEEDED, Status.FAILED, Status.UNKNOWN


def event(stage: Stage, job: Job, status: Status, provider_job_id: str = "p-1", **fields: object) -> Delivery:
    return stage.sim.delivery(stage.ref(job), provider_job_id, status, **fields)  # type: ignore[arg-type]


def test_a_success_goes_to_storing_with_its_links() -> None:
    stage = Stage()
    job = stage.running()
    assert take(stage.world, event(stage, job, SUCCEEDED, links=["https://cdn.example/a.mp4"])) == (200, "24s")
    stored = stage.read(job)
    assert (stored.state, stored.links[0].url) == (State.STORING, "https://cdn.example/a.mp4")
    assert stored.history[-1].split("|")[3] == "webhook"
    assert "|evt-1|" in stored.history[-1]


def test_an_event_that_beats_our_own_write_finds_its_job_by_the_url() -> None:
    stage = Stage(PLAIN)
    job = stage.job()
    stage.sim.during_submit = lambda _: take(stage.world, event(stage, job, SUCCEEDED))  # type: ignore[assignment,func-returns-value]
    stage.sim.accept("p-1")
    stage.dispatch(job)
    assert (stage.state(job), stage.read(job).provider_job_id, stage.read(job).findings) == (State.STORING, "p-1", ())


def test_a_doubtful_job_is_settled_by_its_own_webhook() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    take(stage.world, event(stage, job, RUNNING))
    assert (stage.state(job), stage.reason(job)) == (State.RUNNING, None)


@pytest.mark.parametrize("times", [2, 5])
def test_an_event_that_comes_again_has_one_effect(times: int) -> None:
    stage = Stage()
    job = stage.running()
    verdicts = [take(stage.world, event(stage, job, FAILED)) for _ in range(times)]
    assert verdicts == [(200, "24f")] + [(200, "replay")] * (times - 1)
    assert stage.read(job).version == 4
    assert len(stage.store.noted[job.id]) == times - 1


def test_deduplication_is_never_the_only_guard() -> None:
    stage = Stage()
    job = stage.running()
    take(stage.world, event(stage, job, SUCCEEDED))
    stage.once._done.clear()
    take(stage.world, event(stage, job, SUCCEEDED))
    assert take(stage.world, event(stage, job, SUCCEEDED, event_id="evt-2")) == (200, "duplicate")
    assert stage.read(job).version == 4


def test_the_same_id_with_another_body_is_not_applied_over_the_first() -> None:
    stage = Stage()
    job = stage.running()
    take(stage.world, event(stage, job, SUCCEEDED))
    assert take(stage.world, event(stage, job, FAILED)) == (200, "replay")
    assert stage.state(job) is State.STORING


def test_late_and_reordered_events_change_no_ended_job() -> None:
    stage = Stage()
    job = stage.running()
    for number, status in enumerate((FAILED, RUNNING, Status.CANCELED, UNKNOWN)):
        take(stage.world, event(stage, job, status, event_id=f"evt-{number}"))
    assert (stage.state(job), stage.read(job).findings) == (State.FAILED, ())


def test_a_success_after_the_end_is_a_finding() -> None:
    stage = Stage()
    job = stage.running()
    take(stage.world, event(stage, job, FAILED))
    assert take(stage.world, event(stage, job, SUCCEEDED, event_id="evt-2")) == (200, "34")
    assert [finding.kind for finding in stage.read(job).findings] == ["late_result"]


def test_a_running_event_of_another_provider_job_is_a_finding_too() -> None:
    stage = Stage()
    job = stage.running()
    take(stage.world, event(stage, job, RUNNING, "p-9"))
    assert [finding.provider_job_id for finding in stage.read(job).findings] == ["p-9"]


def test_a_running_event_answers_whether_a_lost_job_lives() -> None:
    stage = Stage()
    job = stage.running()
    stage.store.jobs[job.id] = replace(stage.read(job), misses=2)
    take(stage.world, event(stage, job, RUNNING))
    assert stage.read(job).misses == 0


def test_an_older_submissions_event_is_told_apart_by_its_url() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(60)
    assert job.attention is not None
    stage.apply(job, Decision(kind=DecisionKind.RESUBMIT, attention_version=job.attention.version))
    stage.sim.during_submit = die
    with pytest.raises(Killed):
        stage.dispatch(job)
    take(stage.world, stage.sim.delivery(stage.ref(job, 1), "p-1", FAILED))
    assert stage.state(job) is State.SUBMITTING
    take(stage.world, stage.sim.delivery(stage.ref(job, 2), "p-2", FAILED, event_id="evt-2"))
    assert stage.state(job) is State.FAILED


# -- who may speak


def test_what_is_not_rightly_signed_is_refused_before_anything_is_read() -> None:
    stage = Stage()
    job = stage.running()
    forged = replace(event(stage, job, SUCCEEDED), headers={"webhook-id": ("evt-1",), "webhook-signature": ("v1,x",)})
    with pytest.raises(Unauthorized):
        take(stage.world, replace(forged, body=b"\xff"))
    assert stage.read(job).version == 3


@pytest.mark.parametrize("spoil", ["token", "job", "submission", "form", "provider"])
def test_a_url_that_we_did_not_make_is_refused(spoil: str) -> None:
    other = ScriptedAdapter("other", traits=replace(KEYED, provider="other"))
    stage = Stage(adapters=(other,))
    job = stage.running()
    second = stage.job("second")
    job_id, _, token = stage.ref(job).split(".")
    refs = {
        "token": f"{job_id}.1.{'a' * 26}",
        "job": f"{second.id}.1.{token}",
        "submission": f"{job_id}.2.{token}",
        "form": "x" * 2000,
        "provider": stage.ref(job),
    }
    adapter = other if spoil == "provider" else stage.sim
    with pytest.raises(Unauthorized):
        take(stage.world, adapter.delivery(refs[spoil], "p-1", SUCCEEDED))
    assert stage.read(job).version == 3


def test_a_rotated_token_secret_is_fetched_once() -> None:
    stage = Stage()
    job = stage.running()
    delivery = event(stage, job, SUCCEEDED)
    stage.secrets.key = b"another-key-for-webhook-urls-of-64-chars"
    with pytest.raises(Unauthorized):
        take(stage.world, delivery)
    assert stage.secrets.refreshes == ["tokens"]


def test_a_provider_that_is_not_configured_is_not_found() -> None:
    stage = Stage()
    with pytest.raises(NotFound):
        take(stage.world, replace(event(stage, stage.running(), RUNNING), provider="nobody"))


def test_signed_content_that_cannot_be_used_is_a_bad_request() -> None:
    stage = Stage()
    with pytest.raises(BadRequest):
        take(stage.world, replace(event(stage, stage.running(), RUNNING), body=b"[]"))


def test_an_untrusted_source_is_only_a_hint_confirmed_by_a_poll() -> None:
    stage = Stage(replace(KEYED, webhooks=False))
    job = stage.running()
    stage.sim.says("poll", RUNNING)
    take(stage.world, event(stage, job, SUCCEEDED))
    assert stage.state(job) is State.RUNNING
    stage.sim.says("poll", SUCCEEDED)
    take(stage.world, event(stage, job, SUCCEEDED))
    assert stage.state(job) is State.STORING
    assert stage.sim.unused() == []


@pytest.mark.parametrize(("named", "found"), [(True, ["p-2"]), (False, [])])
def test_an_untrusted_hint_of_a_second_charge_is_heard_where_the_provider_says_that_it_is_ours(
    named: bool, found: list[str]
) -> None:
    stage = Stage(replace(KEYED, webhooks=False))
    job = stage.running()
    stage.sim.says("poll", SUCCEEDED, "p-2", reference=job.reference if named else None)
    assert take(stage.world, event(stage, job, SUCCEEDED, "p-2"))[0] == 200
    after = stage.read(job)
    assert (after.state, [finding.provider_job_id for finding in after.findings]) == (State.RUNNING, found)


@pytest.mark.parametrize("provider_job_id", ["p-1", "p-2"])
def test_an_untrusted_hint_about_an_id_that_the_provider_does_not_know_yet_is_to_be_sent_again(
    provider_job_id: str,
) -> None:
    stage = Stage(replace(KEYED, webhooks=False))
    job = stage.running()
    stage.sim.report("poll", Report(kind=ReportKind.GONE))
    with pytest.raises(Unavailable):
        take(stage.world, event(stage, job, SUCCEEDED, provider_job_id))
    assert stage.read(job) == job


def test_an_untrusted_hint_that_nobody_confirms_is_to_be_sent_again() -> None:
    stage = Stage(replace(KEYED, webhooks=False))
    job = stage.running()
    stage.sim.report("poll", Report(kind=ReportKind.UNAVAILABLE))
    with pytest.raises(Unavailable):
        take(stage.world, event(stage, job, SUCCEEDED))
    assert stage.state(job) is State.RUNNING


# -- jobs that are not there


def test_a_signed_event_for_an_unknown_job_is_retryable_for_a_grace_time_and_then_counted() -> None:
    stage = Stage()
    job = stage.running()
    delivery = event(stage, job, SUCCEEDED)
    del stage.store.jobs[job.id]
    for _ in range(3):
        with pytest.raises(Unavailable):
            take(stage.world, delivery)
        stage.clock.advance(199)
    stage.clock.advance(GRACE_MS / 1000 - 3 * 199)
    assert take(stage.world, delivery) == (200, "unknown")
    assert stage.metrics.counted["UnknownJobEvents"] == 1


def test_an_event_without_our_url_is_found_by_the_providers_id() -> None:
    stage = Stage()
    job = stage.running()
    stage.store.bind("sim", "p-1", job.id)
    assert take(stage.world, stage.sim.delivery(None, "p-1", SUCCEEDED)) == (200, "24s")
    assert take(stage.world, stage.sim.delivery(None, "p-1", SUCCEEDED)) == (200, "replay")
    with pytest.raises(Unavailable):
        take(stage.world, stage.sim.delivery(None, "p-7", SUCCEEDED))


# -- twins, deaths and load


def test_a_twin_in_progress_gets_a_retryable_answer_and_never_a_4xx() -> None:
    stage = Stage()
    job = stage.running()
    stage.once.abandon("intake", ["sim", stage.ref(job), "evt-1"])
    with pytest.raises(Unavailable) as refused:
        take(stage.world, event(stage, job, SUCCEEDED))
    assert refused.value.status == 503
    stage.once.expire()
    assert take(stage.world, event(stage, job, SUCCEEDED)) == (200, "24s")


def test_a_death_before_the_write_is_made_good_by_the_redelivery() -> None:
    stage = Stage()
    job = stage.running()

    def die(_: Change) -> None:
        raise Killed

    stage.store.before_write = [die]
    with pytest.raises(Killed):
        take(stage.world, event(stage, job, SUCCEEDED))
    with pytest.raises(Unavailable):
        take(stage.world, event(stage, job, SUCCEEDED))
    stage.once.expire()
    assert take(stage.world, event(stage, job, SUCCEEDED)) == (200, "24s")


@pytest.mark.parametrize("fault", ["throttles", "conflicts"])
def test_load_is_a_retryable_answer_and_is_not_remembered(fault: str) -> None:
    stage = Stage()
    job = stage.running()
    setattr(stage.store, fault, 1)
    with pytest.raises(Unavailable):
        take(stage.world, event(stage, job, SUCCEEDED))
    assert take(stage.world, event(stage, job, SUCCEEDED)) == (200, "24s")


def test_a_record_store_that_fails_is_a_retryable_answer() -> None:
    stage = Stage()
    job = stage.running()

    def broken(name: str, key: object, function: object) -> str:
        raise Retryable("the record could not be written")

    with pytest.raises(Unavailable):
        take(replace(stage.world, once=broken), event(stage, job, SUCCEEDED))  # type: ignore[arg-type]


def test_a_lost_race_is_decided_again_and_the_event_is_not_lost() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.during_submit = die
    with pytest.raises(Killed):
        stage.dispatch(job)

    def ahead(_: Change) -> None:
        stage.say(job, RUNNING)

    stage.store.before_write = [ahead]
    assert take(stage.world, event(stage, job, SUCCEEDED)) == (200, "24s")


# -- progress


def progress(stage: Stage, job: Job, percent: int, number: int = 0) -> tuple[int, str]:
    return take(stage.world, event(stage, job, RUNNING, progress=percent, event_id=f"p-{number}"))


def test_progress_touches_neither_the_state_nor_the_record_of_events() -> None:
    stage = Stage()
    job = stage.running()
    for number in range(50):
        progress(stage, job, number, number)
    assert (stage.read(job).version, stage.once._done) == (3, {})


def test_progress_is_kept_at_most_once_a_second_and_never_goes_back() -> None:
    stage = Stage()
    job = stage.running()
    kept = []
    for number, percent in enumerate((10, 50, 40, 104, 100, 60)):
        progress(stage, job, percent, number)
        stage.clock.advance(1)
        kept.append(stage.store.progresses[job.id].percent)
    assert kept == [10, 50, 50, 99, 99, 99]


def test_a_thousand_events_in_ten_seconds_cost_at_most_eleven_writes() -> None:
    stage = Stage()
    job = stage.running()
    kept = 0
    for number in range(1000):
        kept += progress(stage, job, number // 10, number)[1] == "progress"
        stage.clock.advance(0.01)
    assert kept <= 11


def test_a_throttled_progress_never_delays_the_end_that_comes_in_the_same_second() -> None:
    stage = Stage()
    job = stage.running()
    progress(stage, job, 98, 1)
    progress(stage, job, 99, 2)
    assert take(stage.world, event(stage, job, SUCCEEDED)) == (200, "24s")


def test_progress_after_the_end_is_not_kept() -> None:
    stage = Stage()
    job = stage.running()
    take(stage.world, event(stage, job, FAILED))
    assert progress(stage, job, 50, 2) == (200, "noted")
    assert job.id not in stage.store.progresses


def test_an_unknown_word_is_kept_raw_counted_and_moves_nothing() -> None:
    stage = Stage()
    job = stage.running()
    body = event(stage, job, UNKNOWN)
    body = replace(body, body=body.body.replace(b'"unknown"', b'"upscaling"'))
    for _ in range(3):
        take(stage.world, body)
    assert (stage.state(job), stage.read(job).provider_word, stage.read(job).version) == (State.RUNNING, "upscaling", 4)
    assert stage.metrics.counted["UnknownWord"] == 3


def test_an_event_while_storing_changes_nothing() -> None:
    stage = Stage()
    job = stage.storing()
    assert take(stage.world, event(stage, job, FAILED)) == (200, "duplicate")
    stage.apply(job, Stored(outputs=()))
    assert stage.state(job) is State.SUCCEEDED


def test_a_job_whose_slot_lapsed_takes_it_again() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(7200)
    stage.apply(job, Tick())
    assert stage.held() == {}
    take(stage.world, event(stage, job, RUNNING))
    assert list(stage.held().values()) == [job.id]
    assert AnswerKind.ACCEPTED == "accepted"
