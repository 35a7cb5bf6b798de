"""Type by content, and whole files told from cut ones."""

from __future__ import annotations

import hashlib
import random
import struct
import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs.errors import InvalidMedia
from mediajobs.media import Checker, Media, Truncated
from mediajobs.media import walk as walking
from tests import samples

LIMIT = 10_000_000


def check(data: bytes, kind: str, *, piece: int = 7, limit: int = LIMIT, declared: int | None = None) -> Media:
    checker = Checker(kind, limit)
    for at in range(0, len(data), piece):
        checker.feed(data[at : at + piece])
    return checker.finish(declared)


def refusal(data: bytes, kind: str = "video") -> str:
    with pytest.raises(InvalidMedia) as caught:
        check(data, kind)
    return str(caught.value)


@pytest.mark.parametrize("content_type", samples.WHOLE)
@pytest.mark.parametrize("piece", [1, 13, 1 << 20])
def test_whole_file_is_told_by_content_whatever_the_pieces(content_type: str, piece: int) -> None:
    """Type, size and digest do not depend on how the bytes arrive."""
    data = samples.WHOLE[content_type]
    media = check(data, content_type.partition("/")[0], piece=piece, declared=len(data))
    assert media[:3] == (content_type, len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("content_type", samples.WHOLE)
def test_file_cut_anywhere_is_refused(content_type: str) -> None:
    """Except at the end of an Ogg page, and of formats that are mere rows of frames: there the length must tell."""
    data = samples.WHOLE[content_type]
    kind = content_type.partition("/")[0]
    ends: Iterable[int]
    if content_type in ("audio/mpeg", "audio/aac", "audio/flac"):
        ends = range(20)
    elif content_type == "audio/ogg":
        two_pages = len(samples.ogg_page(b"OpusHead" + bytes(11)) + samples.ogg_page(b"\x55" * 600))
        ends = [end for end in range(len(data)) if end != two_pages]
    else:
        ends = range(len(data))
    for end in ends:
        with pytest.raises(InvalidMedia):
            check(data[:end], kind, piece=1 << 20)


@pytest.mark.parametrize("content_type", sorted(set(samples.WHOLE) - {"audio/ogg"}))
def test_crumbs_after_a_whole_file_are_ignored(content_type: str) -> None:
    """Encoders and cameras append things."""
    data = samples.WHOLE[content_type] + b"\0\0\0\0\0\0\0\0\0\0\0\0trailing"
    assert check(data, content_type.partition("/")[0]).content_type == content_type


@pytest.mark.parametrize("content_type", samples.WHOLE)
@pytest.mark.parametrize("kind", ["video", "image", "audio"])
def test_kind_asked_for_must_match(content_type: str, kind: str) -> None:
    """A picture is no film, however whole it is. WebM alone may be either."""
    data = samples.WHOLE[content_type]
    if content_type.startswith(kind):
        assert check(data, kind).content_type == content_type
    elif (content_type, kind) == ("video/webm", "audio"):
        assert check(data, kind).content_type == "audio/webm"
    else:
        assert f"{content_type}, where {kind} was asked for" in refusal(data, kind)


@pytest.mark.parametrize(
    "major",
    [b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"dash", b"M4V ", b"MSNV", b"XAVC"],
)
def test_mp4_of_every_brand_is_a_film(major: bytes) -> None:
    """The list of brands never ends, so any that is not a picture or a sound is a film."""
    assert check(samples.mp4(major, b"iso6", b"avc1"), "video").content_type == "video/mp4"


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (samples.mp4(b"qt  "), "video/quicktime"),
        (samples.mp4(b"3gp4"), "video/3gpp"),
        (samples.mp4(b"M4A ", b"isom", b"mp42"), "audio/mp4"),
        (samples.mp4(b"M4B "), "audio/mp4"),
        (samples.heif(b"avif", b"mif1", b"miaf"), "image/avif"),
        (samples.heif(b"mif1", b"avif"), "image/avif"),
        (samples.heif(b"mif1", b"heic"), "image/heic"),
        (samples.heif(b"heic", b"mif1"), "image/heic"),
        (samples.heif(b"mif1", b"miaf"), "image/heif"),
        (samples.fragmented_mp4(), "video/mp4"),
        (samples.box(b"wide") + samples.box(b"mdat", b"x" * 9) + samples.box(b"moov", b"y" * 9), "video/quicktime"),
        (samples.webm(b"webm\0"), "video/webm"),
        (samples.webm(live=True), "video/webm"),
        (samples.rf64(), "audio/wav"),
        (samples.mp3(tag=True), "audio/mpeg"),
        (b"ID3\x03\0\0\0\0\0\0junk", "audio/mpeg"),
        (b"\xff\xf3\x40\x00" + bytes(60), "audio/mpeg"),
        (samples.ogg(b"\x80theora"), "video/ogg"),
        (samples.ogg(b"\x01vorbis"), "audio/ogg"),
    ],
)
def test_look_alikes_are_told_apart(data: bytes, content_type: str) -> None:
    """Containers share their first bytes; what stands further in decides."""
    assert check(data, content_type.partition("/")[0]).content_type == content_type


