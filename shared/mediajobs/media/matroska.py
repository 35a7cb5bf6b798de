"""WebM: elements in elements."""

from __future__ import annotations

import math
import struct
from collections.abc import Generator

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Read, Rest, Skip, Walk, Want, exactly

_EBML, _SEGMENT, _TRACKS, _CLUSTER = 0x1A45DFA3, 0x18538067, 0x1654AE6B, 0x1F43B675
_INFO, _SCALE, _LENGTH = 0x1549A966, 0x2AD7B1, 0x4489
_TRACK, _KIND, _VIDEO, _WIDTH, _HEIGHT = 0xAE, 0x83, 0xE0, 0xB0, 0xBA
_INSIDE = frozenset({_INFO, _TRACKS, _TRACK, _VIDEO})
_READ = frozenset({_SCALE, _LENGTH, _KIND, _WIDTH, _HEIGHT})


def webm(measure: Measure) -> Walk:
    """Two headers, then the segment's elements to its end, or to a cluster of unknown size as a live encoder leaves."""
    left: int | None = None
    seen: set[int] = set()
    clock = _Clock()
    while element := (yield from _element()):
        name, size, header = element
        if name == _SEGMENT:
            left = size
        elif size is None:
            if name != _CLUSTER:
                raise InvalidMedia("the WebM's elements cannot be followed")
            seen.add(name)
            left = None
            yield Rest(1)
        else:
            yield from (_children(size, measure, clock) if name in _INSIDE else _passed(size))
            seen.add(name if size else 0)
            left = None if left is None or name == _EBML else left - header - size
            if left is not None and left <= 0:
                break
    if left is not None and left > 0:
        raise InvalidMedia("the file ends in the middle of a part")
    if not {_TRACKS, _CLUSTER} <= seen:
        raise InvalidMedia("the WebM has headers and nothing in them")
    measure.lasts(clock.length * clock.scale, 1e9)


def _element() -> Generator[Want, bytes, tuple[int, int | None, int] | None]:
    """Name, size (None: unknown) and length of the next element's header; None at the end of the file."""
    first = yield Read(1)
    if not first:
        return None
    name_length = 9 - first[0].bit_length()
    if name_length > 4:
        raise InvalidMedia("the WebM's elements cannot be followed")
    name = int.from_bytes(first + (yield Read(name_length - 1)), "big")
    first = yield Read(1)
    size_length = 9 - first[0].bit_length() if first else 9
    if size_length > 8:
        raise InvalidMedia("the WebM's elements cannot be followed")
    mask = (1 << 7 * size_length) - 1
    size = int.from_bytes(first + (yield Read(size_length - 1)), "big") & mask
    return name, None if size == mask else size, name_length + size_length


class _Clock:
    """Length in ticks, and nanoseconds of a tick; and the picture of the track that is being read."""

    def __init__(self) -> None:
        self.scale, self.length = 1_000_000, 0.0
        self.width = self.height = 0

    def read(self, name: int, body: bytes, measure: Measure) -> None:
        number = int.from_bytes(body, "big")
        if name == _SCALE:
            self.scale = number
        elif name == _LENGTH and len(body) in (4, 8):
            length: float = struct.unpack(">f" if len(body) == 4 else ">d", body)[0]
            self.length = length if math.isfinite(length) else 0.0
        elif name == _KIND:
            measure.tracks.add({1: "video", 2: "audio"}.get(number, "other"))
        elif name == _WIDTH:
            self.width = number
        elif name == _HEIGHT:
            measure.picture(self.width, number)


def _passed(size: int) -> Walk:
    yield Skip(size)


def _children(left: int, measure: Measure, clock: _Clock) -> Walk:
    """Elements within an element. What cannot be followed in there is passed."""
    while left > 1:
        head = yield from exactly(2)
        name_length = 9 - head[0].bit_length()
        more = yield from exactly(min(name_length - 1, left - 2)) if name_length > 1 else _nothing()
        left -= 2 + len(more)
        name = int.from_bytes((head + more)[:name_length], "big")
        size_head = (head + more)[name_length:][:1]
        length = 9 - size_head[0].bit_length() if size_head else 9
        if name_length > 4 or length > 8 or length - 1 > left:
            break
        rest = yield from exactly(length - 1)
        left -= length - 1
        mask = (1 << 7 * length) - 1
        size = int.from_bytes(size_head + rest, "big") & mask
        if size > left:
            break
        left -= size
        if name in _INSIDE:
            yield from _children(size, measure, clock)
        elif name in _READ and size <= 8:
            clock.read(name, (yield from exactly(size)), measure)
        else:
            yield Skip(size)
    yield Skip(max(0, left))


def _nothing() -> Generator[Want, bytes, bytes]:
    yield from ()
    return b""
