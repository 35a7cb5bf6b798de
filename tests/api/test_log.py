"""One line per invocation, found by its ids, with nothing secret in it; counters under the names alarms look for."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mediajobs.api import jobs as jobs_edge
from mediajobs.api import submit as submit_edge
from mediajobs.api import webhook as webhook_edge
from mediajobs.errors import Unauthorized
from mediajobs.log import EmfMetrics, FieldRefusedError, JsonLog, describe_event, logged
from mediajobs.steps import jobs, submit
from tests.api.events import REQUEST_ID, context, proxy
from tests.api.stubs import JOB_ID, job, scene
from tests.api.test_webhook import PATH, REF, Takes
from tests.fakes.clock import VirtualClock

_made = 0


def log(*, strict: bool = True) -> tuple[JsonLog, io.StringIO]:
    global _made  # noqa: PLW0603 Powertools keeps one stream per service name for ever
    _made += 1
    stream = io.StringIO()
    return JsonLog(strict=strict, stream=stream, service=f"log-{_made}", level="INFO"), stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_line_whatever_is_in_it() -> None:
    """No newline, no line separator, no lone surrogate ends or breaks it."""
    logger, stream = log()
    logger.info("two\nlines\r\u2028\x85", key="a\nb", odd="\ud800", job=JOB_ID)
    assert len(stream.getvalue().splitlines()) == 1
    [line] = lines(stream)
    assert (line["message"], line["key"], line["job"]) == ("two\nlines\r\u2028\x85", "a\nb", JOB_ID)
    assert line["level"] == "INFO"
    assert line["timestamp"].endswith("+00:00")


@pytest.mark.parametrize(
    "name",
    ["prompt", "input", "body", "headers", "api_key", "X-API-Key", "Authorization", "token", "url", "webhook_url",
     "negative_prompt", "webhook_secret", "signature", "links"],
)  # fmt: skip
def test_a_field_under_which_secrets_travel_is_refused(name: str) -> None:
    """It raises in tests, and is withheld in the product: also inside another field."""
    logger, stream = log()
    with pytest.raises(FieldRefusedError):
        logger.info("x", **{name: "very secret"})
    with pytest.raises(FieldRefusedError):
        logger.info("x", answer={"deep": {name: "very secret"}})
    with pytest.raises(FieldRefusedError):
        logger.bind(**{name: "very secret"})
    assert stream.getvalue() == ""
    lenient, stream = log(strict=False)
    lenient.info("x", **{name: "very secret"}, answer={"deep": {name: "very secret"}})
    assert "very secret" not in stream.getvalue()
    assert stream.getvalue().count("(withheld)") == 2


def test_values_are_plain_and_bounded() -> None:
    """No object writes itself into a line, and no text without end."""
    logger, stream = log()
    logger.info(
        "m" * 5000, text_of="y" * 5000, job_object=job(), many=list(range(900)), name="n", none=None, deep=[[[[1]]]]
    )
    [line] = lines(stream)
    assert len(line["text_of"]) == 1001
    assert line["job_object"] == "<Job>"
    assert len(line["many"]) == 50
    assert line["name_"] == "n"
    assert "none" not in line
    assert line["deep"] == [[["<list>"]]]
    assert len(stream.getvalue()) < 4000


def test_an_exception_is_its_type_its_text_and_where_it_was() -> None:
    """But pydantic's text repeats what was sent, so it is left out."""

    class Model(BaseModel):
        number: int

    logger, stream = log()
    try:
        raise ValueError("what\nhappened")
    except ValueError as error:
        logger.error("failed", error=error)  # noqa: TRY400 the field is under test
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"number": "a secret prompt"})
    logger.warning("failed", error=caught.value)
    first, second = lines(stream)
    assert first["error"] == "ValueError: what\nhappened"
    assert first["stack"][-1].startswith("test_log.py:")
    assert first["level"] == "ERROR"
    assert second["error"] == "ValidationError"
    assert "secret" not in stream.getvalue()


def run(handler: Any, event: Any, step: Any = None) -> dict[str, Any]:
    """The last line of one invocation."""
    here = scene()
    logger, stream = log()
    inner = handler(here.world, step) if step is not None else handler
    logged(inner, name="f", log=logger, metrics=EmfMetrics(), clock=VirtualClock())(event, context())
    return lines(stream)[-1]


def test_each_request_leaves_a_line_by_which_it_is_found() -> None:
    """The gateway's id, Lambda's id, the job, who, what, and how it ended."""
    body = {"provider": "sim", "model": "video-1", "input": {"prompt": "a red bicycle"}}
    event = proxy("POST", "/v1/jobs", body=body, headers={"Idempotency-Key": "k"})
    line = run(submit_edge.build, event, submit)
    assert line["message"] == "done"
    assert line["gateway_request"] == REQUEST_ID
    assert line["invocation"] == context().aws_request_id
    assert (line["function"], line["method"], line["route"], line["status"]) == ("f", "POST", "/v1/jobs", 202)
    assert (line["tenant"], len(line["job"])) == ("acme", 26)
    assert "ms" in line
    assert "problem" not in line
    assert "bicycle" not in json.dumps(line)


