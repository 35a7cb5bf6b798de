"""The soak's own arithmetic: what it plans, what it counts as true, and what it does not let pass."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from local.demo import report
from local.demo.truth import Truth, once
from local.soak import workers
from local.soak.convergence import Convergence, converged, percentile
from local.soak.operator import answer
from local.soak.options import parse
from local.soak.plan import TENANTS, plan
from local.soak.report import Made, figures, not_made, show
from local.soak.trouble import GONE_MODEL
from local.stack.start import PROVIDERS

T0 = 1_800_000_000_000
QUESTION = {"reason": "ambiguous_submission", "since": T0, "version": 3, "evidence": "cut"}
LATE = QUESTION | {"reason": "overdue"}


def head(**fields: Any) -> dict[str, Any]:
    given = {"id": "a", "state": "running", "version": 1, "attention": None, "published_at": None, "due_at": T0}
    return given | {"slot": None, "provider": "sim", "submission": 1} | fields


def ended(**fields: Any) -> dict[str, Any]:
    return head(**({"state": "succeeded", "version": 9, "published_at": T0, "due_at": None} | fields))


def test_plan_is_the_same_for_the_same_seed() -> None:
    """A run that found something can be had again."""
    assert plan(3, 30, 2) == plan(3, 30, 2)
    assert plan(3, 30, 2).kills != plan(4, 30, 2).kills


@pytest.mark.parametrize(("jobs", "minutes"), [(1, 1), (7, 1), (60, 5), (500, 60)])
def test_plan_stays_within_the_load(jobs: int, minutes: float) -> None:
    """All jobs, kills and steps lie within the load, and every kind of trouble is in it."""
    made = plan(1, jobs, minutes)
    moments = [*(task.at_s for task in made.tasks), *(step.at_s for step in made.steps), *made.kills]
    assert all(0 < moment < made.load_s for moment in moments)
    assert len({task.key for task in made.tasks}) == jobs
    assert [step.at_s for step in made.steps] == sorted(step.at_s for step in made.steps)
    assert [task.at_s for task in made.tasks] == sorted(task.at_s for task in made.tasks)
    assert {"schedule off", "schedule on", "restart provider", "redeploy"} == {step.what for step in made.steps}
    assert len(made.kills) > 5


def test_usual_plan_has_every_tenant_both_providers_and_some_cancels() -> None:
    """Otherwise it would show less than it says."""
    tasks = plan(1, 60, 5).tasks
    assert {task.tenant for task in tasks} == set(TENANTS)
    assert {task.provider for task in tasks} == {"sim", "sim-nokey"}
    assert 2 <= sum(1 for task in tasks if task.cancel_after_s is not None) <= 15
    assert len({task.at_s for task in tasks}) == 8


def test_the_model_that_the_deploy_takes_away_is_configured() -> None:
    """Else the deploy would change nothing."""
    assert PROVIDERS.read_text().count(f'{GONE_MODEL} = {{ kind = "video" }}\n') == 2


@pytest.mark.parametrize(
    ("job", "after_s", "wanted"),
    [
        (head(), 0, False),
        (ended(), 0, True),
        (ended(published_at=None, due_at=T0), 0, False),
        (head(attention=QUESTION), 0, True),
        (head(attention=LATE), 10, False),
        (head(attention=LATE), 241, True),
        (ended(published_at=None, due_at=T0, attention=QUESTION), 0, False),
    ],
)
def test_true_state_is_ended_and_published_or_a_question(job: dict[str, Any], after_s: int, wanted: bool) -> None:
    """Lateness alone is no end: such a job is still polled."""
    assert converged(job, T0 + 1000 * after_s) is wanted


def test_convergence_counts_from_the_end_of_the_faults() -> None:
    """Only jobs that were open then count, each until it is settled for good."""
    seen = Convergence()
    seen.see({"a": ended(), "b": head(), "c": head()}, T0 - 5000)
    seen.faults_ended = T0
    seen.see({"a": ended(), "b": head(), "c": head(attention=QUESTION)}, T0 + 1000)
    seen.see({"a": ended(), "b": head(), "c": head(version=2)}, T0 + 2000)
    assert sorted(seen.open()) == ["b", "c"]
    seen.see({"a": ended(), "b": ended(), "c": head(version=2)}, T0 + 3000)
    seen.see({"a": ended(), "b": ended(), "c": ended()}, T0 + 7000)
    assert (seen.open(), sorted(seen.seconds()), seen.violations) == ([], [3.0, 7.0], [])


def test_job_that_is_passed_over_is_told_once() -> None:
    """Nobody looks at it for longer than an interval: invariant 6. What was due before counts from the calm on."""
    seen = Convergence(faults_ended=T0)
    seen.see({"a": head(due_at=T0 - 600_000)}, T0 + 89_000)
    assert seen.violations == []
    for second in (91, 93):
        seen.see({"a": head(due_at=T0 - 600_000)}, T0 + 1000 * second)
    assert len(seen.violations) == 1
    assert seen.violations[0].startswith("invariant 6: a ")
    assert seen.worst_past_due_s == 93.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (head(version=5), head(version=4)),
        (head(state="storing"), head(state="running", version=2)),
        (ended(), ended(state="failed", version=10)),
    ],
)
def test_going_back_is_a_violation(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Version, rank and end only ever go one way."""
    seen = Convergence()
    seen.see({"a": before}, T0)
    seen.see({"a": after}, T0 + 1)
    assert [line[:12] for line in seen.violations] == ["invariant 1:"]


