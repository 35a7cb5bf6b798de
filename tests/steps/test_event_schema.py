"""What is published is what docs/event.schema.json says, in every way in which a job can end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli import event_schema
from mediajobs.api.answers import Event
from mediajobs.jobs.model import Finding, Job, JobError
from mediajobs.jobs.states import ErrorCode, FindingKind, State
from mediajobs.steps.publish import publish
from mediajobs.views import SCHEMA_VERSION
from tests.steps.kit import Stage

KEPT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "event.schema.json").read_text())


def ends() -> dict[str, Job]:
    done = Stage().succeeded()
    late = Finding(kind=FindingKind.LATE_RESULT, provider_job_id="p", since=done.since)
    failed = replace(done, state=State.FAILED, outputs=(), error=JobError(code=ErrorCode.REJECTED, message="no size"))
    film = replace(done.outputs[0], width=1280, height=720, duration_ms=5000, kept_until=done.since + 1)
    return {
        "succeeded": done,
        "with all that is known of the result": replace(done, outputs=(film, film)),
        "failed": failed,
        "canceled": replace(done, state=State.CANCELED, outputs=()),
        "with a finding": replace(failed, findings=(late,)),
        "never submitted": replace(failed, history=done.history[:1], attempt=None, provider_job_id=None),
    }


@pytest.fixture(params=list(ends()))
def sent(request: pytest.FixtureRequest) -> dict[str, Any]:
    stage = Stage()
    job = ends()[request.param]
    stage.store.jobs[job.id] = job
    stage.store.put_input(job.id, b'{"input":{},"metadata":{"order":"7"}}', job.payload_digest, 0)
    assert publish(stage.world, job)
    (send,) = stage.topic.sends
    told: dict[str, Any] = json.loads(send.message)
    assert told["id"] == send.deduplication_id
    return told


def test_every_publication_validates(sent: dict[str, Any]) -> None:
    """Against the kept file, as a consumer would; and nothing is sent that it does not name."""
    jsonschema.Draft202012Validator.check_schema(KEPT)
    jsonschema.validate(sent, KEPT)
    Event.model_validate_json(json.dumps(sent))


@pytest.mark.parametrize("name", Event.model_fields)
def test_every_field_is_always_there(sent: dict[str, Any], name: str) -> None:
    """A consumer need not ask whether; and the schema notices one that is gone."""
    without = {field: value for field, value in sent.items() if field != name}
    assert len(without) == len(sent) - 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(without, KEPT)


def test_a_consumer_passes_over_fields_of_tomorrow(sent: dict[str, Any]) -> None:
    """They may be added under the same version."""
    jsonschema.validate(sent | {"weather": "fine"}, KEPT)


def test_the_kept_schema_is_of_this_code_and_version() -> None:
    """`make openapi` writes it."""
    assert event_schema.KEPT.read_text() == event_schema.text()
    assert KEPT["$id"].endswith(f":{SCHEMA_VERSION}")
    assert KEPT["properties"]["schema_version"]["const"] == SCHEMA_VERSION
