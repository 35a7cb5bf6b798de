"""What the functions logged: kept beside the report, and counted for the requests they made to AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def lines(logs: Any, stack_name: str) -> list[str]:
    """Every line of every function of the stack, in order of time."""
    return [line for _, line in sorted(_events(logs, stack_name))]


def _events(logs: Any, stack_name: str) -> Iterator[tuple[int, str]]:
    for group in logs.describe_log_groups(logGroupNamePrefix=f"/{stack_name}/")["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        for page in pages:
            yield from ((event["timestamp"], event["message"].rstrip()) for event in page["events"])


def count_requests(logged: list[str]) -> int:
    """Requests to AWS, from the last line of each invocation."""
    return sum(_requests(line) for line in logged)


def _requests(line: str) -> int:
    if '"aws_requests"' not in line:
        return 0
    try:
        document = json.loads(line[line.index("{") :])
    except ValueError:
        return 0
    counts = document.get("aws_requests", {})
    return sum(counts.values()) if isinstance(counts, dict) else 0


def keep(folder: Path, logged: list[str], ledger: dict[str, Any]) -> None:
    """For a person who wants to know why."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "functions.log").write_text("\n".join(logged) + "\n")
    (folder / "ledger.json").write_text(json.dumps(ledger, indent=1) + "\n")