@pytest.mark.parametrize("brand", [b"avif", b"heic", b"mif1"])
def test_picture_in_an_mp4_container_is_not_a_film(brand: bytes) -> None:
    assert "where video was asked for" in refusal(samples.heif(brand, b"mif1"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<!DOCTYPE html><title>Sign in</title>", "HTML or XML"),
        (b"\xef\xbb\xbf" + b" " * 10 + b"<html>", "HTML or XML"),
        (b" " * 10 + b"\xef\xbb\xbf<html>", "HTML or XML"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "HTML or XML"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', "HTML or XML"),
        (b"<!-- --><svg><html></html></svg>", "HTML or XML"),
        (b'{"detail": "not found"}', "JSON"),
        (b'\n[{"error": 1}]', "JSON"),
        ("<html></html>".encode("utf-16"), "not a media type"),
        (samples.riff(b"AVI ", samples.riff_chunk(b"hdrl", b"x" * 20)), "AVI"),
        (samples.riff(b"ACON", b""), "RIFF of an unknown form"),
        (samples.webm(b"matroska"), "not WebM"),
        (samples.ogg(b"unknown!"), "unknown codec"),
        (samples.ftyp(b"jp2 ") + samples.box(b"jp2h", b"x"), "not a media type"),
        (b"%PDF-1.7 and so on", "not a media type"),
        (b"\0" * 64, "not a media type"),
        (b"", "empty"),
    ],
)
def test_what_is_not_media_is_refused_by_name(data: bytes, reason: str) -> None:
    """Whatever the file's name and its Content-Type say."""
    for kind in ("video", "image", "audio"):
        assert reason in refusal(data, kind)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (samples.ftyp(b"isom"), "video"),
        (samples.ftyp(b"isom") + samples.box(b"moov", bytes(20)), "video"),
        (samples.ftyp(b"isom") + samples.box(b"moov", bytes(20)) + samples.box(b"mdat"), "video"),
        (samples.ftyp(b"isom") + samples.box(b"mdat", bytes(20)), "video"),
        (samples.heif(b"avif")[:28], "image"),
        (samples.png()[:33] + samples.png_chunk(b"IEND"), "image"),
        (b"\x89PNG\r\n\x1a\n" + samples.png_chunk(b"IDAT", b"x"), "image"),
        (b"\xff\xd8\xff\xd9" + bytes(10), "image"),
        (b"GIF89a" + bytes(7) + b";", "image"),
        (samples.riff(b"WAVE", samples.riff_chunk(b"fmt ", bytes(16))), "audio"),
        (samples.riff(b"WAVE", samples.riff_chunk(b"data", b"")), "audio"),
        (samples.riff(b"WEBP"), "image"),
        (samples.flac()[:50], "audio"),
        (samples.ogg_page(b"OpusHead" + bytes(11)), "audio"),
        (b"ID3\x04\0\0\0\0\0\x0a" + bytes(10), "audio"),
        (b"ID3\x04\0\0\xff\xff\xff\xff" + bytes(10), "audio"),
        (b"\xff\xfb\x90\x00", "audio"),
        (b"\xff\xf1\x50\x80\x00\x1f\xfc", "audio"),
        (samples.ebml(b"\x1a\x45\xdf\xa3", samples.ebml(b"\x42\x82", b"webm", size=b"\x84")), "video"),
    ],
)
def test_header_without_content_is_refused(data: bytes, kind: str) -> None:
    """A file that begins well and holds nothing is not a result."""
    refusal(data, kind)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0ftyp",
        b"\0\0\0\x01ftyp",
        b"\0\0\0\x08ftyp",
        b"\0\0\0\0ftypisom\0\0\x02\0",
        b"\0\0\0\x01ftyp\0\0\0\0\0\0\0\x1cisom\0\0\x02\0isom",
        b"\0\0\0\x01ftyp\xff\xff\xff\xff\xff\xff\xff\xffisom\0\0\x02\0isom",
        samples.ftyp(b"isom") + b"\0\0\0\x03moovxxxx",
        samples.ftyp(b"isom") + b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x02",
    ],
)
def test_odd_box_sizes_are_refused_without_a_crash(data: bytes) -> None:
    """Sizes 0 and 1 have meanings of their own, and files of eight bytes exist."""
    refusal(data)