def test_row_that_goes_is_a_violation() -> None:
    """A job's head is kept."""
    seen = Convergence()
    seen.see({"a": head()}, T0)
    seen.see({}, T0 + 1)
    assert seen.violations == ["lost: the row of a is gone"]


@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [([], 0.5, 0), ([4.0], 0.99, 4), ([3, 1, 2], 0.5, 2), (range(1, 101), 0.99, 99), (range(1, 101), 1, 100)],
)
def test_percentile(values: Any, share: float, wanted: float) -> None:
    """The nearest rank, of values in any order."""
    assert percentile(values, share) == wanted


@pytest.mark.parametrize(
    ("reason", "states", "calm", "wanted"),
    [
        ("ambiguous_submission", ["completed"], False, "adopt"),
        ("ambiguous_submission", [], False, None),
        ("ambiguous_submission", [], True, "resubmit"),
        ("ambiguous_submission", ["lost"], True, "fail"),
        ("provider_lost", ["gone"], False, "fail"),
        ("provider_lost", [], True, None),
        ("overdue", ["processing"], True, None),
        ("overdue", ["archived"], True, "fail"),
        ("dead_letter", ["completed"], False, None),
        ("dead_letter", ["completed"], True, "retry"),
        ("result_unavailable", ["completed"], True, "retry"),
    ],
)
def test_operator_answers_by_what_the_provider_lists(
    reason: str, states: list[str], calm: bool, wanted: str | None
) -> None:
    """A second submission only where nothing is listed and nothing is on its way."""
    listed = [{"id": f"job_{number}", "state": state} for number, state in enumerate(states)]
    decision = answer(head(attention=QUESTION | {"reason": reason}), listed, calm=calm)
    assert (decision and decision["decision"]) == wanted
    if wanted == "adopt":
        assert decision == {"decision": "adopt", "provider_job_id": "job_0"}


def truth(**fields: Any) -> Truth:
    ledger = {"jobs": [], "submits": [], "charges": 0, "charges_by_reference": {}}
    given: dict[str, Any] = {"jobs": {}, "ledger": ledger, "published": {}, "messages": [], "heads": {}, "slots": {}}
    return Truth(**given | {"limit": 4} | fields)


