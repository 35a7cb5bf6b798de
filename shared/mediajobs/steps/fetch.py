"""One result from the provider's link into S3, checked on the way. Nothing of it is seen before all of it is right."""

from __future__ import annotations

from contextlib import closing

from mediajobs.errors import InvalidMedia, LinkDead, NoAnswer, NotSent, Retryable
from mediajobs.jobs.model import Link, Output
from mediajobs.media import Checker, Media, Truncated
from mediajobs.ports import Http, LinkRules, Objects, Stream, Upload

_PASSING = frozenset({408, 425, 429})


def fetch(link: Link, rules: LinkRules, headers: dict[str, str], http: Http, objects: Objects, key: str) -> Output:
    """Stores what the link serves under `key`, or stores nothing and raises.

    LinkDead: ask for a fresh link. InvalidMedia: what came is not the media asked for. Retryable: the same link may
    serve later; a transfer that was cut is one of these, since the file may be good where it lies, and is paid for.
    UnsafeUrl: it must not be fetched.
    """
    try:
        with closing(http.stream(link.url, headers, rules)) as stream:
            _check_status(stream)
            declared = _declared(stream, link)
            if declared is not None and declared > rules.max_bytes:
                raise InvalidMedia(f"{declared} bytes, larger than the limit of {rules.max_bytes}")
            media = _copy(stream, Checker(rules.kind, rules.max_bytes), declared, _Place(objects, key))
    except (NotSent, NoAnswer, Truncated) as fault:
        raise Retryable(f"the download failed: {fault}") from fault
    return Output(key=key, content_type=media.content_type, size=media.size, sha256=media.sha256)


def _check_status(stream: Stream) -> None:
    status = stream.status
    if status == 200:
        return
    if status in _PASSING or status >= 500:
        raise Retryable(f"the link answered {status}")
    if 200 < status < 300:  # nothing, or a part that nobody asked for
        raise InvalidMedia(f"the link answered {status} instead of the whole file")
    raise LinkDead(f"the link answered {status}")


def _declared(stream: Stream, link: Link) -> int | None:
    """How many bytes should come: the length of a compressed transfer says nothing of that."""
    text = stream.headers.get("content-length", "")
    plain = stream.headers.get("content-encoding", "identity").strip().lower() in ("", "identity")
    return int(text) if plain and text.isascii() and text.isdigit() else link.size


def _copy(stream: Stream, checker: Checker, declared: int | None, place: _Place) -> Media:
    """Streams, checks and stores."""
    try:
        for chunk in stream.chunks():
            checker.feed(chunk)
            place.write(chunk, checker.content_type)
        media = checker.finish(declared)
        place.finish(media.content_type)
        return media
    except BaseException:
        place.abort()
        raise


class _Place:
    """Where one result goes. The upload starts when the content has told its type, one kilobyte in."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects = objects
        self._key = key
        self._held = b""
        self._upload: Upload | None = None

    def write(self, chunk: bytes, content_type: str | None) -> None:
        if self._upload is not None:
            self._upload.write(chunk)
            return
        self._held += chunk
        if content_type is not None:
            self._start(content_type)

    def finish(self, content_type: str) -> None:
        upload = self._upload or self._start(content_type)
        upload.finish()

    def abort(self) -> None:
        if self._upload is not None:
            self._upload.abort()

    def _start(self, content_type: str) -> Upload:
        self._upload = self._objects.upload(self._key, content_type)
        self._upload.write(self._held)
        self._held = b""
        return self._upload
