"""What a job costs, counted on the wire of a bare emulator with the real handlers: DESIGN's budgets hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bed import Bed
from bench.budgets import budgets
from bench.measure import Report, measure
from bench.report import markdown
from tests.budgets.progress import kept_of_a_thousand

DOCS = Path(__file__).resolve().parents[2] / "docs" / "budgets.md"


@pytest.fixture(scope="module")
def report(running_bed: Bed) -> Report:
    """Everything but the progress events, which test_progress.py counts."""
    return measure(running_bed, progress=False)


@pytest.mark.emulator
def test_every_budget_is_kept(report: Report) -> None:
    """Units, dollars, polls, due times, sizes."""
    assert [f"{each.name}: {each.found} > {each.limit}" for each in budgets(report) if not each.kept] == []


@pytest.mark.emulator
def test_a_happy_job_takes_twenty_write_units(report: Report) -> None:
    """16 in the job table, and 2 each for Powertools' records around intake and publish; nothing is refused."""
    steps = {step["name"]: step["writes"] for step in report["happy"]["steps"]}
    assert steps == {
        "submit": 4,
        "relay: dispatch": 0,
        "dispatch": 4 + 1,
        "webhook": 4 + 2,
        "relay: store next live": 0,
        "store": 1,
        "relay: publish live": 2 + 2,
    }


@pytest.mark.emulator
def test_a_happy_job_fits_the_price(report: Report) -> None:
    """Table, queues and topic, per million; API Gateway is told beside it."""
    happy = report["happy"]
    assert happy["dollars"]["total"] <= 16
    assert happy["requests"] == {"api": 2, "appsync": 2, "dynamodb": 20, "s3": 1, "sns": 1, "sqs": 6}
    assert happy["api_dollars"] == 7


@pytest.mark.emulator
def test_a_webhook_settled_job_is_never_polled_nor_moved(report: Report) -> None:
    """Its due time stands as submit wrote it until the published mark removes it."""
    assert report["polls_of_a_webhook_settled_job"] == 0
    assert report["due_times_of_a_happy_job"] == 1


@pytest.mark.emulator
def test_the_head_of_a_happy_job_is_one_unit_in_every_state(report: Report) -> None:
    assert set(report["heads"]) == {"pending", "submitting", "running", "storing", "succeeded", "published"}
    assert max(report["heads"].values()) < 1024


@pytest.mark.emulator
def test_a_lost_answer_is_charged_once(report: Report) -> None:
    """The troubled job sends two requests under one key, and its head stays small."""
    assert report["troubled"]["submits"] == 2
    assert report["troubled"]["largest_head"] < 4096


@pytest.mark.emulator
def test_waiting_costs_once_and_nothing_per_minute(report: Report) -> None:
    """About 6 units, 9 past the first due time; a thousand waiting jobs make a quiet minute no dearer."""
    assert report["waiting"]["writes"] <= 6
    assert report["waiting_past_due"]["writes"] <= 9
    none, many = report["quiet_minute"], report["quiet_minute_with_waiting"]
    assert many["writes"] == none["writes"] == 2
    assert many["reads"] - none["reads"] <= 1.5


@pytest.mark.emulator
def test_docs_say_what_is_counted(report: Report) -> None:
    """docs/budgets.md is of this code; `make bench` writes it anew."""
    progress = {"events": 1000, "seconds": 10, "writes": kept_of_a_thousand(), "refused": 0}
    assert DOCS.read_text() == markdown(report | {"progress": progress})
