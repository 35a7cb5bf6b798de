"""MP4, QuickTime, AVIF, HEIC: boxes in boxes."""

from __future__ import annotations

from collections.abc import Callable, Generator

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Read, Rest, Skip, Walk, Want, exactly

_INSIDE = {b"moov", b"trak", b"mdia", b"mvex", b"iprp", b"ipco"}
_LONGEST_READ = 256
_TRACKS = {b"vide": "video", b"soun": "audio"}
_Steps = Generator[Want, bytes, None]


def film(measure: Measure) -> Walk:
    """An index, of the file or of fragments, and the media it points to; a picture track, if tracks are named."""
    yield from _file(measure, lambda seen: b"mdat" in seen and (b"moov" in seen or b"moof" in seen))
    if measure.tracks and "video" not in measure.tracks:
        raise InvalidMedia("the film has no picture in it")


def recording(measure: Measure) -> Walk:
    """The same for sound."""
    yield from _file(measure, lambda seen: b"mdat" in seen and (b"moov" in seen or b"moof" in seen))
    if measure.tracks and "audio" not in measure.tracks:
        raise InvalidMedia("the recording has no sound in it")
    measure.width = measure.height = None  # of a cover


def still(measure: Measure) -> Walk:
    """The table of items, or the index of a sequence, and the pixels it points to."""
    yield from _file(measure, lambda seen: b"mdat" in seen and (b"meta" in seen or b"moov" in seen))
    if measure.crop is not None:
        measure.width = measure.height = None
        measure.picture(*measure.crop)


def _file(measure: Measure, whole: Callable[[set[bytes]], bool]) -> Walk:
    seen: set[bytes] = set()
    while len(head := (yield Read(8))) == 8:
        size, name, body = int.from_bytes(head[:4], "big"), head[4:], 0
        if size == 1:
            size, body = int.from_bytes((yield Read(8)), "big"), -8
        body += size - 8
        if not all(0x20 <= byte <= 0x7E or byte == 0xA9 for byte in name) or (size and body < 0):
            if whole(seen):
                return
            raise InvalidMedia("the file's boxes cannot be followed")
        if size == 0:  # this box goes on to the end of the file
            seen.add(name)
            yield Rest(1)
            break
        if body:
            seen.add(name)
        yield from _box(name, body, measure)
    if not whole(seen):
        raise InvalidMedia("the file has no index or no media in it")


def _box(name: bytes, body: int, measure: Measure) -> _Steps:
    if name == b"meta" and body > 4:
        yield Skip(4)  # version and flags
        yield from _children(body - 4, measure)
    elif name in _INSIDE:
        yield from _children(body, measure)
    elif name in _READ and body <= _LONGEST_READ:
        _READ[name](measure, (yield from exactly(body)))
    else:
        yield Skip(body)


def _children(left: int, measure: Measure) -> _Steps:
    """Boxes within a box. What cannot be followed in there is passed: whether the file is whole is told outside."""
    while left >= 8:
        head = yield from exactly(8)
        left -= 8
        size = int.from_bytes(head[:4], "big") - 8
        if not 0 <= size <= left:
            break
        left -= size
        yield from _box(head[4:], size, measure)
    yield Skip(left)


def _movie(measure: Measure, body: bytes) -> None:
    wide = body[:1] == b"\1"
    scale = int.from_bytes(body[20:24] if wide else body[12:16], "big")
    told = body[24:32] if wide else body[16:20]
    if told.strip(b"\xff"):  # all ones: not known
        measure.lasts(int.from_bytes(told, "big"), scale)


def _track(measure: Measure, body: bytes) -> None:
    """The size at which it is shown; a matrix that turns it by a quarter changes the sides."""
    if len(body) < 84:
        return
    width, height = int.from_bytes(body[-8:-4], "big") >> 16, int.from_bytes(body[-4:], "big") >> 16
    turned = body[-44:-40] == bytes(4) and body[-40:-36] != bytes(4)
    measure.picture(*((height, width) if turned else (width, height)))


def _handler(measure: Measure, body: bytes) -> None:
    if len(body) >= 12 and body[4:8] != b"dhlr":  # QuickTime's data handlers say nothing of the track
        measure.tracks.add(_TRACKS.get(body[8:12], "other"))


def _extent(measure: Measure, body: bytes) -> None:
    if len(body) >= 12:
        measure.picture(int.from_bytes(body[4:8], "big"), int.from_bytes(body[8:12], "big"))


def _aperture(measure: Measure, body: bytes) -> None:
    if len(body) >= 16:
        across, of, down, by = (int.from_bytes(body[at : at + 4], "big") for at in (0, 4, 8, 12))
        measure.crop = (across // of, down // by) if of and by else None


_READ: dict[bytes, Callable[[Measure, bytes], None]] = {
    b"mvhd": _movie,
    b"tkhd": _track,
    b"hdlr": _handler,
    b"ispe": _extent,
    b"clap": _aperture,
}
