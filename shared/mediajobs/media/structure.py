"""One walk per container: whether the file holds what its kind must have, and is there to its end.

Cheap on purpose: sizes and names, no decoding. It tells a whole file from a cut one and from a mere header. What
follows a complete file is ignored, since encoders and cameras append things.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from mediajobs.errors import InvalidMedia
from mediajobs.media.walk import Find, Read, Rest, Skip, Walk, Want

_UNTOLD = 0xFFFFFFFF  # a RIFF size that a streaming encoder could not know
_SMALLEST_MP3_FRAME = 24


def walk_of(content_type: str) -> Walk:
    """A fresh walk for a file of this type."""
    return _WALKS[content_type]()


def _film() -> Walk:
    """MP4, QuickTime, M4A: an index, of the file or of fragments, and the media it points to."""
    return _boxes(lambda seen: b"mdat" in seen and (b"moov" in seen or b"moof" in seen))


def _still() -> Walk:
    """AVIF and HEIC: the table of items, or the index of a sequence, and the pixels it points to."""
    return _boxes(lambda seen: b"mdat" in seen and (b"meta" in seen or b"moov" in seen))


def _boxes(whole: Callable[[set[bytes]], bool]) -> Walk:
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
        yield Skip(body)
    if not whole(seen):
        raise InvalidMedia("the file has no index or no media in it")


def _wave() -> Walk:
    return _riff((b"data",))


def _webp() -> Walk:
    return _riff((b"VP8 ", b"VP8L", b"VP8X"))


def _riff(wanted: tuple[bytes, ...]) -> Walk:
    head = yield Read(12)
    told = int.from_bytes(head[4:8], "little")
    left = None if told in (0, _UNTOLD) else told - 4
    long_data, found = None, False
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
            yield Rest(1) if long_data is None else Skip(long_data)
            return
        found |= name in wanted and size > 0
        yield Skip(size)
        if size % 2:
            yield Read(1)  # a last byte of padding is often left out
    if not found:
        raise InvalidMedia("the file has headers and nothing in them")


def _png() -> Walk:
    yield Skip(8)
    head = yield Read(8)
    if head != b"\0\0\0\x0dIHDR":
        raise InvalidMedia("the PNG does not start with its header")
    yield Skip(17)
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


def _jpeg() -> Walk:
    yield Skip(2)
    while True:
        mark = yield Read(2)
        while mark == b"\xff\xff":  # fill bytes
            mark = b"\xff" + (yield Read(1))
        if len(mark) < 2 or mark[0] != 0xFF or mark[1] in (0x00, 0xD9):
            raise InvalidMedia("the JPEG has no picture in it")
        if mark[1] == 0x01 or 0xD0 <= mark[1] <= 0xD8:
            continue
        yield Skip(max(0, int.from_bytes((yield Read(2)), "big") - 2))
        if mark[1] == 0xDA:
            break
    # In coded pictures FF is followed by 00 or a restart mark, so this can only be the end mark.
    if not (yield Find(b"\xff\xd9")):
        raise InvalidMedia("the JPEG ends before its end mark")


def _gif() -> Walk:
    yield from _after_table((yield Read(13))[10:11])
    pictures = 0
    while mark := (yield Read(1)):
        if mark == b";":
            break
        if mark == b",":
            pictures += 1
            yield from _after_table((yield Read(9))[8:9])
        elif mark != b"!":
            raise InvalidMedia("the GIF's blocks cannot be followed")
        yield Skip(1)
        while (size := (yield Read(1))) not in (b"\0", b""):
            yield Skip(size[0])
    if mark != b";" or not pictures:
        raise InvalidMedia("the GIF ends before its end mark" if pictures else "the GIF has no picture in it")


def _after_table(flags: bytes) -> Walk:
    """Passes the colour table that these flags announce."""
    if flags and flags[0] & 0x80:
        yield Skip(3 * 2 ** ((flags[0] & 7) + 1))


def _flac() -> Walk:
    yield Skip(4)
    while True:
        head = yield Read(4)
        if len(head) < 4:
            raise InvalidMedia("the FLAC has headers and nothing in them")
        yield Skip(int.from_bytes(head[1:], "big"))
        if head[0] & 0x80:
            break
    sync = yield Read(2)
    if len(sync) < 2 or sync[0] != 0xFF or sync[1] & 0xFC != 0xF8:
        raise InvalidMedia("the FLAC has headers and nothing in them")


def _ogg() -> Walk:
    pages = 0
    while head := (yield Read(27)):
        if len(head) < 27 or not head.startswith(b"OggS"):
            raise InvalidMedia("the Ogg's pages cannot be followed to the end")
        table = yield Read(head[26])
        yield Skip(sum(table) + head[26] - len(table))
        pages += 1
    if pages < 2:
        raise InvalidMedia("the Ogg has headers and nothing in them")


def _mp3() -> Walk:
    head = yield Read(10)
    if not head.startswith(b"ID3"):
        yield Rest(_SMALLEST_MP3_FRAME - 10)
        return
    if len(head) < 10 or max(head[6:]) > 0x7F:
        raise InvalidMedia("the MP3's tag cannot be read")
    size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
    yield Skip(size + (10 if head[5] & 0x10 else 0))
    yield Rest(1)


def _aac() -> Walk:
    head = yield Read(7)
    size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 if len(head) == 7 else 0
    if size <= 7:
        raise InvalidMedia("the AAC has headers and nothing in them")
    yield Skip(size - 7)
    if (following := (yield Read(2))) and (following[0] != 0xFF or following[-1] & 0xF0 != 0xF0):
        raise InvalidMedia("the AAC's frames cannot be followed")


_EBML, _SEGMENT, _TRACKS, _CLUSTER = 0x1A45DFA3, 0x18538067, 0x1654AE6B, 0x1F43B675


def _webm() -> Walk:
    """Two headers, then the segment's elements to its end, or to a cluster of unknown size as a live encoder leaves."""
    left: int | None = None
    seen: set[int] = set()
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
            yield Skip(size)
            seen.add(name if size else 0)
            left = None if left is None or name == _EBML else left - header - size
            if left is not None and left <= 0:
                break
    if left is not None and left > 0:
        raise InvalidMedia("the file ends in the middle of a part")
    if not {_TRACKS, _CLUSTER} <= seen:
        raise InvalidMedia("the WebM has headers and nothing in them")


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


_WALKS: dict[str, Callable[[], Walk]] = {
    "video/mp4": _film,
    "video/3gpp": _film,
    "video/quicktime": _film,
    "audio/mp4": _film,
    "image/avif": _still,
    "image/heic": _still,
    "image/heif": _still,
    "video/webm": _webm,
    "audio/wav": _wave,
    "image/webp": _webp,
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "audio/flac": _flac,
    "audio/ogg": _ogg,
    "video/ogg": _ogg,
    "audio/mpeg": _mp3,
    "audio/aac": _aac,
}
