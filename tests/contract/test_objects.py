"""What every `ports.Objects` keeps, over memory and moto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from moto import mock_aws

from mediajobs.adapters import aws as sdk
from mediajobs.adapters.s3 import PART_BYTES, S3Objects, client_config
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


def _s3() -> Bucket:
    client: Any = sdk.client("s3", config=client_config(), **CREDENTIALS)
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
