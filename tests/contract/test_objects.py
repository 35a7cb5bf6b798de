"""What every `ports.Objects` keeps, over memory and moto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from moto import mock_aws

from mediajobs.adapters import aws as sdk
from mediajobs.adapters.s3 import PART_BYTES, S3Objects, client_config
from mediajobs.errors import Retryable
from mediajobs.ports import Objects
from tests.contract.aws import CREDENTIALS
from tests.fakes.objects import MemoryObjects

BUCKET = "media-jobs-results"


@dataclass
class Bucket:
    """One `Objects`, and a reader's view of it: body and content type, or None."""

    objects: Objects
    read: Callable[[str], tuple[bytes, str] | None]


def _memory() -> Bucket:
    objects = MemoryObjects()

    def read(key: str) -> tuple[bytes, str] | None:
        found = objects.stored.get(key)
        return None if found is None else (found.body, found.content_type)

    return Bucket(objects, read)


def _s3(endpoint: str | None = None) -> Bucket:
    client: Any = sdk.client("s3", config=client_config(), endpoint_url=endpoint, **CREDENTIALS)
    client.create_bucket(Bucket=BUCKET)

    def read(key: str) -> tuple[bytes, str] | None:
        try:
            found = client.get_object(Bucket=BUCKET, Key=key)
        except client.exceptions.NoSuchKey:
            return None
        with found["Body"] as body:
            return body.read(), found["ContentType"]

    return Bucket(S3Objects(client, BUCKET), read)


