"""FLAC, Ogg, MP3, AAC."""

from __future__ import annotations

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Read, Rest, Skip, Walk, exactly

_SMALLEST_MP3_FRAME = 24
_MP3_RATES = (44_100, 48_000, 32_000)
_MP3_KBITS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_LOW_KBITS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def flac(measure: Measure) -> Walk:
    yield Skip(4)
    while True:
        head = yield Read(4)
        if len(head) < 4:
            raise InvalidMedia("the FLAC has headers and nothing in them")
        size = int.from_bytes(head[1:], "big")
        if head[0] & 0x7F == 0 and size >= 18:
            told = int.from_bytes((yield from exactly(18))[10:], "big")
            measure.lasts(told & 0xFFFFFFFFF, told >> 44)
            size -= 18
        yield Skip(size)
        if head[0] & 0x80:
            break
    sync = yield Read(2)
    if len(sync) < 2 or sync[0] != 0xFF or sync[1] & 0xFC != 0xF8:
        raise InvalidMedia("the FLAC has headers and nothing in them")


def ogg(measure: Measure) -> Walk:
    pages, stream, rate, before, granule = 0, b"", 0, 0, 0
    while head := (yield Read(27)):
        if len(head) < 27 or not head.startswith(b"OggS"):
            raise InvalidMedia("the Ogg's pages cannot be followed to the end")
        table = yield Read(head[26])
        size = sum(table) + head[26] - len(table)
        if not pages and size >= 19:
            packet = yield from exactly(19)
            stream, (rate, before) = head[14:18], _pace(packet)
            size -= 19
        at = int.from_bytes(head[6:14], "little", signed=True)
        granule = max(granule, at) if head[14:18] == stream else granule
        yield Skip(size)
        pages += 1
    measure.lasts(granule - before, rate)
    if pages < 2:
        raise InvalidMedia("the Ogg has headers and nothing in them")


def mp3(measure: Measure) -> Walk:
    head = yield Read(10)
    if not head.startswith(b"ID3"):
        yield from _mp3_frames(head, measure)
        return
    if len(head) < 10 or max(head[6:]) > 0x7F:
        raise InvalidMedia("the MP3's tag cannot be read")
    size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
    yield Skip(size + (10 if head[5] & 0x10 else 0))
    if not (head := (yield Read(10))):
        raise InvalidMedia("the file has headers and nothing in them")
    yield from _mp3_frames(head, measure)


def aac(_: Measure) -> Walk:
    head = yield Read(7)
    size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 if len(head) == 7 else 0
    if size <= 7:
        raise InvalidMedia("the AAC has headers and nothing in them")
    yield Skip(size - 7)
    if (following := (yield Read(2))) and (following[0] != 0xFF or following[-1] & 0xF0 != 0xF0):
        raise InvalidMedia("the AAC's frames cannot be followed")


def _pace(packet: bytes) -> tuple[int, int]:
    """Units a second of an Ogg stream's clock, and how many of them lie before its beginning."""
    if packet.startswith(b"OpusHead"):
        return 48_000, int.from_bytes(packet[10:12], "little")
    if packet.startswith(b"\x01vorbis"):
        return int.from_bytes(packet[12:16], "little"), 0
    return 0, 0


def _mp3_frames(head: bytes, measure: Measure) -> Walk:
    """How long it is, by the count of frames that encoders leave in the first one; else by its rate of bits."""
    rate, bits, low, mono = _mp3_head(head)
    found = head + (yield Read(_SMALLEST_MP3_FRAME - 10))
    if not rate:
        if head[:1] == b"\xff" and len(found) < _SMALLEST_MP3_FRAME:
            raise InvalidMedia("the file has headers and nothing in them")
        yield Rest(0)
        return
    if len(found) < _SMALLEST_MP3_FRAME:
        raise InvalidMedia("the file has headers and nothing in them")
    mark = 4 + ((9 if mono else 17) if low else (17 if mono else 32))
    found += yield Read(max(0, mark + 12 - len(found)))
    size = len(found) + int.from_bytes((yield Rest(0)), "big")
    if found[mark : mark + 4] in (b"Xing", b"Info") and found[mark + 7 : mark + 8] and found[mark + 7] & 1:
        frames = int.from_bytes(found[mark + 8 : mark + 12], "big")
        measure.lasts(frames * (576 if low else 1152), rate)
    else:
        measure.lasts(size * 8, bits)


def _mp3_head(head: bytes) -> tuple[int, int, bool, bool]:
    """Samples and bits a second, whether of MPEG 2, whether mono; all nothing where it is no frame."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return 0, 0, False, False
    version, kbits, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or kbits in (0, 15) or rate == 3:
        return 0, 0, False, False
    low = version != 3
    samples = _MP3_RATES[rate] // {3: 1, 2: 2, 0: 4}[version]
    return samples, (_MP3_LOW_KBITS if low else _MP3_KBITS)[kbits] * 1000, low, head[3] >> 6 == 3
