"""PNG, JPEG, GIF."""

from __future__ import annotations

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Find, Read, Skip, Walk, exactly

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # JPEG: where a frame begins, whatever its coding


def png(measure: Measure) -> Walk:
    yield Skip(8)
    head = yield Read(8)
    if head != b"\0\0\0\x0dIHDR":
        raise InvalidMedia("the PNG does not start with its header")
    body = yield from exactly(17)
    measure.picture(int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"))
    pixels = 0
    while True:
        head = yield Read(8)
        size, name = int.from_bytes(head[:4], "big"), head[4:]
        if len(head) < 8:
            raise InvalidMedia("the PNG ends before its end mark")
        yield Skip(size + 4)
        pixels += size if name == b"IDAT" else 0
        if name == b"IEND":
            break
    if not pixels:
        raise InvalidMedia("the PNG has no picture in it")


def jpeg(measure: Measure) -> Walk:
    yield Skip(2)
    while True:
        mark = yield Read(2)
        while mark == b"\xff\xff":  # fill bytes
            mark = b"\xff" + (yield Read(1))
        if len(mark) < 2 or mark[0] != 0xFF or mark[1] in (0x00, 0xD9):
            raise InvalidMedia("the JPEG has no picture in it")
        if mark[1] == 0x01 or 0xD0 <= mark[1] <= 0xD8:
            continue
        size = max(0, int.from_bytes((yield Read(2)), "big") - 2)
        if mark[1] in _FRAMES and size >= 5:
            frame = yield from exactly(5)
            measure.picture(int.from_bytes(frame[3:], "big"), int.from_bytes(frame[1:3], "big"))
            size -= 5
        yield Skip(size)
        if mark[1] == 0xDA:
            break
    # In coded pictures FF is followed by 00 or a restart mark, so this can only be the end mark.
    if not (yield Find(b"\xff\xd9")):
        raise InvalidMedia("the JPEG ends before its end mark")


def gif(measure: Measure) -> Walk:
    screen = yield Read(13)
    measure.picture(int.from_bytes(screen[6:8], "little"), int.from_bytes(screen[8:10], "little"))
    yield from _after_table(screen[10:11])
    pictures = delays = 0
    while mark := (yield Read(1)):
        if mark == b";":
            break
        if mark == b",":
            pictures += 1
            yield from _after_table((yield Read(9))[8:9])
        elif mark != b"!":
            raise InvalidMedia("the GIF's blocks cannot be followed")
        if (yield Read(1)) == b"\xf9" and mark == b"!":
            control = yield from exactly(5)
            delays += int.from_bytes(control[2:4], "little")
        yield from _blocks()
    if mark != b";" or not pictures:
        raise InvalidMedia("the GIF ends before its end mark" if pictures else "the GIF has no picture in it")
    if pictures > 1:
        measure.lasts(delays, 100)


def _blocks() -> Walk:
    """Passes the rest of a row of blocks."""
    while (size := (yield Read(1))) not in (b"\0", b""):
        yield Skip(size[0])


def _after_table(flags: bytes) -> Walk:
    """Passes the colour table that these flags announce."""
    if flags and flags[0] & 0x80:
        yield Skip(3 * 2 ** ((flags[0] & 7) + 1))
