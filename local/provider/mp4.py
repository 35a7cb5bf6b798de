"""Small H.264 films in MP4, written bit by bit: no encoder and no library.

A key frame carries its pixels raw (I_PCM), the frames between skip every block. So the files are
valid for any player although nothing here knows how to compress.
"""

from __future__ import annotations

import struct

_FPS = 4
_KEY_EVERY = 4
_TIMESCALE = 1000


class _Bits:
    """A bit writer with the codes H.264 uses."""

    def __init__(self) -> None:
        self._bits: list[str] = []

    def u(self, width: int, value: int) -> _Bits:
        self._bits.append(format(value, f"0{width}b"))
        return self

    def ue(self, value: int) -> _Bits:
        """Exponential Golomb, unsigned; the signed zero has the same code."""
        code = format(value + 1, "b")
        self._bits.append("0" * (len(code) - 1) + code)
        return self

    def align(self) -> _Bits:
        self._bits.append("0" * (-len("".join(self._bits)) % 8))
        return self

    def raw(self) -> bytes:
        """The bits so far; they must end on a byte boundary."""
        text = "".join(self._bits)
        return int(text, 2).to_bytes(len(text) // 8, "big")

    def close(self) -> bytes:
        """The bits with the stop bit that ends every unit."""
        return self.u(1, 1).align().raw()


def film(width: int, height: int, seconds: int, colours: list[tuple[int, int, int]]) -> bytes:
    """An MP4 of plain frames, one YCbCr colour per key frame, in turn. Sides are multiples of 16."""
    blocks = (width // 16) * (height // 16)
    frames = [_frame(number, blocks, colours) for number in range(seconds * _FPS)]
    samples = [struct.pack(">I", len(frame)) + frame for frame in frames]
    ftyp = _box(b"ftyp", b"isom", struct.pack(">I", 512), b"isom", b"iso2", b"avc1", b"mp41")
    # The media data follow the index, so the index's own length decides where they begin.
    offset = len(ftyp) + len(_moov(width, height, samples, 0)) + 8
    return ftyp + _moov(width, height, samples, offset) + _box(b"mdat", *samples)


def _frame(number: int, blocks: int, colours: list[tuple[int, int, int]]) -> bytes:
    key, since = divmod(number, _KEY_EVERY)
    if since:
        return _skipping_frame(since, blocks)
    return _key_frame(key, blocks, colours[key % len(colours)])


def _key_frame(key: int, blocks: int, colour: tuple[int, int, int]) -> bytes:
    # Two key frames in a row must differ in their id. The last codes: no old pictures kept,
    # quality as in the parameter set, no deblocking.
    header = _Bits().ue(0).ue(7).ue(0).u(4, 0).ue(key % 2).u(2, 0).ue(0).ue(1)
    luma, blue, red = colour
    pixels = bytes([luma]) * 256 + bytes([blue]) * 64 + bytes([red]) * 64
    body = header.ue(25).align().raw() + pixels
    body += (_Bits().ue(25).align().raw() + pixels) * (blocks - 1)
    return _unit(0x65, body + b"\x80")


def _skipping_frame(since: int, blocks: int) -> bytes:
    body = _Bits().ue(0).ue(5).ue(0).u(4, since).u(3, 0).ue(0).ue(1).ue(blocks)
    return _unit(0x41, body.close())


def _sequence_set(width: int, height: int) -> bytes:
    size = _Bits().ue(0).ue(0).ue(2).ue(1).u(1, 0).ue(width // 16 - 1).ue(height // 16 - 1)
    return _unit(0x67, bytes([66, 0xC0, 10]) + size.u(4, 0b1100).close())


def _picture_set() -> bytes:
    body = _Bits().ue(0).ue(0).u(2, 0).ue(0).ue(0).ue(0).u(3, 0).ue(0).ue(0).ue(0).u(3, 0b100)
    return _unit(0x68, body.close())


def _unit(kind: int, payload: bytes) -> bytes:
    """A unit whose payload cannot be mistaken for a start code."""
    out = bytearray([kind])
    zeros = 0
    for byte in payload:
        if zeros == 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I", 8 + len(body)) + kind + body


def _full(kind: bytes, flags: int, *parts: bytes) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def _moov(width: int, height: int, samples: list[bytes], offset: int) -> bytes:
    duration = len(samples) * _TIMESCALE // _FPS
    mvhd = struct.pack(">4IIH10x", 0, 0, _TIMESCALE, duration, 0x10000, 0x100) + _MATRIX
    tkhd = struct.pack(">5I8x4H", 0, 0, 1, 0, duration, 0, 0, 0, 0) + _MATRIX
    tkhd += struct.pack(">2I", width << 16, height << 16)
    mdhd = struct.pack(">4I2H", 0, 0, _TIMESCALE, duration, 0x55C4, 0)
    media = _box(
        b"mdia",
        _full(b"mdhd", 0, mdhd),
        _full(b"hdlr", 0, struct.pack(">I4s12x", 0, b"vide"), b"video\0"),
        _box(
            b"minf",
            _full(b"vmhd", 1, bytes(8)),
            _box(b"dinf", _full(b"dref", 0, struct.pack(">I", 1), _full(b"url ", 1))),
            _sample_table(width, height, samples, offset),
        ),
    )
    return _box(
        b"moov",
        _full(b"mvhd", 0, mvhd, bytes(24), struct.pack(">I", 2)),
        _box(b"trak", _full(b"tkhd", 3, tkhd), media),
    )


def _sample_table(width: int, height: int, samples: list[bytes], offset: int) -> bytes:
    count = len(samples)
    keys = range(1, count + 1, _KEY_EVERY)
    return _box(
        b"stbl",
        _full(b"stsd", 0, struct.pack(">I", 1), _avc1(width, height)),
        _full(b"stts", 0, struct.pack(">3I", 1, count, _TIMESCALE // _FPS)),
        _full(b"stss", 0, struct.pack(f">I{len(keys)}I", len(keys), *keys)),
        _full(b"stsc", 0, struct.pack(">4I", 1, 1, count, 1)),
        _full(b"stsz", 0, struct.pack(f">2I{count}I", 0, count, *map(len, samples))),
        _full(b"stco", 0, struct.pack(">2I", 1, offset)),
    )


def _avc1(width: int, height: int) -> bytes:
    sequence, picture = _sequence_set(width, height), _picture_set()
    configuration = _box(
        b"avcC",
        bytes([1, 66, 0xC0, 10, 0xFF, 0xE1]),
        struct.pack(">H", len(sequence)) + sequence,
        struct.pack(">BH", 1, len(picture)) + picture,
    )
    entry = struct.pack(">6xH16x2H2I4xH32xHh", 1, width, height, 72 << 16, 72 << 16, 1, 24, -1)
    return _box(b"avc1", entry, configuration)
