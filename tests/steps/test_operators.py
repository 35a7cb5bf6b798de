"""What an operator does: every decision under the version it was asked at, and providers paused and limited."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import Conflict, Forbidden, NotFound, Unprocessable
from mediajobs.jobs.events import Gone, NoUrl, Status, Tick, Traits
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Reason, State
from mediajobs.messages import Report, ReportKind
from mediajobs.pauses import PauseReason
from mediajobs.steps.jobs import Resolution, listing, provider_state, resolve, set_provider
from tests.steps.kit import ACME, OPERATOR, PLAIN, Stage


def answer(stage: Stage, job: Job, kind: str, provider_job_id: str | None = None) -> Job:
    """An operator's answer to the question that is open now."""
    attention = stage.read(job).attention
    assert attention is not None
    command = Resolution(kind=kind, attention_version=attention.version, provider_job_id=provider_job_id)
    return resolve(stage.world, OPERATOR, job.id, command)


def test_open_questions_are_listed_for_operators_of_all_tenants() -> None:
    stage = Stage(PLAIN, limit=3)
    job = stage.unsure()
    stage.running("well", "p-2")
    found, _ = listing(stage.world, OPERATOR, cursor=None, limit=9, attention=True)
    assert [one.id for one in found] == [job.id]
    with pytest.raises(Forbidden):
        listing(stage.world, ACME, cursor=None, limit=9, attention=True)


# -- a person's decision


def test_only_operators_decide() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    with pytest.raises(Forbidden):
        resolve(stage.world, ACME, job.id, Resolution(kind="fail", attention_version=3))


@pytest.mark.parametrize(
    "command",
    [
        Resolution(kind="fail"),
        Resolution(kind="adopt", attention_version=3),
        Resolution(kind="acknowledge"),
        Resolution(kind="explode", attention_version=3),
    ],
    ids=lambda command: command.kind,
)
def test_a_decision_that_lacks_something_is_unprocessable(command: Resolution) -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    with pytest.raises(Unprocessable):
        resolve(stage.world, OPERATOR, job.id, command)


@pytest.mark.parametrize("kind", ["adopt", "resubmit", "fail", "wait", "retry"])
def test_another_version_or_no_question_is_a_conflict_with_the_fresh_job(kind: str) -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(60)
    for version in (1, 99):
        with pytest.raises(Conflict) as refused:
            resolve(
                stage.world, OPERATOR, job.id, Resolution(kind=kind, attention_version=version, provider_job_id="p-7")
            )
        assert refused.value.members["job"] == stage.read(job)
    assert stage.read(job) == job


def test_later_looks_do_not_spoil_the_version_that_a_person_read() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(7200)
    stage.apply(job, Tick())
    assert stage.read(job).version > job.version
    assert job.attention is not None
    failed = resolve(stage.world, OPERATOR, job.id, Resolution(kind="fail", attention_version=job.attention.version))
    assert failed.state is State.FAILED


def test_fail_ends_the_job_and_frees_its_slot() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    assert answer(stage, job, "fail").state is State.FAILED
    assert stage.held() == {}


def test_resubmit_is_refused_within_the_lease_and_then_sends_a_new_key() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    with pytest.raises(Conflict, match="lease"):
        answer(stage, job, "resubmit")
    stage.clock.advance(60)
    assert answer(stage, job, "resubmit").submission == 2
    stage.relay()
    stage.sim.accept("p-2")
    assert stage.dispatch(job) == "accepted"
    assert len({request.headers["Idempotency-Key"] for request in stage.sim.submits}) == 2


def test_resubmit_sent_twice_is_one_new_submission() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    stage.clock.advance(60)
    assert job.attention is not None
    command = Resolution(kind="resubmit", attention_version=job.attention.version)
    resolve(stage.world, OPERATOR, job.id, command)
    with pytest.raises(Conflict):
        resolve(stage.world, OPERATOR, job.id, command)
    assert stage.read(job).submission == 2


