"""Real files of every type, made once by real encoders (ffmpeg 9, Pillow 13): what each is told to be.

The smallest that the encoder makes: films of a second with 48 x 32 pixels, a second of a sine, pictures of 48 x 32.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mediajobs.errors import InvalidMedia
from mediajobs.media import Checker, Media

CORPUS = Path(__file__).parent.parent / "corpus"
NONE = None

# file -> type, width, height, duration in milliseconds
FILES: dict[str, tuple[str, int | None, int | None, int | None]] = {
    "film.mp4": ("video/mp4", 48, 32, 1000),
    "film-fragments.mp4": ("video/mp4", 48, 32, NONE),
    "film-hevc.mp4": ("video/mp4", 48, 32, 1000),
    "film-iso6.mp4": ("video/mp4", 48, 32, 1000),
    "film-sound-faststart.mp4": ("video/mp4", 48, 32, 1000),
    "film-turned.mp4": ("video/mp4", 32, 48, 1000),
    "film.mov": ("video/quicktime", 48, 32, 1000),
    "film.3gp": ("video/3gpp", 144, 96, 1000),
    "film-vp9.webm": ("video/webm", 48, 32, 1000),
    "film-vp8-live.webm": ("video/webm", 48, 32, NONE),
    "film.ogv": ("video/ogg", NONE, NONE, NONE),
    "picture.png": ("image/png", 48, 32, NONE),
    "moving.png": ("image/png", 48, 32, NONE),
    "picture.jpg": ("image/jpeg", 48, 32, NONE),
    "picture-progressive.jpg": ("image/jpeg", 48, 32, NONE),
    "picture.gif": ("image/gif", 48, 32, NONE),
    "moving.gif": ("image/gif", 48, 32, 600),
    "picture-lossy.webp": ("image/webp", 48, 32, NONE),
    "picture-lossless.webp": ("image/webp", 48, 32, NONE),
    "picture-alpha.webp": ("image/webp", 48, 32, NONE),
    "moving.webp": ("image/webp", 48, 32, 600),
    "picture.avif": ("image/avif", 48, 32, NONE),
    "picture.heic": ("image/heic", 48, 32, NONE),
    "sound.wav": ("audio/wav", NONE, NONE, 1000),
    "sound-piped.wav": ("audio/wav", NONE, NONE, 1000),
    "sound-rf64.wav": ("audio/wav", NONE, NONE, 1000),
    "sound.flac": ("audio/flac", NONE, NONE, 1000),
    "sound.ogg": ("audio/ogg", NONE, NONE, 1000),
    "sound.opus": ("audio/ogg", NONE, NONE, 1000),
    "sound.webm": ("audio/webm", NONE, NONE, 1008),
    "sound.m4a": ("audio/mp4", NONE, NONE, 1000),
    "sound.aac": ("audio/aac", NONE, NONE, NONE),
    "sound-id3.mp3": ("audio/mpeg", NONE, NONE, 1045),
    "sound-bare.mp3": ("audio/mpeg", NONE, NONE, 1045),
    "sound-vbr-mpeg2.mp3": ("audio/mpeg", NONE, NONE, 1152),
}
REFUSED = {
    "film.avi": ("video", "AVI"),
    "film.mkv": ("video", "Matroska"),
    "sound-only.mp4": ("video", "no picture in it"),
}


def check(data: bytes, kind: str, piece: int = 1 << 20, length: int | None = None) -> Media:
    checker = Checker(kind, 1 << 30)
    for at in range(0, len(data), piece):
        checker.feed(data[at : at + piece])
    return checker.finish(length)


def test_every_file_of_the_corpus_has_its_expectation() -> None:
    assert {path.name for path in CORPUS.iterdir()} == FILES.keys() | REFUSED.keys()


@pytest.mark.parametrize("piece", [1, 997, 1 << 20])
@pytest.mark.parametrize("name", FILES)
def test_real_file_is_told_with_its_size_and_length(name: str, piece: int) -> None:
    """Whatever the pieces in which it arrives."""
    data = (CORPUS / name).read_bytes()
    content_type, *measures = FILES[name]
    media = check(data, content_type.partition("/")[0], piece)
    assert media == (content_type, len(data), hashlib.sha256(data).hexdigest(), *measures)


@pytest.mark.parametrize("name", FILES)
def test_real_file_does_not_pass_as_another_kind(name: str) -> None:
    """A film is no recording and no picture, in whichever container."""
    own = FILES[name][0].partition("/")[0]
    for kind in {"video", "image", "audio"} - {own}:
        with pytest.raises(InvalidMedia):
            check((CORPUS / name).read_bytes(), kind)


@pytest.mark.parametrize("name", REFUSED)
def test_real_file_that_is_not_accepted_is_refused_by_name(name: str) -> None:
    kind, words = REFUSED[name]
    with pytest.raises(InvalidMedia, match=words):
        check((CORPUS / name).read_bytes(), kind)


# Rows of frames or pages are whole as far as they go; and some encoders could not know the end. Lengths tell there.
FRAMES = {"audio/mpeg", "audio/aac", "audio/flac", "audio/ogg", "video/ogg"}
OPEN_ENDED = {"sound-piped.wav", "film-vp8-live.webm", "film-fragments.mp4"}


@pytest.mark.parametrize("name", sorted(name for name in FILES if FILES[name][0] not in FRAMES))
def test_real_file_that_was_cut_is_refused(name: str) -> None:
    """At nine tenths and at a half: by its structure, or where that has no end of its own by its length."""
    data, kind = (CORPUS / name).read_bytes(), FILES[name][0].partition("/")[0]
    for end in (len(data) * 9 // 10, len(data) // 2):
        with pytest.raises(InvalidMedia):
            check(data[:end], kind, length=len(data) if name in OPEN_ENDED else None)


@pytest.mark.parametrize("name", FILES)
def test_headers_alone_are_refused(name: str) -> None:
    data, kind = (CORPUS / name).read_bytes(), FILES[name][0].partition("/")[0]
    for end in (1, 4, 8, 12, 16):
        with pytest.raises(InvalidMedia):
            check(data[:end], kind)
