"""Tiny valid media: the same name always gives the same bytes, another name others."""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from functools import lru_cache

from local.provider import mp4

EXTENSIONS = {"video/mp4": "mp4", "image/png": "png", "audio/wav": "wav"}

HTML_PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>"
    b"<body><h1>Please sign in</h1><p>Your session has ended.</p></body></html>\n"
)


@lru_cache(maxsize=256)
def make(kind: str, name: str) -> bytes:
    """A small valid file of the kind, different for every name."""
    dye = hashlib.sha256(f"{kind}:{name}".encode()).digest()
    return {"video/mp4": _video, "image/png": _image, "audio/wav": _voice}[kind](dye)


def _video(dye: bytes) -> bytes:
    # Kept inside the legal range of broadcast colours, which also keeps zeros out of the frames.
    shades = [(16 + byte % 200, 64 + dye[i + 8] % 128, 64 + dye[i + 16] % 128) for i, byte in enumerate(dye[:8])]
    return mp4.film(64, 64, 2, shades)


def _image(dye: bytes) -> bytes:
    side = 64
    red, green, blue = dye[0], dye[1], dye[2]
    row = b"".join(bytes([(red + 2 * x) % 256, (green + x) % 256, blue]) for x in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"tEXt", b"Comment\0" + dye.hex().encode())
        + _chunk(b"IDAT", zlib.compress((b"\0" + row) * side))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _voice(dye: bytes) -> bytes:
    rate, pitch = 8000, 200 + dye[0] * 2
    wave = [int(9000 * math.sin(2 * math.pi * pitch * t / rate)) for t in range(rate // 2)]
    # The digest as quiet samples, so that equal pitches still make different files.
    wave.extend(dye)
    data = struct.pack(f"<{len(wave)}h", *wave)
    layout = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    chunks = b"fmt " + struct.pack("<I", len(layout)) + layout + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks
