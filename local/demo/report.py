"""The figures of a run: printed beside the ledger's, and kept in build/demo/report.json."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from local.demo.truth import Truth
from local.demo.watch import word


def figures(truth: Truth, seconds: float, aws_requests: int, violations: list[str]) -> dict[str, Any]:
    """The report's keys; `violations` empty means that every invariant held."""
    messages = Counter(message["request_id"] for message in truth.messages)
    return {
        "jobs": len(truth.jobs),
        "by_status": dict(Counter(str(job.get("status")) for job in truth.jobs.values())),
        "charges": truth.ledger["charges"],
        "duplicate_charges": truth.duplicate_charges,
        "blocked_submits": truth.blocked_submits,
        "jobs_that_met_the_block": dict(
            Counter(str(truth.jobs[job_id].get("status")) for job_id in sorted(truth.met_the_block))
        ),
        "lost": len(truth.lost),
        "stuck": len(truth.stuck),
        "published": len(messages),
        "duplicate_publishes": sum(count - 1 for count in messages.values()),
        "attention": dict(Counter(job["attention"]["reason"] for job in truth.jobs.values() if job.get("attention"))),
        "max_in_flight_seen": truth.max_in_flight_seen,
        "max_in_flight": truth.limit,
        "settled_by": dict(truth.settled_by),
        "polls_per_webhook_settled_job": truth.polls_per_webhook_settled_job,
        "aws_requests_per_job": round(aws_requests / max(1, len(truth.jobs)), 1),
        "violations": violations,
        "seconds": round(seconds, 1),
    }


def write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def show(truth: Truth, report: dict[str, Any]) -> None:
    """Two columns: what we say, what the provider's ledger says."""
    states = Counter(job["state"] for job in truth.ledger["jobs"])
    faults = Counter(fault for job in truth.ledger["jobs"] for fault in job["faults"])
    events = [event for job in truth.ledger["jobs"] for event in job["events_sent"]]
    print("\nour view                                  | the provider's ledger")
    rows = [
        (f"jobs {report['jobs']}", f"jobs accepted (charges) {report['charges']}"),
        (f"status {_told(report['by_status'])}", f"ended {_told(states)}"),
        (f"attention {_told(report['attention']) or 'none'}", f"submits refused {truth.ledger['refused']}"),
        (f"settled by {_told(report['settled_by'])}", f"events sent {len(events)}, polls {truth.ledger['polls']}"),
        (
            f"met the block {_told(report['jobs_that_met_the_block']) or 'none'}",
            f"submits refused by the block {report['blocked_submits']}",
        ),
        (
            f"limit {report['max_in_flight']}",
            f"most in flight at once {report['max_in_flight_seen']}",
        ),
        (
            f"published {report['published']}, twice {report['duplicate_publishes']}",
            f"duplicate charges {report['duplicate_charges']}",
        ),
    ]
    if "pictures_handed_in" in report:
        theirs = f"reads of that very picture {report['pictures_read']}"
        rows.append((f"jobs from a picture handed in {report['pictures_handed_in']}", theirs))
    for ours, theirs in rows:
        print(f"{ours:41} | {theirs}")
    print(f"faults that hit: {_told(faults) or 'none'}")
    for job_id, job in truth.jobs.items():
        if job.get("attention"):
            print(f"  {job_id} {word(job)}: {job['attention']['evidence']}")
    if "views" in report:
        print(f"views of jobs {_told(report['views'])}: heard over sockets, read by GET")
    print(f"AWS requests per job {report['aws_requests_per_job']}, {report['seconds']} s")
    for line in report["violations"]:
        print(f"VIOLATION {line}")
    if not report["violations"]:
        print("all seven invariants held")


def _told(count: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
