"""Looks at jobs as reconcile takes them: when they are due, or in a run of its own."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.model import Job
from mediajobs.steps.reconcile import look, reconcile
from tests.steps.kit import KEYED, Stage

BUSY = replace(KEYED, webhooks=False)  # polls from the floor on


def tick(stage: Stage, name: str = "tick", run_ms: int = 1) -> str:
    return reconcile(stage.world, name, workers=1, run_ms=run_ms)


def at_due(stage: Stage, job: Job) -> None:
    """Move time to the job's due, and look as reconcile does."""
    due = stage.read(job).due_at
    assert due is not None
    stage.clock.advance(max(0, due - stage.clock.now()) / 1000)
    look(stage.world, job.id)


def asked(stage: Stage, what: str = "poll") -> int:
    return sum(1 for kind, _ in stage.sim.asked if kind == what)
