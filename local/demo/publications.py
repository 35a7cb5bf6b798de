"""Which ended jobs have no published mark yet."""

from __future__ import annotations

from typing import Any

from local.demo.watch import ended


def unpublished(dynamodb: Any, table: str, jobs: dict[str, Any]) -> list[str]:
    """Ids of ended jobs whose head lacks the mark."""
    return [job_id for job_id, job in jobs.items() if ended(job) and not _marked(dynamodb, table, job_id)]


def _marked(dynamodb: Any, table: str, job_id: str) -> bool:
    key = {"pk": {"S": f"J#{job_id}"}, "sk": {"S": "H"}}
    head = dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item", {})
    return "ttl" in head
