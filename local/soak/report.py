"""The soak's verdict: the demo's figures and what a soak adds, printed and kept in build/soak/report.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from local.demo import logs, report, truth
from local.demo.watch import Watch
from local.soak.convergence import Convergence, percentile
from local.soak.crowd import Crowd
from local.soak.operator import Operator
from local.soak.options import Options
from local.soak.plan import Plan
from local.soak.trouble import Trouble
from local.stack.places import ROOT
from local.stack.stack import Stack

# On a slow machine all processes may still be starting when one's turn comes, and are spared.
_FEWER_KILLS = 5


class Run(Protocol):
    """All that is judged."""

    stack: Stack
    options: Options
    load: Plan
    crowd: Crowd
    watch: Watch
    operator: Operator
    trouble: Trouble
    convergence: Convergence

    def elapsed(self) -> float: ...


def judge(run: Run) -> int:
    """1 where anything was violated. Report, log and ledger are written either way."""
    info, seconds = run.stack.info, run.elapsed()
    found = truth.read(info, run.stack.client, run.watch.jobs, run.options.max_in_flight)
    violations = [
        *run.crowd.violations,
        *run.watch.violations,
        *run.convergence.violations,
        *found.violations(),
        *found.unasked_submissions(run.operator.resubmitted),
        *not_made(run.load, Made(run.trouble.kills.total(), dict(run.trouble.done)), len(run.crowd.accepted)),
    ]
    logged = logs.lines(run.stack.client("logs"), info["stack_name"])
    path = ROOT / "build" / run.options.name / "report.json"
    logs.keep(path.parent, logged, found.ledger)
    result = report.figures(found, seconds, logs.count_requests(logged), violations) | figures(run)
    report.write(path, result)
    show(found, result)
    print(f"report: {path.relative_to(ROOT)}, with functions.log and ledger.json beside it")
    return 1 if violations else 0


@dataclass(frozen=True)
class Made:
    """The trouble that was really made."""

    kills: int
    steps: dict[str, int]


def not_made(load: Plan, made: Made, accepted: int) -> list[str]:
    """A run that made less trouble than planned proves less than it says, so it is no success."""
    wanted = [step.what for step in load.steps]
    found = [f"soak: {what} did not happen" for what in wanted if made.steps.get(what, 0) < wanted.count(what)]
    if made.kills < len(load.kills) / _FEWER_KILLS:
        found.append(f"soak: only {made.kills} processes killed where {len(load.kills)} were planned")
    if accepted < len(load.tasks):
        found.append(f"soak: {accepted} jobs accepted where {len(load.tasks)} were planned")
    return found


def figures(run: Run) -> dict[str, Any]:
    """What a soak adds. Convergence is of the jobs that were open when the faults ended, counted from that moment."""
    took = run.convergence.seconds()
    return {
        "kills": run.trouble.kills.total(),
        "kills_by_function": dict(run.trouble.kills),
        "trouble": dict(run.trouble.done),
        "cancels": dict(run.crowd.cancels),
        "answered_by_a_person": dict(run.operator.answered),
        "converging": len(took) + len(run.convergence.open()),
        "convergence_p50_s": round(percentile(took, 0.50), 1),
        "convergence_p99_s": round(percentile(took, 0.99), 1),
        "convergence_max_s": round(percentile(took, 1.0), 1),
        "worst_past_due_s": round(run.convergence.worst_past_due_s, 1),
    }


def show(found: truth.Truth, result: dict[str, Any]) -> None:
    """What a soak adds, above the demo's two columns."""
    by = ", ".join(f"{number} {name}" for name, number in sorted(result["kills_by_function"].items()))
    print(f"\nprocesses killed {result['kills']} ({by})")
    print(f"cancels {result['cancels']}, answered by a person {result['answered_by_a_person']}")
    print(
        f"{result['converging']} jobs were open when the faults ended; from then to their true state: half within "
        f"{result['convergence_p50_s']} s, 99 of 100 within {result['convergence_p99_s']} s, all within "
        f"{result['convergence_max_s']} s; none stood longer than {result['worst_past_due_s']} s past its due time"
    )
    report.show(found, result)
