"""The budgets of the product, and what was found of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

HEAD_BYTES = 1024
TROUBLED_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """`found` may be as large as `limit`."""

    name: str
    found: float
    limit: float

    @property
    def kept(self) -> bool:
        return self.found <= self.limit


def budgets(report: dict[str, Any]) -> Iterator[Budget]:
    """Every budget that the report has a number for."""
    happy = report["happy"]
    yield Budget(name="write units of a happy job", found=happy["writes"], limit=20)
    yield Budget(name="dollars per million, table, queues and topic", found=happy["dollars"]["total"], limit=16)
    yield Budget(
        name="polls of a job that its webhook settled", found=report["polls_of_a_webhook_settled_job"], limit=0
    )
    yield Budget(name="due times of a happy job", found=report["due_times_of_a_happy_job"], limit=1)
    yield Budget(name="bytes of a happy job's head", found=max(report["heads"].values()), limit=HEAD_BYTES)
    troubled = report["troubled"]["largest_head"]
    yield Budget(name="bytes of a troubled job's head, about", found=troubled, limit=TROUBLED_HEAD_BYTES)
    yield Budget(name="more write units of a job that waits", found=report["waiting"]["writes"], limit=6)
    longer = report["waiting_past_due"]["writes"]
    yield Budget(name="the same past its first due time", found=longer, limit=9)
    none, many = report["quiet_minute"], report["quiet_minute_with_waiting"]
    growth = many["requests"]["dynamodb"] - none["requests"]["dynamodb"]
    yield Budget(name="more requests a minute for 1,000 waiting jobs", found=growth, limit=1)
    if "progress" in report:
        yield Budget(name="progress writes per 1,000 events in 10 s", found=report["progress"]["writes"], limit=11)
