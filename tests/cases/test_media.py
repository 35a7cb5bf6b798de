"""Cases 23 and 45: what a stored result is, told by its content."""

from __future__ import annotations

import struct

import pytest

from tests import samples
from tests.cases.place import Place
from tests.hostile.server import serve


def stored(place: Place, model: str, *files: bytes, content_type: str = "") -> list[str]:
    """The types of a job's outputs, as its tenant reads them, with these files behind its links."""
    urls = []
    for number, body in enumerate(files):
        served = serve(body, content_type=content_type) if content_type else serve(body)
        place.server.routes[f"/files/{number}"] = served
        urls.append(place.server.url(f"/files/{number}"))
    job_id = place.storing(*urls, model=model)
    assert place.deliver("store", job_id) == {"batchItemFailures": []}
    told = place.get(job_id)
    assert told["status"] == "succeeded", told
    return [output["content_type"] for output in told["outputs"]]


def refused(place: Place, model: str, body: bytes, content_type: str = "application/octet-stream") -> str:
    """Why the job failed, once its fresh link was no better; no failure of ours is counted for it."""
    place.server.routes["/files/a"] = serve(body, content_type=content_type)
    job_id = place.storing(place.server.url("/files/a"), model=model)
    place.deliver("store", job_id)
    told = place.get(job_id)
    assert (told["status"], told["error"]["code"]) == ("failed", "invalid_result"), told
    assert place.metrics.counted["StepFailed"] == 0
    assert place.objects.stored == {}
    return str(told["error"]["message"])


# -- 23

MP4 = [b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"dash", b"M4V ", b"MSNV"]


def test_case_23_films_of_every_major_brand_are_stored(place: Place) -> None:
    """One job with twelve outputs: eleven MP4, one QuickTime."""
    films = [samples.mp4(major, b"iso6", b"avc1") for major in (*MP4, b"qt  ")]
    assert stored(place, "video-1", *films) == [*["video/mp4"] * len(MP4), "video/quicktime"]


def test_case_23_sound_in_an_mp4_container_is_sound(place: Place) -> None:
    assert stored(place, "audio-1", samples.mp4(b"M4A ", b"iso6", b"avc1")) == ["audio/mp4"]


def test_case_23_pictures_in_an_mp4_container_are_pictures(place: Place) -> None:
    pictures = [samples.heif(major, b"iso6") for major in (b"avif", b"heic", b"mif1")]
    assert stored(place, "image-1", *pictures) == ["image/avif", "image/heic", "image/heif"]


@pytest.mark.parametrize("major", [b"M4A ", b"avif", b"heic", b"mif1"])
def test_case_23_sound_and_pictures_do_not_pass_as_films(place: Place, major: bytes) -> None:
    """Not even with a film's brands beside their own."""
    told = refused(place, "video-1", samples.mp4(major, b"iso6", b"avc1"), "video/mp4")
    assert "where video was asked for" in told


FTYP = b"ftypiso5" + bytes(4) + b"iso6avc1"
ODD = {
    "size 0": struct.pack(">I", 0) + FTYP,
    "size 1 and no 64-bit size": struct.pack(">I", 1) + FTYP[:4],
    "size 1": struct.pack(">I", 1) + b"ftyp" + struct.pack(">Q", 32) + FTYP[4:],
    "size 7": struct.pack(">I", 7) + FTYP,
    "larger than the file": struct.pack(">I", 4_000_000_000) + FTYP,
    "8 bytes": struct.pack(">I", 24) + b"ftyp",
    "7 bytes": b"\0\0\0\x18fty",
    "1 byte": b"\0",
}


@pytest.mark.parametrize("form", ODD)
def test_case_23_odd_boxes_are_refused_without_a_crash(place: Place, form: str) -> None:
    assert refused(place, "video-1", ODD[form], "video/mp4")


def test_case_23_a_64_bit_box_size_is_no_reason_to_refuse(place: Place) -> None:
    head = struct.pack(">I", 1) + b"ftyp" + struct.pack(">Q", 16 + 16) + b"iso5" + bytes(4) + b"iso6avc1"
    film = head + samples.box(b"moov", samples.box(b"mvhd", bytes(100))) + samples.box(b"mdat", b"\x11" * 64)
    assert stored(place, "video-1", film) == ["video/mp4"]


# -- 45


@pytest.mark.parametrize(
    "header",
    ['image/jpeg; charset="UTF-8"', "IMAGE/JPG", "binary/octet-stream", "application/octet-stream", ""],
)
def test_case_45_the_content_type_header_decides_nothing(place: Place, header: str) -> None:
    """True JPEG bytes are a JPEG under any name, and none."""
    assert stored(place, "image-1", samples.jpeg(), content_type=header) == ["image/jpeg"]


def tagged_junk() -> bytes:
    return b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + b"junk" * 200


def test_case_45_sound_is_told_by_its_frames_and_forms(place: Place) -> None:
    """MP3 with a tag and without, AAC, WAV with 32-bit and 64-bit sizes."""
    frame = b"\xff\xf3\x90\x00" + b"\x10" * 413
    files = [
        samples.mp3(),
        frame * 2,
        samples.mp3(tag=True),
        tagged_junk(),
        samples.aac(),
        samples.wav(),
        samples.rf64(),
    ]
    kinds = [*["audio/mpeg"] * 4, "audio/aac", "audio/wav", "audio/wav"]
    assert stored(place, "audio-1", *files) == kinds


@pytest.mark.parametrize("doctype", [b"webm", b"webm\0"])
def test_case_45_webm_is_told_by_its_document_type(place: Place, doctype: bytes) -> None:
    assert stored(place, "video-1", samples.webm(doctype)) == ["video/webm"]


LOOK_ALIKES = {
    "WebP as WAV": ("audio-1", samples.webp(), "audio/wav", "image/webp, where audio was asked for"),
    "AVI as WAV": ("audio-1", samples.riff(b"AVI ", samples.riff_chunk(b"data", b"x" * 40)), "audio/wav", "AVI"),
    "RIFF alone": ("audio-1", b"RIFF" + bytes(40), "audio/wav", "RIFF of an unknown form"),
    "Matroska as WebM": ("video-1", samples.webm(b"matroska"), "video/webm", "Matroska"),
    "SVG": (
        "image-1",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "image/svg+xml",
        "HTML or XML",
    ),
    "HTML with a picture in it": ("image-1", b"<html>" + samples.png(), "image/png", "HTML or XML"),
    "SVG behind a mark": ("image-1", b"\xef\xbb\xbf \n<svg/>" + samples.png(), "image/png", "HTML or XML"),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_case_45_look_alikes_are_refused_by_name(place: Place, name: str) -> None:
    """What a file is said to be does not help it, and the job says what it was."""
    model, body, content_type, words = LOOK_ALIKES[name]
    assert words in refused(place, model, body, content_type)
