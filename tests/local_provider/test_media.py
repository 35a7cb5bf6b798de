"""The results are truly valid files: every box and chunk is parsed."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Iterator

from local.provider import media
from tests.local_provider.kit import Client, call

CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"dinf", b"stbl"}


def boxes(data: bytes, start: int = 0, path: str = "") -> Iterator[tuple[str, int, bytes]]:
    """Path, offset and body of each box; their sizes must fill the file exactly."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        assert 8 <= size <= len(data) - at
        body, name = data[at + 8 : at + size], f"{path}/{kind.decode()}"
        yield name, start + at + 8, body
        if kind in CONTAINERS:
            yield from boxes(body, start + at + 8, name)
        at += size


def test_mp4_index_points_at_whole_h264_frames() -> None:
    data = media.make("video/mp4", "a/0")
    found = {name: (offset, body) for name, offset, body in boxes(data)}
    assert found["/ftyp"][1][:4] == b"isom"
    table = "/moov/trak/mdia/minf/stbl"
    (offset,) = struct.unpack_from(">I", found[f"{table}/stco"][1], 8)
    count, *sizes = struct.unpack_from(">I8I", found[f"{table}/stsz"][1], 8)
    begin, frames = found["/mdat"]
    assert (offset, sum(sizes), count) == (begin, len(frames), 8)
    kinds = []
    for size in sizes:
        (length,) = struct.unpack_from(">I", data, offset)
        assert length == size - 4
        kinds.append(data[offset + 4] & 0x1F)
        offset += size
    assert kinds == [5, 1, 1, 1, 5, 1, 1, 1]
    # 64 by 64 in sixteen blocks of raw pixels, all of the one colour of this key frame.
    assert sizes[0] > 16 * 384
    assert found[f"{table}/stsd"][1][12:16] == b"avc1"
    assert b"avcC" in found[f"{table}/stsd"][1]


def test_png_chunks_are_whole_and_the_pixels_unpack() -> None:
    data = media.make("image/png", "a/0")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"tEXt", b"IDAT", b"IEND"]
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (64, 64)
    assert len(zlib.decompress(chunks[b"IDAT"])) == 64 * (1 + 64 * 3)


def test_wav_is_read_by_the_standard_library() -> None:
    data = media.make("audio/wav", "a/0")
    assert struct.unpack_from("<I", data, 4)[0] == len(data) - 8
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 8000)
        assert len(set(sound.readframes(4000))) > 50


def test_same_name_same_bytes_and_another_name_others() -> None:
    for kind in media.EXTENSIONS:
        again = media.make.__wrapped__(kind, "a/0")
        assert media.make(kind, "a/0") == again != media.make(kind, "a/1")


def test_download_has_length_type_and_ranges(client: Client) -> None:
    output = client.finished(client.submit(model="voice-1", duration_s=0.01).json["id"])["outputs"][0]
    url = output["url"]
    whole = call("GET", url)
    assert (whole.status, whole.headers["content-type"]) == (200, "audio/wav")
    assert int(whole.headers["content-length"]) == len(whole.body) == output["size"]
    part = call("GET", url, headers={"Range": "bytes=4-11"})
    assert (part.status, part.body) == (206, whole.body[4:12])
    assert part.headers["content-range"] == f"bytes 4-11/{len(whole.body)}"
    assert call("GET", url, headers={"Range": "bytes=-8"}).body == whole.body[-8:]
    assert call("GET", url, headers={"Range": "bytes=8000-"}).body == whole.body[8000:]
    assert call("GET", url, headers={"Range": "bytes=999999-"}).status == 416
    head = call("HEAD", url)
    assert (head.body, int(head.headers["content-length"])) == (b"", len(whole.body))


def test_link_cannot_be_changed(client: Client) -> None:
    url = client.finished(client.submit(duration_s=0.01).json["id"])["outputs"][0]["url"]
    for changed in (url.replace("expires=1", "expires=2"), url[:-1] + ("0" if url[-1] != "0" else "1"), url[:-70]):
        reply = call("GET", changed)
        assert (reply.status, b"SignatureDoesNotMatch" in reply.body) == (403, True)
