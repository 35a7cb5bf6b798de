"""A file goes in: a form, a post to the bucket, a job that names it, and the provider reads exactly its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from local.provider import media
from local.stack import Stack
from mediajobs.jobs.model import request_id
from tests.e2e.client import Answer, Api, Job, notes, send
from tests.e2e.schedule import Metronome
from tests.e2e.truth import Provider, Subscriber, until

PICTURE = media.make("image/png", "end to end")
PAGE = b"<!DOCTYPE html><html><body>Please sign in</body></html>"
LOST = "film-whose-answer-was-lost"


def form(api: Api, content_type: str = "image/png") -> dict[str, Any]:
    answer = api.call("POST", "/v1/uploads", {"content_type": content_type})
    assert answer.status == 201, answer
    return dict(answer.json)


def post(given: dict[str, Any], body: bytes, **changed: str) -> int:
    """What S3 says to a file posted by the form."""
    fields = given["fields"] | changed
    return requests.post(given["url"], data=fields, files={"file": ("a.png", body)}, timeout=60).status_code


def uploaded(api: Api, body: bytes = PICTURE, content_type: str = "image/png") -> str:
    given = form(api, content_type)
    assert post(given, body) in (200, 201, 204)
    return str(given["upload"])


def film_of(image: str) -> dict[str, Any]:
    return {"provider": "sim", "model": "animate-1", "input": {"prompt": "it rolls", "image": image, "duration_s": 1}}


def input_path(read: dict[str, Any]) -> str:
    return "/v1/inputs/" + str(read["url"]).partition("/v1/inputs/")[2]


@dataclass(frozen=True)
class Film:
    """A job made from a picture whose first answer was lost, once it has ended."""

    job: Job
    charge: dict[str, Any]


@pytest.fixture(scope="module")
def film(stack: Stack, caller: Api, provider: Provider, subscriber: Subscriber, metronome: Metronome) -> Film:
    """The provider takes the first request and cuts the line; nor does any event of it come."""
    job_id = request_id(stack.info["tenant"], LOST)
    fault = {"close_after": 1, "drop": 1, "duration_s": 1}
    provider.configure(script=[{"reference": job_id, "provider": "sim", "fault": fault}])
    answer = caller.submit(LOST, film_of(uploaded(caller)))
    assert (answer.status, answer.json["request_id"]) == (202, job_id)
    job = caller.ended(job_id)
    (charge,) = provider.charges(job_id)
    return Film(job, charge)


def test_film_is_made_from_exactly_the_picture_that_was_handed_in(film: Film, subscriber: Subscriber) -> None:
    """Read once, under its own type; the job succeeds and is published."""
    assert film.job["status"] == "succeeded"
    (read,) = film.charge["inputs"]
    assert (read["status"], read["content_type"], read["picture"]) == (200, "image/png", True)
    assert (read["size"], read["sha256"]) == (len(PICTURE), hashlib.sha256(PICTURE).hexdigest())
    assert subscriber.first(film.job["request_id"])["status"] == "succeeded"


def test_attempt_that_is_repeated_names_the_same_url(film: Film, provider: Provider) -> None:
    """The provider answers "replayed" only to the same key with the same bytes: a URL that changes would be 422."""
    assert "ambiguous" in notes(film.job)
    answers = [line["answer"] for line in provider.submits(film.job["request_id"])]
    assert answers == ["accepted", "replayed"]


def test_nothing_is_served_after_the_end_nor_to_a_guess(film: Film, caller: Api) -> None:
    """The URL was the provider's for as long as it had to read."""
    path = input_path(film.charge["inputs"][0])
    assert send(caller.url, "GET", path).status == 404
    for odd in (path[:-5] + "x.png", path.replace("/v1/inputs/", "/v1/inputs/a"), path + ".exe"):
        answer = send(caller.url, "GET", odd)
        assert (answer.status, answer.json["type"]) == (404, "urn:mediajobs:problem:not-found")


@pytest.fixture
def held(caller: Api, provider: Provider, metronome: Metronome) -> tuple[Job, str]:
    """A job that runs for long, and the path at which the provider has read its picture."""
    document = film_of(uploaded(caller))
    document["input"]["duration_s"] = 60
    job_id = str(caller.submit("film-that-runs-for-long", document).json["request_id"])

    def read() -> list[dict[str, Any]]:
        return [line for charge in provider.charges(job_id) for line in charge["inputs"]]

    return caller.job(job_id), input_path(until(read, 240)[0])


def test_provider_may_ask_first_what_it_is_and_read_it_again(held: tuple[Job, str], caller: Api) -> None:
    """HEAD says what GET would; then the job is canceled, and with it ends the URL."""
    job, path = held
    # Without this header the emulator leaves the body in base64.
    asked, read = (send(caller.url, method, path, [("Accept", "*/*")]) for method in ("HEAD", "GET"))
    assert (read.status, read.body) == (200, PICTURE)
    assert (asked.status, asked.body) == (200, b"")
    for answer in (asked, read):
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["content-length"] == str(len(PICTURE))
    assert caller.cancel(job["request_id"]).status == 202
    assert caller.ended(job["request_id"])["status"] == "canceled"
    assert send(caller.url, "GET", path).status == 404


def test_bucket_takes_only_what_the_form_is_for(caller: Api) -> None:
    """Another type, an empty file, another place: refused by the policy that was signed."""
    given = form(caller)
    assert post(given, PICTURE, **{"Content-Type": "text/html"}) in (400, 403)
    assert post(given, b"") in (400, 403)
    assert post(given, PICTURE, key="results/mine.png") in (400, 403)
    assert refused(caller, given["upload"], "not-posted").status == 404


def refused(api: Api, upload: str, key: str) -> Answer:
    """A submit that has to leave nothing behind."""
    answer = api.submit(key, film_of(upload))
    assert answer.status in (404, 422), answer
    return answer


def test_file_that_is_too_large_is_refused_by_the_bucket(caller: Api) -> None:
    """One byte more than the form allows."""
    given = form(caller)
    assert post(given, bytes(given["max_bytes"] + 1)) in (400, 413)


def test_another_tenants_upload_is_404(caller: Api, stranger: Api) -> None:
    """It looks like one that never was, and the two cannot be told apart."""
    mine = uploaded(caller)
    theirs, nobodys = refused(stranger, mine, "theirs"), refused(stranger, mine[:-5] + "a.png", "nobodys")
    assert theirs.status == nobodys.status == 404
    assert theirs.json["detail"] == nobodys.json["detail"]


def test_content_is_looked_at_before_anything_is_charged(caller: Api, provider: Provider) -> None:
    """A page under a picture's name, a film where a picture is taken: 422, no job, no POST to the provider."""
    before = len(provider.ledger()["submits"])
    for upload in (uploaded(caller, PAGE), uploaded(caller, media.make("video/mp4", "x"), "video/mp4")):
        answer = refused(caller, upload, "looked-at")
        assert (answer.status, answer.json["errors"][0]["field"]) == (422, "input.image")
    assert len(provider.ledger()["submits"]) == before


def test_large_body_is_told_where_media_goes(caller: Api) -> None:
    document = film_of("data:image/png;base64," + "A" * 70_000)
    answer = caller.submit("large", document)
    assert answer.status == 413
    assert "/v1/uploads" in answer.json["detail"]
