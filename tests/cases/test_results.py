"""Cases 12 and 47: what comes from a result's link, and what is made of it."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from mediajobs.ports import Upload
from tests import samples
from tests.cases.conftest import NewPlace
from tests.cases.parts import in_turn
from tests.cases.place import Place
from tests.hostile.server import Behaviour, each, serve

# -- 12


def test_case_12_a_file_sent_compressed_is_stored_as_the_file(place: Place) -> None:
    """(a) One rule: accepted and decoded. Its length is that of the transfer, so it is not held against the file."""
    place.server.routes["/a"] = serve(gzip.compress(samples.png()), content_encoding="gzip", content_type="image/png")
    job_id = place.storing(place.server.url("/a"), model="image-1")
    place.deliver("store", job_id)
    told = place.get(job_id)
    assert (told["status"], told["outputs"][0]["size"]) == ("succeeded", len(samples.png()))
    (stored,) = place.objects.stored.values()
    assert stored.body == samples.png()


def test_case_12_we_ask_for_no_compression(place: Place) -> None:
    """(c) Neither for files nor for answers."""
    place.server.routes["/a"] = serve(samples.mp4())
    place.deliver("store", place.storing(place.server.url("/a")))
    assert {asked.headers["accept-encoding"] for asked in place.server.asked} == {"identity"}
    assert any(asked.target == "/a" for asked in place.server.asked)


@dataclass
class CountingObjects:
    """Implements `ports.Objects`: keeps no bytes, only how many came and which uploads are open."""

    taken: int = 0
    open: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    def upload(self, key: str, content_type: str) -> Upload:
        self.open.append(key)
        return _CountingUpload(self, key)

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        raise AssertionError("nothing was stored")

    def delete(self, keys: Any) -> None:
        """Nothing is kept."""


@dataclass
class _CountingUpload:
    objects: CountingObjects
    key: str

    def write(self, data: bytes) -> None:
        self.objects.taken += len(data)

    def finish(self) -> None:
        self.objects.open.remove(self.key)
        self.objects.finished.append(self.key)

    def abort(self) -> None:
        self.objects.open.remove(self.key)


CAP = 50_000_000


def bomb(size: int) -> bytes:
    """A PNG whose picture is that long, in a few hundred kilobytes."""
    whole = samples.png()
    head = whole[: whole.index(b"IDAT") - 4] + struct.pack(">I", size) + b"IDAT"
    packer = zlib.compressobj(9, wbits=31)
    packed = packer.compress(head)
    for _ in range(size // 1_000_000):
        packed += packer.compress(bytes(1_000_000))
    return packed + packer.flush()


def test_case_12_a_body_that_inflates_stops_near_the_limit_in_little_memory(new_place: NewPlace) -> None:
    """(b) 200 kB that are 200 MB, no length, limit 50 MB: nothing stays behind, neither memory nor upload."""
    packed = bomb(200_000_000)
    assert len(packed) < 250_000
    objects = CountingObjects()
    place = new_place(objects=objects)
    place.server.routes["/a"] = serve(packed, content_encoding="gzip", length=-1)
    job_id = place.storing(place.server.url("/a"), model="image-1")
    tracemalloc.start()
    place.deliver("store", job_id)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    told = place.get(job_id)
    assert (told["status"], told["error"]["code"]) == ("failed", "invalid_result")
    assert f"larger than the limit of {CAP}" in told["error"]["message"]
    assert objects.taken <= 2 * (CAP + 256 * 1024)  # once for each of two links
    assert (objects.open, objects.finished) == ([], [])
    assert peak < 8_000_000


# -- 47

XML = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
NOT_MEDIA: dict[str, tuple[str, Behaviour]] = {
    "a login page": ("video-1", serve(b"<!DOCTYPE html><html>Please sign in</html>", content_type="text/html")),
    "an XML error as a film": ("video-1", serve(XML, content_type="video/mp4")),
    "an empty file": ("video-1", serve(b"", content_type="video/mp4")),
    "204": ("video-1", serve(status=204)),
    "206 that nobody asked for": ("video-1", serve(samples.mp4(), 206, content_range="bytes 0-99/100")),
    "JSON as a picture": ("image-1", serve(b'{"detail":"not found"}', content_type="image/png")),
    "HTML behind blanks and a mark": ("image-1", serve(b" " * 10 + b"\xef\xbb\xbf<html>", content_type="image/png")),
}


def fetches(place: Place, target: str = "/a") -> int:
    return sum(asked.target == target for asked in place.server.asked)


@pytest.mark.parametrize("what", NOT_MEDIA)
def test_case_47_what_is_not_the_media_is_fetched_once_more_by_a_fresh_link_and_never_kept(
    place: Place, what: str
) -> None:
    """Status 200 and a media name prove nothing: the job fails as invalid_result, an empty file too."""
    model, place.server.routes["/a"] = NOT_MEDIA[what]
    job_id = place.storing(place.server.url("/a"), model=model)
    place.deliver("store", job_id)
    told = place.get(job_id)
    assert (told["status"], told["error"]["code"], told["outputs"]) == ("failed", "invalid_result", [])
    assert (fetches(place), place.polls(), place.objects.stored) == (2, 1, {})


@pytest.mark.parametrize("status", [403, 404, 410])
def test_case_47_a_dead_link_is_replaced_once_and_then_a_person_is_asked(place: Place, status: int) -> None:
    """The result is paid for: no failure of the job is made of it."""
    place.server.routes["/a"] = serve(XML.replace(b"AccessDenied", b"ExpiredToken"), status)
    job_id = place.storing(place.server.url("/a"))
    place.deliver("store", job_id)
    told = place.get(job_id)
    assert (told["status"], told["attention"]["reason"]) == ("running", "result_unavailable")
    assert (fetches(place), place.polls(), place.objects.stored) == (2, 1, {})
    assert place.decisions(job_id) == ["retry", "fail"]
    place.deliver("store", job_id)
    assert fetches(place) == 2  # until then nothing more is fetched


def test_case_47_a_fresh_link_that_serves_ends_well(place: Place) -> None:
    place.server.routes["/a"], place.server.routes["/b"] = serve(XML, 403), serve(samples.mp4())
    job_id = place.storing(place.server.url("/a"))
    fresh = {"id": "p-1", "status": "completed", "outputs": [place.server.url("/b")]}
    place.server.routes["/v1/jobs/p-1"] = serve(json.dumps(fresh).encode())
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"


def test_case_47_a_server_in_trouble_is_tried_again_later(place: Place) -> None:
    """5xx says nothing of the file: the job stays, the next try has its time, and then it succeeds."""
    answers = [serve(status=503), serve(status=500), serve(samples.mp4())]
    place.server.routes["/a"] = in_turn(*answers)
    job_id = place.storing(place.server.url("/a"))
    for failures in (1, 2):
        place.deliver("store", job_id)
        job = place.job(job_id)
        assert (place.get(job_id)["stage"], job.failures, place.polls()) == ("storing", failures, 0)
        assert job.retry_at is not None
        assert job.retry_at > place.clock.now()
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"


def test_case_47_a_transfer_that_was_cut_is_tried_again_later(place: Place) -> None:
    whole = samples.mp4(filling=300_000)
    answers = [each(serve(whole[:100_000], length=len(whole))), serve(whole)]
    place.server.routes["/a"] = in_turn(*answers)
    job_id = place.storing(place.server.url("/a"))
    place.deliver("store", job_id)
    assert (place.get(job_id)["stage"], place.objects.stored) == ("storing", {})
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"
