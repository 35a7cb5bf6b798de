"""The report as tables: for a terminal, and for docs/budgets.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.budgets import budgets

Rows = list[Sequence[str]]
_SERVICES = ("dynamodb", "sqs", "sns", "s3", "appsync", "api")


def tables(report: dict[str, Any]) -> Iterator[tuple[str, Rows]]:
    """Titles and rows; the first row names the columns."""
    yield "Budgets", _budgets(report)
    yield "One happy job: webhook, slot free at once, one output, short link", _happy(report)
    yield "Dollars per million happy jobs (us-east-1)", _bill(report)
    yield "Beside that", _beside(report)
    yield "Largest head of a happy job, in bytes (a write unit is 1,024)", _heads(report)
    yield "Costly packages that a function loads for its work (at import: none of them but jmespath)", _modules(report)


def text(report: dict[str, Any]) -> str:
    """For a terminal."""
    return "\n\n".join(f"{title}\n{_columns(rows)}" for title, rows in tables(report))


def markdown(report: dict[str, Any]) -> str:
    """For docs/budgets.md."""
    parts = [f"## {title}\n\n{_pipes(rows)}" for title, rows in tables(report)]
    return "\n\n".join([_HEAD.strip(), *parts, _NOTES.strip()]) + "\n"


_HEAD = """
# What a job costs, counted

Written by `make bench`; a test compares it with a fresh count. Every number is a count, so it is the same on any
machine: units as DynamoDB (here its emulator) reports them for each request, Powertools' own included, requests as they
went over the wire, and a virtual clock. Nothing here is a time.
"""

_NOTES = """
## What to know about these numbers

- Prices stand in `bench/prices.py`. They are list prices of us-east-1; put in yours and run `make bench`.
- In the budget: table, queues and topic. Beside it, and not small: API Gateway, Lambda's time (most of it store's
  download), S3, logs.
- Live events are told whether somebody listens or not: relay's two, and one for each progress event of the provider.
  None takes a unit of the table. `LiveProgress=false` tells none.
- SQS: one send, one receive and one delete per message. What an idle queue's polling costs does not grow with jobs.
- The emulator counts an index entry that changes inside a transaction once. Should AWS count it twice, a job that waits
  costs 1 to 2 units more. A happy job changes none there.
- A webhook for each user action is the cheap case: every poll that moves a due time costs 3 units.
"""


def _budgets(report: dict[str, Any]) -> Rows:
    rows: Rows = [("budget", "found", "at most", "share")]
    for each in budgets(report):
        share = f"{100 * each.found / each.limit:.0f} %" if each.limit else "-"
        rows.append((each.name, _number(each.found), _number(each.limit), share))
    return rows


def _happy(report: dict[str, Any]) -> Rows:
    rows: Rows = [("step", "write units", "read units", *_SERVICES)]
    happy = report["happy"]
    for step in (*happy["steps"], {"name": "all", **happy}):
        counts = (_number(step["requests"].get(service, 0)) for service in _SERVICES)
        rows.append((step["name"], _number(step["writes"]), _number(step["reads"]), *counts))
    return rows


def _bill(report: dict[str, Any]) -> Rows:
    happy = report["happy"]
    bill = happy["dollars"]
    requests = happy["requests"]
    return [
        ("what", "of it per job", "dollars per million"),
        ("write units", _number(happy["writes"]), _number(bill["writes"])),
        ("read units", _number(happy["reads"]), _number(bill["reads"])),
        ("SQS requests", _number(requests["sqs"]), _number(bill["sqs"])),
        ("SNS publications", _number(requests["sns"]), _number(bill["sns"])),
        ("in the budget", "", _number(bill["total"])),
        ("API Gateway calls, beside it", _number(requests["api"]), _number(happy["api_dollars"])),
        ("live events, beside it", _number(requests["appsync"]), _number(happy["live_dollars"])),
    ]


def _beside(report: dict[str, Any]) -> Rows:
    rows: Rows = [("what", "write units", "read units", "note")]

    def row(name: str, entry: dict[str, Any], note: str = "") -> None:
        rows.append((name, _number(entry["writes"]), _number(entry["reads"]), note))

    row("a job that waits for a slot, more", report["waiting"])
    row("past its first due time, more", report["waiting_past_due"])
    poll = report["poll"]
    row("a poll that finds it at work", poll, f"{_number(poll['dollars']['total'])} dollars per million")
    troubled = report["troubled"]
    note = f"answer lost, sent again with the same key, polled, link dead; {troubled['submits']} requests, one job"
    row("a troubled job, all", troubled, note)
    quiet = report["quiet_minute"]
    row("a minute in which nothing is due", quiet, f"{_number(quiet['dollars_a_month'])} dollars a month")
    row("the same with 1,000 jobs waiting", report["quiet_minute_with_waiting"])
    if "progress" in report:
        told = report["progress"]
        rows.append((f"{told['events']} progress events in {told['seconds']} s", _number(told["writes"]), "", ""))
    return rows


def _heads(report: dict[str, Any]) -> Rows:
    return [("state", "bytes"), *((name, str(size)) for name, size in report["heads"].items())]


def _modules(report: dict[str, Any]) -> Rows:
    told = report["modules"]
    return [("function", "packages"), *((name, ", ".join(found["work"])) for name, found in told.items())]


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _columns(rows: Rows) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _pipes(rows: Rows) -> str:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])