def test_a_refused_request_says_with_which_problem() -> None:
    """So that a log can be counted by it."""
    line = run(jobs_edge.build, proxy("GET", f"/v1/jobs/{JOB_ID}"), jobs)
    assert (line["status"], line["problem"], line["job"], line["route"]) == (404, "not-found", JOB_ID, "/v1/jobs/{id}")


def test_a_webhooks_line_has_no_token() -> None:
    """The route, never the path."""
    line = run(webhook_edge.build, proxy("POST", PATH, body=b"{}", caller=None), Takes())
    assert (line["provider"], line["status"]) == ("sim", 200)
    assert REF not in json.dumps(line)


def test_a_batch_says_how_many_failed() -> None:
    """Of how many."""
    line = run(lambda *_: {"batchItemFailures": [{"itemIdentifier": "1"}]}, {"Records": [{}, {}, {}]})
    assert (line["records"], line["failed"]) == (3, 1)


@pytest.mark.parametrize("event", [None, [], "x", {"Records": 7}, {"requestContext": 7}, {"pathParameters": []}])
@pytest.mark.parametrize("answer", [None, [], {"statusCode": 500, "body": "{"}, {"statusCode": 400, "body": None}])
def test_describing_never_fails(event: object, answer: object) -> None:
    """A line must not turn an answer into an exception."""
    assert isinstance(describe_event(event, answer), dict)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        (f"jobs/{JOB_ID}", JOB_ID),
        ("https://bucket.example/inputs/a/b/c.png?X-Amz-Credential=AKIA%2F1&X-Amz-Signature=0123456789abcdef", None),
        (f"https://elsewhere.example/jobs/{JOB_ID}", None),
    ],
)
def test_a_signed_link_that_an_answer_leads_to_is_not_logged(location: str, found: str | None) -> None:
    """Whoever reads logs must not be able to read files. The new job's id is all that a Location is looked at for."""
    told = describe_event({}, {"statusCode": 307, "multiValueHeaders": {"Location": [location]}})
    assert told["job"] == found
    assert "Signature" not in str(told)


def test_what_raises_is_logged_counted_and_raised() -> None:
    """Once, with the ids; a refusal of the authorizer is no fault."""
    logger, stream = log()
    metrics = EmfMetrics()

    def fails(event: Exception, _: Any) -> None:
        metrics.count("Before")
        raise event

    wrapped = logged(fails, name="f", log=logger, metrics=metrics, clock=VirtualClock())
    with pytest.raises(RuntimeError):
        wrapped(RuntimeError("x"), context())
    with pytest.raises(Unauthorized):
        wrapped(Unauthorized("Unauthorized"), context())
    first, second = lines(stream)
    assert (first["level"], first["message"], first["error"]) == ("ERROR", "failed", "RuntimeError: x")
    assert (second["level"], second["message"], second["status"]) == ("INFO", "refused", 401)
    logger.info("after")
    assert "invocation" not in lines(stream)[-1]


def emitted(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_counts_are_written_once_per_invocation(capsys: pytest.CaptureFixture[str]) -> None:
    """Summed up, under the service alone where the alarms look, and by what they were counted by."""
    metrics = EmfMetrics()
    metrics.count("ReconcileRuns")
    metrics.count("Polls", provider="sim")
    metrics.count("Polls", 2, provider="sim")
    metrics.count("Polls", provider="other")
    assert emitted(capsys) == []
    metrics.flush()
    plain, sim, other = emitted(capsys)
    assert plain["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "MediaJobs"
    assert plain["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert (plain["service"], plain["ReconcileRuns"]) == ("mediajobs", [1.0])
    assert sim["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"], ["service", "provider"]]
    assert (sim["provider"], sim["Polls"], other["Polls"]) == ("sim", [3.0], [1.0])
    metrics.flush()
    assert emitted(capsys) == []


def test_no_count_is_lost_between_threads(capsys: pytest.CaptureFixture[str]) -> None:
    """Reconcile polls with many."""
    metrics = EmfMetrics()

    def count() -> None:
        for _ in range(2000):
            metrics.count("Polls")

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    metrics.flush()
    assert emitted(capsys)[0]["Polls"] == [16_000.0]


def test_an_odd_dimension_breaks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty or endless word from outside."""
    metrics = EmfMetrics()
    metrics.count("UnknownWord", provider="", word="x" * 5000)
    metrics.flush()
    [line] = emitted(capsys)
    assert line["provider"] == "none"
    assert len(line["word"]) == 200
