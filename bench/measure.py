"""Runs the scenarios and puts what they took into one report: plain values, the same at every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from bench import modules, prices, scenarios
from bench.bed import Bed
from bench.line import Line, Step, happy, head_bytes
from bench.resources import api_keys
from events.cases_notify import notify
from events.fixed import NOW, USER_KEY
from events.shapes import api, authorizer

# An event for a tenant that has no receiver: all but the request.
NOBODY = next(case.event for case in notify() if case.name == "nobody")
FUNCTIONS = ("authorize", "submit", "jobs", "relay", "dispatch", "webhook", "store", "reconcile", "notify")
MINUTES_A_MONTH = 60 * 730
WAITING = 1000

Report = dict[str, Any]


def measure(bed: Bed, *, progress: bool = True) -> Report:
    """Every number of this bench but the progress events, which take most of its time, where they are left out."""
    bed.restart()
    line = _clean(bed, happy, "happy")
    report: Report = {
        "happy": _way(line),
        "due_times_of_a_happy_job": len({head["due_at"]["N"] for head in line.heads if "due_at" in head}),
        "polls_of_a_webhook_settled_job": sum("/v1/jobs/" in call for call in line.asked),
        "modules": loaded(bed, line.job_id),
    }
    report["heads"] = head_bytes(line.heads)
    report |= _quiet(bed)
    idle = report["quiet_minute"]
    report |= {
        "waiting": _beyond(_clean(bed, scenarios.waiting, "waiting"), line),
        "waiting_past_due": _beyond(_clean(bed, scenarios.waiting_past_due, "longer"), line, less=idle),
        "poll": _poll(_clean(bed, scenarios.polled, "polled"), idle),
        "troubled": _troubled(_clean(bed, scenarios.troubled, "troubled")),
    }
    if progress:
        bed.clear()
        report["progress"] = _progress(scenarios.progressing(bed, "progress"))
    return report


def _clean(bed: Bed, scenario: Any, key: str) -> Line:
    bed.clear()
    line: Line = scenario(bed, key)
    return line


def _sums(steps: Iterable[Step]) -> dict[str, Any]:
    steps = list(steps)
    requests: Counter[str] = Counter()
    for step in steps:
        requests += step.requests
    return {
        "writes": sum(step.writes for step in steps),
        "reads": sum(step.reads for step in steps),
        "requests": dict(sorted(requests.items())),
    }


def _priced(sums: dict[str, Any]) -> dict[str, Any]:
    requests = sums["requests"]
    bill = prices.dollars(
        writes=sums["writes"], reads=sums["reads"], sqs=requests.get("sqs", 0), sns=requests.get("sns", 0)
    )
    return sums | {"dollars": prices.rounded(bill)}


def _way(line: Line) -> dict[str, Any]:
    """All of a job's way. Secrets are read once per cold start, so they are no part of a job's cost."""
    steps = [{"name": step.name, **_sums([step])} for step in line.steps]
    for one in steps:
        one["requests"].pop("secretsmanager", None)
    whole = _priced(_sums(line.steps))
    whole["requests"].pop("secretsmanager", None)
    beside = {
        "api_dollars": round(whole["requests"]["api"] * prices.REST_CALLS, 4),
        "live_dollars": round(whole["requests"]["appsync"] * prices.LIVE_EVENTS, 4),
    }
    return {"steps": steps, **whole, **beside}


def _beyond(line: Line, plain: Line, less: dict[str, Any] | None = None) -> dict[str, Any]:
    """What this job took more than a happy one, its share of a run of reconcile without the run itself."""
    run = less or {"writes": 0, "reads": 0}
    more, base = _sums(line.steps), _sums(plain.steps)
    return {name: more[name] - base[name] - run[name] for name in ("writes", "reads")}


def _poll(line: Line, idle: dict[str, Any]) -> dict[str, Any]:
    """One poll inside a run that takes place anyway."""
    run = _sums(line.steps[-1:])
    units = {name: run[name] - idle[name] for name in ("writes", "reads")}
    return _priced(units | {"requests": {}})


def _troubled(line: Line) -> dict[str, Any]:
    # Times with jitter in them are a byte longer or shorter, so only about.
    largest = -(-max(head_bytes(line.heads).values()) // 100) * 100
    submits = sum(call == "POST /sim/v1/jobs" for call in line.asked)
    return _sums(line.steps) | {"largest_head": largest, "submits": submits}


def _quiet(bed: Bed) -> Report:
    """A minute in which nothing is due: with no job, and with a thousand that wait."""
    bed.clear()
    scenarios.quiet_minute(bed, 0)  # the first one reads secrets and modules
    bed.clear()
    none = _priced(_sums([scenarios.quiet_minute(bed, 0)]))
    bed.clear()
    many = _sums([scenarios.quiet_minute(bed, WAITING)])
    month = none["dollars"]["total"] * MINUTES_A_MONTH / 1_000_000
    bed.clear()
    return {"quiet_minute": none | {"dollars_a_month": round(month, 4)}, "quiet_minute_with_waiting": many}


def _progress(step: Step) -> dict[str, Any]:
    events, seconds = scenarios.PROGRESS_EVENTS, scenarios.PROGRESS_SECONDS
    return {"events": events, "seconds": seconds, "writes": step.writes, "refused": step.refused}


def loaded(bed: Bed, job_id: str) -> Report:
    """The costly packages that each function has loaded, when imported and once it has done its work."""
    bed.put(api_keys())
    bed.invoke("authorize", authorizer({"X-API-Key": USER_KEY}), NOW)
    bed.invoke("jobs", api("GET", f"/v1/jobs/{job_id}"), NOW)
    bed.invoke("reconcile", {}, NOW)
    bed.invoke("notify", NOBODY, NOW)
    sandboxes = {name: bed.sandbox(name) for name in FUNCTIONS}
    return {
        name: {"import": sorted(modules.costly(box.cold)), "work": sorted(modules.costly(box.modules()))}
        for name, box in sandboxes.items()
    }
