"""WAV and WebP: chunks one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Read, Rest, Skip, Walk, Want

_UNTOLD = 0xFFFFFFFF  # a size that a streaming encoder could not know
_Reader = Callable[[Measure, bytes], None]


class _Pace:
    """Bytes a second, which one chunk tells and another one needs."""

    def __init__(self) -> None:
        self.rate = 0

    def read(self, _: Measure, body: bytes) -> None:
        self.rate = int.from_bytes(body[8:12], "little")


def wave(measure: Measure) -> Walk:
    pace = _Pace()
    length = yield from _riff((b"data",), {b"fmt ": (16, pace.read)}, measure)
    measure.lasts(length, pace.rate)


def webp(measure: Measure) -> Walk:
    frames: list[int] = []

    def frame(_: Measure, body: bytes) -> None:
        frames.append(int.from_bytes(body[12:15], "little"))

    readers: dict[bytes, tuple[int, _Reader]]
    readers = {b"VP8X": (10, _canvas), b"VP8L": (5, _lossless), b"VP8 ": (10, _lossy), b"ANMF": (16, frame)}
    yield from _riff((b"VP8 ", b"VP8L", b"ANMF"), readers, measure)
    if len(frames) > 1:
        measure.lasts(sum(frames), 1000)


def _canvas(measure: Measure, body: bytes) -> None:
    measure.picture(int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1)


def _lossless(measure: Measure, body: bytes) -> None:
    bits = int.from_bytes(body[1:5], "little")
    if body[:1] == b"\x2f":
        measure.picture((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)


def _lossy(measure: Measure, body: bytes) -> None:
    if body[3:6] == b"\x9d\x01\x2a":
        width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
        measure.picture(width & 0x3FFF, height & 0x3FFF)


def _riff(  # noqa: C901 one branch for each way in which a size is told
    wanted: tuple[bytes, ...], readers: dict[bytes, tuple[int, _Reader]], measure: Measure
) -> Generator[Want, bytes, int]:
    """How many bytes the chunks have that must be there; raises if there are none."""
    head = yield Read(12)
    told = int.from_bytes(head[4:8], "little")
    left = None if told in (0, _UNTOLD) else told - 4
    long_data: int | None = None
    found = 0
    while left is None or left >= 8:
        part = yield Read(8)
        if len(part) < 8:
            break
        name, size = part[:4], int.from_bytes(part[4:], "little")
        if left is not None:
            left -= 8 + size + size % 2
        if name == b"ds64" and size >= 16:  # RF64: sizes that 32 bits do not hold
            long_data = int.from_bytes((yield Read(16))[8:], "little")
            size -= 16
        if name in wanted and (size == _UNTOLD or (size == 0 and left is None)):
            if long_data is None:
                return int.from_bytes((yield Rest(1)), "big")
            yield Skip(long_data)
            return long_data
        found += size if name in wanted else 0
        odd = size % 2
        if name in readers and size >= readers[name][0]:
            length, read = readers[name]
            read(measure, (yield Read(length)))
            size -= length
        yield Skip(size)
        if odd:
            yield Read(1)  # a last byte of padding is often left out
    if not found:
        raise InvalidMedia("the file has headers and nothing in them")
    return found