def test_wait_doubles_the_patience_of_an_overdue_job() -> None:
    stage = Stage()
    job = stage.running()
    stage.clock.advance(900)
    stage.apply(job, Tick())
    assert answer(stage, job, "wait").attention is None


def test_who_waits_for_a_job_whose_slot_lapsed_gives_it_a_free_row_again() -> None:
    """It counts as running once more; where all rows are taken it stands beside the limit, as all evidence does."""
    stage = Stage(limit=1)
    job = stage.running()
    for seat in ("001", f"over#{job.id}"):
        stage.clock.advance(100_000)
        stage.apply(job, Tick())
        assert stage.reason(stage.say(job, Status.UNKNOWN)) is Reason.OVERDUE
        assert job.id not in stage.held().values()
        if seat != "001":
            stage.running("second", "p-2")
        assert answer(stage, stage.read(job), "wait").slot == seat
        assert stage.held()[seat] == job.id


def test_retry_of_a_result_wakes_store() -> None:
    stage = Stage()
    job = stage.storing()
    stage.apply(job, NoUrl(message="gone"))
    assert answer(stage, job, "retry").out == "store live"


def test_retry_and_fail_of_a_dead_letter() -> None:
    stage = Stage(limit=3)
    for number, kind in enumerate(("retry", "fail")):
        job = stage.job(f"job-{number}")
        stage.dead_letter(job)
        assert answer(stage, job, kind).state is (State.PENDING if kind == "retry" else State.FAILED)
    ended = stage.succeeded("ended")
    stage.dead_letter(ended)
    with pytest.raises(Conflict):
        answer(stage, ended, "fail")
    assert answer(stage, ended, "retry").out == "publish live"


def test_acknowledge_ends_a_finding_and_again_is_the_same() -> None:
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.RUNNING, "p-9")
    command = Resolution(kind="acknowledge", provider_job_id="p-9")
    assert resolve(stage.world, OPERATOR, job.id, command).findings[0].acknowledged
    version = stage.read(job).version
    assert resolve(stage.world, OPERATOR, job.id, command).version == version
    with pytest.raises(Conflict):
        resolve(stage.world, OPERATOR, job.id, Resolution(kind="acknowledge", provider_job_id="p-8"))


# -- adopt


def adopting(report: Report, traits: Traits = PLAIN) -> tuple[Stage, Job]:
    stage = Stage(traits)
    job = stage.unsure()
    asked = answer(stage, job, "adopt", "p-7")
    assert (asked.adopt, asked.state, asked.out) == ("p-7", State.SUBMITTING, "dispatch")
    stage.sim.report("poll", report)
    return stage, job


def test_adopt_asks_the_provider_and_then_binds() -> None:
    stage, job = adopting(Report(kind=ReportKind.WORD, status=Status.RUNNING, provider_job_id="p-7", raw="running"))
    assert stage.dispatch(job) == "21"
    adopted = stage.read(job)
    assert (adopted.state, adopted.provider_job_id, adopted.attention, adopted.slot) == (
        State.RUNNING,
        "p-7",
        None,
        "001",
    )
    assert stage.store.bindings == {("sim", "p-7"): job.id}


def test_adopting_a_job_that_succeeded_already_goes_on_to_its_result_at_once() -> None:
    stage, job = adopting(Report(kind=ReportKind.WORD, status=Status.SUCCEEDED, provider_job_id="p-7", raw="done"))
    stage.dispatch(job)
    assert (stage.state(job), stage.held()) == (State.STORING, {})


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report(kind=ReportKind.GONE, message="HTTP 404"), "does not know"),
        (Report(kind=ReportKind.WORD, status=Status.FAILED, provider_job_id="p-7", raw="failed"), "has ended"),
        (Report(kind=ReportKind.WORD, status=Status.CANCELED, provider_job_id="p-7", raw="canceled"), "has ended"),
        (
            Report(kind=ReportKind.WORD, status=Status.RUNNING, provider_job_id="p-7", reference=f"{'b' * 26}.1.y"),
            "another reference than this job's",
        ),
    ],
    ids=["unknown", "failed", "canceled", "another's"],
)
def test_an_id_that_cannot_be_adopted_leaves_the_question_open_with_why(report: Report, text: str) -> None:
    stage, job = adopting(report)
    assert stage.dispatch(job) == "21n"
    asked = stage.read(job)
    assert asked.attention is not None
    assert text in asked.attention.evidence
    assert "b" * 26 not in asked.attention.evidence  # the other job may be another tenant's
    assert (asked.state, asked.adopt, stage.store.bindings) == (State.SUBMITTING, None, {})


