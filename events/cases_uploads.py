"""Cases of files that go in: submit hands out forms and takes what was posted, jobs serves it to the provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from events.case import DONE, Case, document, problem
from events.cases_flow import ACCEPTED, SUBMITS
from events.fixed import IDEMPOTENCY_KEY, OTHER_TENANT, TENANT
from events.scenes import FILE, SUBMIT_WITH_FILE, Story, input_url, story
from events.shapes import api, message, records
from mediajobs.uploads import LIMITS, input_key, uploaded_key

PICTURE, PAGE = "image/png", "page"
JSON = {"Content-Type": "application/json"}
MINE, OTHERS = uploaded_key(TENANT, FILE), uploaded_key(OTHER_TENANT, FILE)


def submit() -> Iterator[Case]:
    yield from _forms()
    yield from _named()


def _forms() -> Iterator[Case]:
    def case(name: str, says: str, body: object, answer: dict[str, Any], **more: Any) -> Case:
        event = api("POST", "/v1/uploads", body=body, headers=JSON, **more)
        return Case(function="submit", name=name, says=says, event=event, answer=answer)

    given = document(201, max_bytes=LIMITS["image"], fields={"Content-Type": PICTURE})
    yield case("upload", "A form for one picture.", {"content_type": PICTURE}, given)
    refused = problem(422, "unprocessable")
    yield case("upload-of-a-page", "No media, no form.", {"content_type": "text/html"}, refused)
    yield case("upload-of-nothing", "It has to be said what it is.", {}, refused)
    nobody = problem(401, "unauthorized")
    yield case("upload-no-caller", "The authorizer proved nobody.", {"content_type": PICTURE}, nobody, caller=None)


def _named() -> Iterator[Case]:
    event = api("POST", "/v1/jobs", body=SUBMIT_WITH_FILE, headers={**JSON, "Idempotency-Key": IDEMPOTENCY_KEY})
    job = story("with-file").job

    def case(name: str, says: str, answer: dict[str, Any], objects: dict[str, str], **more: Any) -> Case:
        kept = objects or None
        return Case(function="submit", name=name, says=says, event=event, answer=answer, objects=kept, **more)

    accepted = document(202, request_id=job.id, status="pending")
    says = "The upload is a picture: the job gets a copy of its own."
    after = {"id": job.id, "state": "pending", "out": "dispatch"}
    yield case("with-file", says, accepted, {MINE: PICTURE}, after=after, stored=1)
    says = "The job has its file; the upload may be gone."
    yield case("with-file-replay", says, accepted, {}, given=("with-file",), after=after | {"version": 1})
    missing = problem(404, "not-found")
    yield case("with-file-not-posted", "No such upload.", missing, {})
    yield case("with-file-of-another", "Another tenant's is none.", missing, {OTHERS: PICTURE})
    wrong = problem(422, "unprocessable")
    yield case("with-file-page", "A page under a picture's name, before anything is charged.", wrong, {MINE: PAGE})


def dispatch() -> Iterator[Case]:
    def case(name: str, says: str, scene: str, receives: int = 1) -> Case:
        job = story(scene).job
        event = records(message({"job": job.id, "do": "submit"}, queue="dispatch", receives=receives))
        fields: dict[str, Any] = {"given": (scene,), "provider": (ACCEPTED,), "asked": SUBMITS}
        after = {"id": job.id, "state": "running"}
        return Case(function="dispatch", name=name, says=says, event=event, answer=DONE, after=after, **fields)

    yield case("with-file", "The provider gets a URL in the place of the upload's name.", "with-file")
    says = "Sent again after a killed attempt: the URL is the same, so are the bytes."
    yield case("with-file-resumed", says, "killed-with-file", receives=2)


def jobs() -> Iterator[Case]:
    told = story("reads-file")

    def case(name: str, says: str, answer: dict[str, Any], told: Story, method: str = "GET", **more: Any) -> Case:
        path = input_url(told.job, FILE).removeprefix("https://jobs.example.com")
        path = path.replace(*more.pop("spoiled", ("", "")))
        event = api(method, path, caller=None)
        fields: dict[str, Any] = {"given": ("reads-file", "succeeded"), "objects": _kept(told)} | more
        return Case(function="jobs", name=name, says=says, event=event, answer=answer, **fields)

    served = {"statusCode": 200, "isBase64Encoded": True, "headers": {"Content-Type": PICTURE}}
    yield case("input", "A provider reads the file of a job.", served, told)
    yield case("input-head", "Some ask first what it is.", served, told, method="HEAD")
    missing = problem(404, "not-found")
    token = input_url(told.job, FILE).rsplit("/", 1)[0].rpartition(".")[2]
    yield case("input-guessed-token", "A guess leads nowhere.", missing, told, spoiled=(token, "a" * 26))
    yield case("input-odd-name", "Nor does a name that is none.", missing, told, spoiled=(".png", ".exe"))
    yield case("input-gone", "Nor a file that has expired.", missing, told, objects=None)
    yield case("input-after-the-end", "Nor any once the job has ended.", missing, story("succeeded"))


def _kept(told: Story) -> dict[str, str]:
    return {input_key(told.job.id, told.job.incarnation, FILE): PICTURE}
