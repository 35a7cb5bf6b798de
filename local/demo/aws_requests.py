"""How many requests the functions made to AWS, from the last line of each invocation's log."""

from __future__ import annotations

import json
from typing import Any


def count_requests(logs: Any, stack_name: str) -> int:
    """The sum over every invocation of every function of the stack."""
    total = 0
    for group in logs.describe_log_groups(logGroupNamePrefix=f"/{stack_name}/")["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        total += sum(_requests(event["message"]) for page in pages for event in page["events"])
    return total


def _requests(line: str) -> int:
    if '"aws_requests"' not in line:
        return 0
    try:
        document = json.loads(line[line.index("{") :])
    except ValueError:
        return 0
    counts = document.get("aws_requests", {})
    return sum(counts.values()) if isinstance(counts, dict) else 0