@pytest.fixture(params=["memory", "moto"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    if request.param == "memory":
        yield _memory()
        return
    with mock_aws():
        yield _s3()


@pytest.mark.parametrize("size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 5])
def test_object_is_what_was_written(bucket: Bucket, size: int) -> None:
    """Around the sizes at which parts begin, in pieces that do not fit them."""
    body = bytes(range(251)) * (size // 251 + 1)
    upload = bucket.objects.upload("results/a", "video/mp4")
    for at in range(0, size, 1_000_003):
        upload.write(body[at : min(size, at + 1_000_003)])
    upload.finish()
    assert bucket.read("results/a") == (body[:size], "video/mp4")


def test_piece_of_several_parts_is_taken(bucket: Bucket) -> None:
    body = b"ab" * PART_BYTES
    upload = bucket.objects.upload("results/a", "video/mp4")
    upload.write(body)
    upload.finish()
    assert bucket.read("results/a") == (body, "video/mp4")


@pytest.mark.parametrize("size", [0, 10, PART_BYTES + 10])
def test_nothing_is_seen_before_finish_nor_after_abort(bucket: Bucket, size: int) -> None:
    upload = bucket.objects.upload("results/a", "image/png")
    upload.write(bytes(size))
    assert bucket.read("results/a") is None
    upload.abort()
    assert bucket.read("results/a") is None


def test_uploads_of_two_runs_do_not_meet(bucket: Bucket) -> None:
    """Each has its own key."""
    first = bucket.objects.upload("results/r1/0", "image/png")
    second = bucket.objects.upload("results/r2/0", "image/png")
    first.write(b"one")
    second.write(b"two")
    second.finish()
    first.abort()
    assert bucket.read("results/r1/0") is None
    assert bucket.read("results/r2/0") == (b"two", "image/png")


def test_deleted_objects_are_gone_and_deleting_again_is_harmless(bucket: Bucket) -> None:
    """None, some, and more than one call of S3 takes."""
    for key in ("a", "b", "c"):
        upload = bucket.objects.upload(key, "image/png")
        upload.write(b"x")
        upload.finish()
    bucket.objects.delete([])
    bucket.objects.delete(["a", "b", *(f"none/{n}" for n in range(1200))])
    bucket.objects.delete(["a"])
    assert [bucket.read(key) for key in ("a", "b", "c")] == [None, None, (b"x", "image/png")]


def test_link_names_the_object(bucket: Bucket) -> None:
    link = bucket.objects.link("results/job/0", seconds=60, content_type="video/mp4", name="job-0.mp4")
    assert link.startswith("https://")
    assert "results/job/0" in link


def _put(bucket: Bucket, key: str, body: bytes, content_type: str = "image/png") -> None:
    upload = bucket.objects.upload(key, content_type)
    upload.write(body)
    upload.finish()


@pytest.mark.parametrize("most", [1, 4, 5, 6, 100])
def test_peek_shows_the_beginning_and_the_whole_size(bucket: Bucket, most: int) -> None:
    _put(bucket, "uploads/acme/a", b"12345")
    found = bucket.objects.peek("uploads/acme/a", most)
    assert found is not None
    assert (found.size, found.body) == (5, b"12345"[:most])


def test_peek_at_nothing_is_none(bucket: Bucket) -> None:
    """Where no form was used, or the lifecycle was quicker."""
    assert bucket.objects.peek("uploads/acme/none", 10) is None


def test_copy_has_the_type_that_is_said(bucket: Bucket) -> None:
    """Not what a form or a client called it."""
    _put(bucket, "uploads/acme/a", b"12345", "text/html")
    seen = bucket.objects.peek("uploads/acme/a", 2)
    assert seen is not None
    bucket.objects.copy("uploads/acme/a", "inputs/j/i/a", etag=seen.etag, content_type="image/png")
    _put(bucket, "uploads/acme/a", b"54321")
    assert bucket.read("inputs/j/i/a") == (b"12345", "image/png")


# moto looks at no condition of a copy and at no policy of a form.
@pytest.fixture(params=["memory", pytest.param("emulator", marks=pytest.mark.emulator)])
def strict_bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    if request.param == "memory":
        yield _memory()
        return
    yield _s3(request.getfixturevalue("endpoint"))


def test_copy_is_of_what_was_peeked_at_or_there_is_none(strict_bucket: Bucket) -> None:
    """A source that changed in between is not copied, and one that went is told apart."""
    _put(strict_bucket, "uploads/acme/b", b"12345")
    seen = strict_bucket.objects.peek("uploads/acme/b", 2)
    assert seen is not None
    _put(strict_bucket, "uploads/acme/b", b"54321")
    with pytest.raises(Retryable):
        strict_bucket.objects.copy("uploads/acme/b", "inputs/j/i/b", etag=seen.etag, content_type="image/png")
    gone = strict_bucket.objects.copy("uploads/acme/none", "inputs/j/i/b", etag=seen.etag, content_type="image/png")
    assert not gone
    assert strict_bucket.read("inputs/j/i/b") is None


POSTS = {
    "as it says": ({}, b"1234567890", True),
    "larger": ({}, b"12345678901", False),
    "empty": ({}, b"", False),
    "of another type": ({"Content-Type": "text/html"}, b"1234", False),
    "under another key": ({"key": "results/x"}, b"1234", False),
}


@pytest.mark.emulator
@pytest.mark.parametrize("what", POSTS)
def test_form_takes_one_file_of_its_type_and_size_under_its_key(endpoint: str, what: str) -> None:
    """S3 refuses everything else by the policy that was signed."""
    bucket = _s3(endpoint)
    changed, body, taken = POSTS[what]
    key = f"uploads/acme/{what.replace(' ', '-')}"
    url, fields = bucket.objects.form(key, content_type="image/png", most_bytes=10, seconds=60)
    assert (fields["key"], fields["Content-Type"]) == (key, "image/png")
    answer = requests.post(url, data=fields | changed, files={"file": ("a.png", body)}, timeout=10)
    assert answer.ok == taken, answer.text
    assert bucket.read(key) == ((body, "image/png") if taken else None)
    assert bucket.read("results/x") is None


def test_upload_that_another_process_began_is_gone_on_with(bucket: Bucket) -> None:
    """With its whole parts; what lay in the other one's memory is sent again."""
    body = bytes(range(251)) * (2 * PART_BYTES // 251 + 9)
    first = bucket.objects.upload("results/a", "video/mp4")
    assert (first.id, first.kept) == (None, 0)
    first.write(body[: PART_BYTES + 1234])
    assert first.id is not None
    assert first.kept == PART_BYTES
    second = bucket.objects.resume("results/a", first.id)
    assert second is not None
    assert (second.id, second.kept) == (first.id, PART_BYTES)
    second.write(body[PART_BYTES:])
    second.finish()
    assert bucket.read("results/a") == (body, "video/mp4")
    assert b"".join(bucket.objects.read("results/a")) == body
    assert bucket.objects.resume("results/a", first.id) is None


def test_upload_that_was_aborted_is_gone(bucket: Bucket) -> None:
    upload = bucket.objects.upload("results/a", "video/mp4")
    upload.write(bytes(PART_BYTES))
    assert upload.id is not None
    upload.abort()
    assert bucket.objects.resume("results/a", upload.id or "none") is None
    assert bucket.objects.resume("results/a", "never-begun") is None