def test_what_a_soak_makes_is_all_that_its_report_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The demo hands out files and listens to sockets, a soak does not: after its minutes nothing may be missing."""
    convergence = SimpleNamespace(seconds=lambda: [16.0, 56.0], open=dict, worst_past_due_s=0.0)
    made: Any = SimpleNamespace(
        trouble=SimpleNamespace(kills=Counter(Relay=2), done=Counter(deploy=1)),
        crowd=SimpleNamespace(cancels=Counter(taken=1)),
        operator=SimpleNamespace(answered=Counter(adopt=1)),
        convergence=convergence,
    )
    ledger = {"jobs": [], "submits": [], "charges": 0, "charges_by_reference": {}, "refused": 0, "polls": 0}
    found = truth(ledger=ledger)
    show(found, report.figures(found, 300.0, 1, []) | figures(made))
    printed = capsys.readouterr().out
    assert "processes killed 2 (2 Relay)" in printed
    assert "all within 56.0 s" in printed
    assert "all seven invariants held" in printed


def test_second_submission_needs_a_person() -> None:
    """A charge under another key of the same job is a duplicate unless somebody asked for it."""
    jobs = [{"reference": name, "state": "completed"} for name in ("a.1.x", "b.2.y", "c.2.z")]
    assert truth(ledger={"jobs": jobs}).unasked_submissions({"b"}) == [
        "invariant 2: c was submitted anew and nobody asked for it"
    ]


def test_a_job_that_fails_for_the_accounts_fault_is_a_violation() -> None:
    """Rejected by nobody and taken by nobody: only the refusal of the account stands behind it."""

    def submit(job: str, answer: str, fault: str = "") -> dict[str, str]:
        return {"reference": f"{job}.1.x", "answer": answer, "fault": fault}

    failed = {"status": "failed", "error": {"code": "rejected"}, "history": []}
    refused = [submit(job, "refused", "blocked") for job in ("a", "b", "c")]
    ledger = {"jobs": [], "submits": [*refused, submit("b", "rejected")], "charges_by_reference": {}}
    found = truth(jobs={"a": failed, "b": failed, "c": {"status": "pending", "history": []}}, ledger=ledger)
    assert (found.blocked_submits, found.met_the_block) == (3, {"a", "b", "c"})
    assert [line for line in found.violations() if line.startswith("blocked")] == [
        "blocked: a failed for the account's fault"
    ]


@pytest.mark.parametrize(
    ("slot", "rows", "wanted"),
    [
        ("001", {"001@S#sim": "a"}, 0),
        ("001", {}, 1),
        (None, {"001@S#sim": "a"}, 1),
        ("001", {"001@S#sim-nokey": "a"}, 2),
        ("001", {"001@S#sim": "a", "002@S#sim": "a"}, 1),
    ],
)
def test_slots_of_jobs_are_the_rows(slot: str | None, rows: dict[str, str], wanted: int) -> None:
    """Row and job say the same, at the job's own provider, once."""
    found = truth(heads={"a": head(slot=slot)}, slots=rows).violations()
    assert len([line for line in found if line.startswith("invariant 4")]) == wanted


def test_consumer_honours_the_id_of_a_publication() -> None:
    """The same id is one publication however often it comes; another id of the same job is a second one."""
    first, again, other = ({"id": name, "request_id": "a"} for name in ("a.x.5", "a.x.5", "a.x.6"))
    assert once([first, again, other]) == [first, other]


def test_less_trouble_than_planned_is_no_success() -> None:
    """A run without its kills, its deploy or its jobs would prove less than it says."""
    load = plan(1, 10, 1)
    steps = {"schedule off": 1, "schedule on": 1, "restart provider": 2, "redeploy": 1}
    assert not_made(load, Made(len(load.kills), steps), 10) == []
    assert len(not_made(load, Made(0, steps), 10)) == 1
    assert len(not_made(load, Made(len(load.kills), steps | {"redeploy": 0}), 10)) == 1
    assert len(not_made(load, Made(len(load.kills), steps), 9)) == 1


def test_jobs_follow_the_minutes_unless_given() -> None:
    """A short soak is a small one."""
    assert parse(["--minutes", "2"]).jobs < parse(["--minutes", "5"]).jobs
    assert parse(["--minutes", "2", "--jobs", "3"]).jobs == 3
    for wrong in (["--minutes", "0"], ["--minutes", "90"], ["--jobs", "-1"]):
        with pytest.raises(SystemExit):
            parse(wrong)


@pytest.mark.skipif(not workers.supported(), reason="no /proc here")
def test_only_own_children_that_wait_for_a_request_are_killed() -> None:
    """One that still starts, and a child that runs no function, are left alone; a ready one may be busy since."""
    ready = "import sys, time; print(flush=True); sys.stdin.readline(); print(flush=True); time.sleep(60)"
    starting = "import sys, time; print(flush=True); time.sleep(60)"
    function = os.environ | {"AWS_LAMBDA_FUNCTION_NAME": "store"}
    bare = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with ExitStack() as stack:
        worker, _young, other = (
            stack.enter_context(_child(code, environment))
            for code, environment in ((ready, function), (starting, function), (ready, bare))
        )
        found = workers.Workers(os.getpid())
        end = time.monotonic() + 10
        while not found.ready() and time.monotonic() < end:
            found.look()
        assert found.ready() == {worker.pid: "store"}
        assert worker.stdin
        assert worker.stdout
        worker.stdin.write(b"a request\n")
        worker.stdin.flush()
        worker.stdout.readline()
        found.look()
        assert found.ready() == {worker.pid: "store"}
        nobody = workers.Workers(other.pid)
        nobody.look()
        assert nobody.ready() == {}
        assert workers.kill(worker.pid)
        worker.wait(10)
        assert found.ready() == {}
        assert not workers.kill(worker.pid)


@contextmanager
def _child(code: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that has begun to run the code."""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout
            child.stdout.readline()
            yield child
        finally:
            child.kill()
