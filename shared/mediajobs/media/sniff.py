"""The type of a file, told by its first bytes. Names and headers are not asked: providers get them wrong."""

from __future__ import annotations

from mediajobs.errors import InvalidMedia

HEAD_BYTES = 1024

_BOM = b"\xef\xbb\xbf"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
)
_IMAGE_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"heim": "image/heic",
    b"heis": "image/heic",
    b"hevc": "image/heic",
    b"hevx": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
}
_AUDIO_BRANDS = {b"M4A ", b"M4B ", b"M4P ", b"F4A ", b"F4B "}
_OTHER_BRANDS = {b"jp2 ", b"jpx ", b"jpm ", b"mjp2", b"crx "}  # JPEG 2000 and raw camera files
_BARE_BOXES = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}  # a QuickTime file older than ftyp
_OGG_CODECS = (
    (b"OpusHead", "audio/ogg"),
    (b"\x01vorbis", "audio/ogg"),
    (b"\x7fFLAC", "audio/ogg"),
    (b"Speex   ", "audio/ogg"),
    (b"\x80theora", "video/ogg"),
)


def sniff(head: bytes) -> str:
    """The content type of a file that starts with `head`; raises InvalidMedia that says what it is instead."""
    _refuse_text(head)
    for magic, content_type in _MAGIC:
        if head.startswith(magic):
            return content_type
    found = _iso(head) or _riff(head) or _ebml(head) or _ogg(head) or _frames(head)
    if found is None:
        raise InvalidMedia(f"not a media type known here (starts with {head[:8].hex()})")
    return found


def _refuse_text(head: bytes) -> None:
    """A sign-in page, a storage's XML error or a JSON answer under a media name; SVG too, which can run scripts."""
    text = head.removeprefix(_BOM).lstrip().removeprefix(_BOM).lstrip()
    if text.startswith(b"<"):
        raise InvalidMedia("an HTML or XML page, not media")
    if text.startswith((b"{", b"[")):
        raise InvalidMedia("a JSON answer, not media")


def _iso(head: bytes) -> str | None:
    """MP4 and its relatives. The major brand decides, or the compatible ones where it says nothing of the kind."""
    if head[4:8] in _BARE_BOXES:
        return "video/quicktime"
    if head[4:8] != b"ftyp":
        return None
    start = 16 if head[:4] == b"\0\0\0\x01" else 8  # size 1: the real size follows in 64 bits
    declared = int.from_bytes(head[8:16] if start == 16 else head[:4], "big")
    body = head[start : declared or None]
    major = body[:4]
    brands = {body[at : at + 4] for at in range(8, len(body) - 3, 4)}
    if major in _IMAGE_BRANDS:
        exact = [brand for brand in (b"avif", b"heic") if brand in brands]
        return _IMAGE_BRANDS[exact[0] if exact and _IMAGE_BRANDS[major] == "image/heif" else major]
    if major in _AUDIO_BRANDS:
        return "audio/mp4"
    if major == b"qt  ":
        return "video/quicktime"
    if major in _OTHER_BRANDS or len(major) < 4:
        return None
    return "video/3gpp" if major.startswith((b"3gp", b"3g2")) else "video/mp4"


def _riff(head: bytes) -> str | None:
    """RIFF holds pictures, sound and films: only its form tells which."""
    if head[:4] not in (b"RIFF", b"RF64", b"BW64"):
        return None
    form = head[8:12]
    if form == b"WAVE":
        return "audio/wav"
    if form == b"WEBP" and head[:4] == b"RIFF":
        return "image/webp"
    raise InvalidMedia("an AVI file, which is not accepted" if form == b"AVI " else "RIFF of an unknown form")


def _ebml(head: bytes) -> str | None:
    """WebM, told from other Matroska files by the document type."""
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    at = head.find(b"\x42\x82", 4, 128)
    length = head[at + 2] & 0x7F if 0 < at < len(head) - 2 else 0
    name = head[at + 3 : at + 3 + length].rstrip(b"\0")
    if name == b"webm":
        return "video/webm"
    raise InvalidMedia("a Matroska file that is not WebM")


def _ogg(head: bytes) -> str | None:
    if not head.startswith(b"OggS\0"):
        return None
    start = 27 + (head[26] if len(head) > 26 else 0)
    for magic, content_type in _OGG_CODECS:
        if head[start:].startswith(magic):
            return content_type
    raise InvalidMedia("Ogg of an unknown codec")


def _frames(head: bytes) -> str | None:
    """MP3 and AAC without a container: a frame header whose fields are all in range."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    if head[1] & 0xF6 == 0xF0:
        return "audio/aac" if head[2] >> 2 & 0xF < 13 else None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    bitrate, rate = head[2] >> 4, head[2] >> 2 & 3
    # Layer III only. Laxer, the byte order mark of a UTF-16 page would pass for a frame.
    return "audio/mpeg" if version != 1 and layer == 1 and bitrate != 15 and rate != 3 else None
