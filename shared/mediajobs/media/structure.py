"""One walk per container: whether the file holds what its kind must have, and is there to its end.

Cheap on purpose: sizes and names, no decoding. It tells a whole file from a cut one and from a mere header, and reads
width, height and duration where they lie on its way. What follows a complete file is ignored, since encoders and
cameras append things.
"""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.media import boxes, matroska, pictures, riff, sound
from mediajobs.media.measure import Measure
from mediajobs.media.walk import Walk


def walk_of(content_type: str, measure: Measure) -> Walk:
    """A fresh walk for a file of this type; what it learns goes into `measure`."""
    return _WALKS[content_type](measure)


_WALKS: dict[str, Callable[[Measure], Walk]] = {
    "video/mp4": boxes.film,
    "video/3gpp": boxes.film,
    "video/quicktime": boxes.film,
    "audio/mp4": boxes.recording,
    "image/avif": boxes.still,
    "image/heic": boxes.still,
    "image/heif": boxes.still,
    "video/webm": matroska.webm,
    "audio/wav": riff.wave,
    "image/webp": riff.webp,
    "image/png": pictures.png,
    "image/jpeg": pictures.jpeg,
    "image/gif": pictures.gif,
    "audio/flac": sound.flac,
    "audio/ogg": sound.ogg,
    "video/ogg": sound.ogg,
    "audio/mpeg": sound.mp3,
    "audio/aac": sound.aac,
}
