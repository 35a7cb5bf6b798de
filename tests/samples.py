"""The smallest files that are whole media of their kind, built byte by byte."""

from __future__ import annotations

import struct
import zlib


def box(name: bytes, body: bytes = b"") -> bytes:
    """One box of an MP4-like file."""
    return struct.pack(">I", 8 + len(body)) + name + body


def ftyp(major: bytes, *compatible: bytes) -> bytes:
    return box(b"ftyp", major + struct.pack(">I", 512) + b"".join(compatible))


def mp4(major: bytes = b"isom", *compatible: bytes, filling: int = 64) -> bytes:
    """A film with its index first; `filling` bytes of media."""
    return ftyp(major, *compatible) + box(b"moov", box(b"mvhd", bytes(100))) + box(b"mdat", b"\x11" * filling)


def fragmented_mp4() -> bytes:
    part = box(b"moof", bytes(16)) + box(b"mdat", b"\x22" * 40)
    return ftyp(b"iso5", b"dash") + box(b"moov", bytes(16)) + part + part


def heif(major: bytes, *compatible: bytes) -> bytes:
    return ftyp(major, *compatible) + box(b"meta", bytes(20)) + box(b"mdat", b"\x33" * 20)


def png_chunk(name: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(side: int = 2) -> bytes:
    rows = (b"\0" + b"\x80\x40\x20" * side) * side
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
        + png_chunk(b"IDAT", zlib.compress(rows))
        + png_chunk(b"IEND")
    )


def jpeg() -> bytes:
    """With a preview in its first segment that has an end mark of its own."""
    preview = b"\xff\xe1" + struct.pack(">H", 12) + b"Exif\0\0\xff\xd8\xff\xd9"
    table = b"\xff\xdb" + struct.pack(">H", 67) + bytes(65)
    scan = b"\xff\xda" + struct.pack(">H", 8) + bytes(6) + b"\x12\x34\xff\x00\x56\xff\xd0\x78"
    return b"\xff\xd8" + preview + table + scan + b"\xff\xd9"


def gif() -> bytes:
    screen = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    remark = b"!\xfe\x05hello\0"
    picture = b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    return screen + remark + picture + b";"


def riff(form: bytes, *chunks: bytes) -> bytes:
    body = form + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def riff_chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def webp() -> bytes:
    return riff(b"WEBP", riff_chunk(b"VP8L", b"\x2f" + bytes(13)))


def wav(samples: int = 50) -> bytes:
    layout = riff_chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    return riff(b"WAVE", layout, riff_chunk(b"data", b"\x01\x02" * samples))


def rf64() -> bytes:
    """WAV with 64-bit sizes."""
    data = b"\x01\x02" * 40
    sizes = riff_chunk(b"ds64", struct.pack("<QQQI", 100 + len(data), len(data), 40, 0))
    layout = riff_chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    return b"RF64\xff\xff\xff\xffWAVE" + sizes + layout + b"data\xff\xff\xff\xff" + data


def ebml(name: bytes, body: bytes, *, size: bytes | None = None) -> bytes:
    return name + (size or struct.pack(">Q", len(body) | 1 << 56)) + body


def webm(doctype: bytes = b"webm", *, live: bool = False) -> bytes:
    """`live`: segment and cluster of unknown size, as an encoder leaves them that cannot go back."""
    unknown = b"\x01" + b"\xff" * 7 if live else None
    header = ebml(
        b"\x1a\x45\xdf\xa3", ebml(b"\x42\x86", b"\x01") + ebml(b"\x42\x82", doctype, size=bytes([0x80 | len(doctype)]))
    )
    tracks = ebml(b"\x16\x54\xae\x6b", bytes(20))
    cluster = ebml(b"\x1f\x43\xb6\x75", b"\x44" * 30, size=unknown)
    return header + ebml(b"\x18\x53\x80\x67", tracks + cluster, size=unknown)


def ogg_page(body: bytes) -> bytes:
    full, rest = divmod(len(body), 255)
    table = b"\xff" * full + bytes([rest])
    return b"OggS\0\0" + bytes(20) + bytes([len(table)]) + table + body


def ogg(codec: bytes = b"OpusHead") -> bytes:
    return ogg_page(codec + bytes(11)) + ogg_page(b"\x55" * 600) + ogg_page(b"\x66" * 10)


def flac() -> bytes:
    return b"fLaC\0\0\0\x22" + bytes(34) + b"\x84\0\0\x04note" + b"\xff\xf8" + b"\x77" * 30


def mp3(tag: bool = False) -> bytes:
    frame = b"\xff\xfb\x90\x00" + b"\x10" * 413
    return (b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) if tag else b"") + frame * 2


def aac() -> bytes:
    frame = b"\xff\xf1\x50\x80\x03\xff\xfc" + b"\x20" * 24
    return frame * 3


WHOLE = {
    "video/mp4": mp4(),
    "video/quicktime": mp4(b"qt  "),
    "video/webm": webm(),
    "image/png": png(),
    "image/jpeg": jpeg(),
    "image/gif": gif(),
    "image/webp": webp(),
    "image/avif": heif(b"avif", b"mif1"),
    "image/heic": heif(b"heic", b"mif1"),
    "audio/wav": wav(),
    "audio/mpeg": mp3(),
    "audio/aac": aac(),
    "audio/ogg": ogg(),
    "audio/flac": flac(),
    "audio/mp4": mp4(b"M4A "),
}
