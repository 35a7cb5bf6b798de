"""Type, size and digest of a result, and whether it is what was asked for: the one door that results pass."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from mediajobs.errors import InvalidMedia
from mediajobs.media.measure import Measure
from mediajobs.media.sniff import HEAD_BYTES, sniff
from mediajobs.media.structure import walk_of
from mediajobs.media.walk import Walker


class Truncated(InvalidMedia):
    """Fewer or more bytes came than were declared. The file may be good where it lies: the transfer was not."""


class Media(NamedTuple):
    """What a checked file is."""

    content_type: str
    size: int
    sha256: str
    width: int | None = None  # pixels; None where the file does not say, cheaply
    height: int | None = None
    duration_ms: int | None = None


class Checker:
    """Feed it the file as it comes; it raises InvalidMedia as soon as the file cannot be right any more.

    `content_type` is known after the first kilobyte, or by `finish` for a smaller file.
    """

    def __init__(self, kind: str, max_bytes: int) -> None:
        self._kind = kind
        self._max_bytes = max_bytes
        self._size = 0
        self._digest = hashlib.sha256()
        self._head = b""
        self._measure = Measure()
        self._walker: Walker | None = None
        self._walked = ""
        self.content_type: str | None = None

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._size += len(chunk)
        if self._size > self._max_bytes:
            raise InvalidMedia(f"larger than the limit of {self._max_bytes} bytes")
        self._digest.update(chunk)
        if self._walker is not None:
            self._walker.feed(chunk)
            return
        self._head += chunk
        if len(self._head) >= HEAD_BYTES:
            self._start()

    def finish(self, declared_length: int | None = None) -> Media:
        """The file is over. Raises if it is empty, cut or of another kind; else says what it is."""
        if declared_length is not None and declared_length != self._size:
            raise Truncated(f"{declared_length} bytes were declared and {self._size} came")
        if not self._size:
            raise InvalidMedia("the file is empty")
        walker = self._walker or self._start()
        walker.end()
        found = self._measure
        if found.tracks and self._walked == "video/webm":
            _one_of_two(self._kind, found.tracks)
        return Media(
            str(self.content_type), self._size, self._digest.hexdigest(), found.width, found.height, found.duration_ms
        )

    def _start(self) -> Walker:
        content_type = sniff(self._head)
        walker = Walker(walk_of(content_type, self._measure))
        self._walked = content_type
        if self._kind == "audio" and content_type == "video/webm":
            content_type = "audio/webm"  # the same container for both
        if content_type.partition("/")[0] != self._kind:
            raise InvalidMedia(f"{content_type}, where {self._kind} was asked for")
        self.content_type = content_type
        walker.feed(self._head)
        self._walker, self._head = walker, b""
        return walker


def _one_of_two(kind: str, tracks: set[str]) -> None:
    """A container that is a film or a recording by what lies in it."""
    if kind == "video" and "video" not in tracks:
        raise InvalidMedia("the film has no picture in it")
    if kind == "audio" and "video" in tracks:
        raise InvalidMedia("video/webm, where audio was asked for")