def test_box_that_goes_on_to_the_end_is_accepted() -> None:
    """Size 0 on the last box is what live encoders write."""
    data = samples.ftyp(b"isom") + samples.box(b"moov", bytes(20)) + b"\0\0\0\0mdat" + b"\x11" * 50
    assert check(data, "video").size == len(data)


def test_box_with_a_64_bit_size_is_followed() -> None:
    """Films over 4 GiB write it, and small ones may."""
    start = b"\0\0\0\x01ftyp" + struct.pack(">Q", 24) + b"isom\0\0\x02\0" + samples.box(b"moov", bytes(20))
    data = start + b"\0\0\0\x01mdat" + struct.pack(">Q", 66) + b"\x11" * 50
    assert check(data, "video").content_type == "video/mp4"
    refusal(data[:-1])


def test_wave_of_unknown_length_is_accepted() -> None:
    """An encoder that writes into a pipe cannot know the sizes."""
    data = bytearray(samples.wav())
    data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    assert check(bytes(data), "audio").content_type == "audio/wav"


def test_declared_length_must_be_what_came() -> None:
    """Also where the content looks whole: that is known for certain."""
    data = samples.png()
    for declared in (len(data) + 1, len(data) - 1, 0):
        with pytest.raises(Truncated):
            check(data, "image", declared=declared)
    assert check(data, "image", declared=len(data)).size == len(data)


def test_limit_stops_the_stream_at_the_chunk_that_passes_it() -> None:
    """Not at the end: the rest is never read."""
    data = samples.mp4(filling=5000)
    assert check(data, "video", limit=len(data)).size == len(data)
    checker = Checker("video", 3000)
    checker.feed(data[:3000])
    with pytest.raises(InvalidMedia, match="larger than the limit"):
        checker.feed(data[3000:3001])


def test_wrong_kind_is_refused_after_the_first_kilobyte() -> None:
    """Early: a film of gigabytes under a picture's name costs one kilobyte."""
    checker = Checker("image", LIMIT)
    data = samples.mp4(filling=5000)
    checker.feed(data[:1023])
    assert checker.content_type is None
    with pytest.raises(InvalidMedia, match="where image was asked for"):
        checker.feed(data[1023:1024])


def test_memory_stays_constant() -> None:
    """A film of 40 MB in one box is walked with kilobytes."""
    piece = bytes(1 << 20)
    checker = Checker("video", 1 << 30)
    checker.feed(
        samples.ftyp(b"isom") + samples.box(b"moov", bytes(20)) + struct.pack(">I", 8 + 40 * len(piece)) + b"mdat"
    )
    tracemalloc.start()
    for _ in range(40):
        checker.feed(piece)
    assert checker.finish().size > 40 * len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(piece)


def test_file_of_nothing_but_headers_is_given_up() -> None:
    """Work is bounded by parts, not only by bytes."""
    walker = walking.Walker(_headers_only())
    flood = bytes(8 * (walking.MOST_STEPS + 1))
    with pytest.raises(InvalidMedia, match="too many parts"):
        walker.feed(flood)


def _headers_only() -> walking.Walk:
    while True:
        yield walking.Skip(8)


@given(st.binary(max_size=300), st.sampled_from(sorted(samples.WHOLE)), st.integers(0, 80), st.integers(1, 40))
def test_no_input_gives_another_fault_than_invalid_media(junk: bytes, start: str, keep: int, piece: int) -> None:
    """Whatever comes: checked, or InvalidMedia."""
    data = samples.WHOLE[start][:keep] + junk
    for kind in ("video", "image", "audio"):
        try:
            media = check(data, kind, piece=piece)
        except InvalidMedia:
            continue
        assert media.size == len(data)


@given(st.sampled_from(sorted(samples.WHOLE)), st.integers(0, 10_000), st.integers(0, 255))
def test_one_changed_byte_is_checked_or_refused_the_same_in_any_pieces(name: str, where: int, value: int) -> None:
    """The verdict depends on the bytes alone."""
    data = bytearray(samples.WHOLE[name])
    data[where % len(data)] = value
    verdicts = set()
    for piece in (1, random.Random(where).randint(2, 50), 1 << 20):
        try:
            verdicts.add(str(check(bytes(data), name.partition("/")[0], piece=piece)))
        except InvalidMedia as refused:
            verdicts.add(str(refused))
    assert len(verdicts) == 1