def test_an_id_that_is_bound_to_another_job_is_not_adopted() -> None:
    stage, job = adopting(Report(kind=ReportKind.WORD, status=Status.RUNNING, provider_job_id="p-7"))
    stage.store.bind("sim", "p-7", "b" * 26)
    assert stage.dispatch(job) == "21n"
    asked = stage.read(job).attention
    assert asked is not None
    assert asked.evidence == "provider job p-7 belongs to another job"  # which one, its tenant may not know


def test_a_provider_without_an_answer_is_asked_again_by_the_queue() -> None:
    stage, job = adopting(Report(kind=ReportKind.UNAVAILABLE, message='HTTP 500: cannot do "a red bicycle"'))
    with pytest.raises(Exception, match="no answer"):
        stage.receive(job)
    assert "again later" in str(stage.log.lines)
    assert "bicycle" not in str(stage.log.lines)  # the provider's text may quote the prompt
    assert stage.read(job).adopt == "p-7"
    stage.sim.says("poll", Status.RUNNING, "p-7")
    assert stage.receive(job, receives=2) == "21"


def test_a_lost_job_adopts_another_id() -> None:
    stage = Stage()
    job = stage.running()
    stage.store.jobs[job.id] = replace(stage.read(job), misses=2)
    stage.apply(job, Gone(provider_job_id="p-1"))
    assert stage.reason(job) == "provider_lost"
    answer(stage, job, "adopt", "p-7")
    stage.sim.says("poll", Status.RUNNING, "p-7")
    assert stage.dispatch(job) == "37"
    assert stage.read(job).provider_job_id == "p-7"
    assert [finding.provider_job_id for finding in stage.read(job).findings] == ["p-1"]


# -- providers


def test_an_operator_pauses_resumes_and_limits_a_provider() -> None:
    stage = Stage(limit=4)
    paused, limit = set_provider(stage.world, OPERATOR, "sim", pause=True, limit=2)
    assert (paused.pause.reason, limit) == (PauseReason.OPERATOR, 2)
    resumed, limit = set_provider(stage.world, OPERATOR, "sim", pause=False)
    assert (resumed.pause.reason, limit) == (None, 2)
    assert set_provider(stage.world, OPERATOR, "sim", limit=0)[1] == 4
    assert provider_state(stage.world, OPERATOR, "sim")[1] == 4


def test_a_pause_that_somebody_else_is_writing_is_tried_again() -> None:
    stage = Stage()
    before = stage.store.provider("sim").pause
    read = stage.store.provider
    reads = []

    def stale(name: str) -> object:
        reads.append(name)
        if len(reads) == 1:
            stage.store.save_pause("sim", before, replace(before, bad=3))
            return replace(read(name), pause=before)
        return read(name)

    stage.store.provider = stale  # type: ignore[method-assign,assignment]
    assert set_provider(stage.world, OPERATOR, "sim", pause=True)[0].pause.reason is PauseReason.OPERATOR


def test_unknown_providers_and_callers_are_refused() -> None:
    stage = Stage()
    with pytest.raises(NotFound):
        set_provider(stage.world, OPERATOR, "nobody", pause=True)
    with pytest.raises(Forbidden):
        provider_state(stage.world, ACME, "sim")
