"""Forms for files, and the files of inputs as providers read them: through the handlers, over a bucket in memory."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mediajobs import uploads
from mediajobs.api import answers
from mediajobs.api import jobs as jobs_edge
from mediajobs.api import submit as submit_edge
from mediajobs.steps import jobs, submit
from tests import samples
from tests.api.events import OTHER, context, document, header, problem, proxy
from tests.fakes.objects import StoredObject
from tests.steps.kit import Stage

PICTURE = samples.png()
LARGE = PICTURE[:33] + samples.png_chunk(b"IDAT", bytes(uploads.MOST_DIRECT))


def post(stage: Stage, path: str, body: object, **more: Any) -> dict[str, Any]:
    return submit_edge.build(stage.world, submit)(proxy("POST", path, body=body, **more), context())


def read(stage: Stage, path: str, method: str = "GET") -> dict[str, Any]:
    return jobs_edge.build(stage.world, jobs)(proxy(method, path, caller=None), context())


def put(stage: Stage, body: bytes = PICTURE) -> str:
    """A file by its form; the word for it in an input."""
    form = document(post(stage, "/v1/uploads", {"content_type": "image/png"}))
    stage.objects.stored[form["fields"]["key"]] = StoredObject(body, "image/png")
    return str(form["upload"])


def named(stage: Stage, upload: str, **more: Any) -> dict[str, Any]:
    given = {"provider": "sim", "model": "video-1", "input": {"prompt": "it rolls", "image": upload}}
    return post(stage, "/v1/jobs", given, headers={"Idempotency-Key": "film-1"}, **more)


def told(stage: Stage, body: bytes = PICTURE) -> str:
    """The path at which the provider was told to read the file."""
    stage.sim.inputs = {"image": len(LARGE) + 1}
    answer = named(stage, put(stage, body))
    assert answer["statusCode"] == 202
    stage.sim.accept()
    assert stage.dispatch(stage.read(document(answer)["request_id"])) == "accepted"
    url: str = json.loads(stage.sim.submits[0].body)["input"]["image"]
    return url.removeprefix("https://jobs.example")


def test_a_form_is_as_it_is_described() -> None:
    stage = Stage()
    answer = post(stage, "/v1/uploads", {"content_type": "image/png"})
    assert answer["statusCode"] == 201
    form = answers.Upload.model_validate(document(answer))
    assert form.fields["key"] == f"uploads/acme/{form.upload.removeprefix('upload:')}"
    assert form.max_bytes == uploads.LIMITS["image"]
    assert form.form_expires_at < form.expires_at


@pytest.mark.parametrize(
    "body", [{}, {"content_type": "text/html"}, {"content_type": 7}, {"content_type": "image/png", "x": 1}]
)
def test_what_is_no_media_has_no_form(body: object) -> None:
    answer = post(Stage(), "/v1/uploads", body)
    assert problem(answer, 422, "unprocessable")["errors"]


def test_nobody_has_no_form() -> None:
    problem(post(Stage(), "/v1/uploads", {"content_type": "image/png"}, caller=None), 401, "unauthorized")


def test_another_tenants_upload_is_404_and_a_wrong_file_422_with_its_place() -> None:
    stage = Stage()
    problem(named(stage, put(stage), caller=OTHER), 404, "not-found")
    wrong = problem(named(stage, put(stage, b"<html></html>")), 422, "unprocessable")
    assert wrong["errors"][0]["field"] == "input.image"
    assert stage.store.jobs == {}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_is_answered_as_it_is(method: str) -> None:
    """In base64, which API Gateway undoes; to HEAD the same, so that its length is told."""
    stage = Stage()
    answer = read(stage, told(stage), method)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, True)
    assert base64.b64decode(answer["body"]) == PICTURE
    assert header(answer, "Content-Type") == "image/png"
    assert "store" in str(header(answer, "Cache-Control"))


def test_a_large_file_is_a_redirect() -> None:
    stage = Stage()
    answer = read(stage, told(stage, LARGE))
    assert (answer["statusCode"], answer["body"]) == (307, "")
    assert str(header(answer, "Location")).startswith("https://objects.test/inputs/")


@pytest.mark.parametrize(
    ("old", "new"),
    [("/v1/inputs/", "/v1/inputs/a"), (".png", ".exe"), (".png", "%00.png"), ("inputs/", "inputs/..%2f")],
)
def test_whatever_else_is_asked_for_is_not_there(old: str, new: str) -> None:
    """Strangers ask here: one answer for everything, never a fault of ours."""
    stage = Stage()
    problem(read(stage, told(stage).replace(old, new, 1)), 404, "not-found")
