"""S3 in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from mediajobs.errors import Retryable
from mediajobs.messages import Peeked
from mediajobs.ports import Upload


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as a reader finds it."""

    body: bytes
    content_type: str


class MemoryUpload:
    """Implements `ports.Upload`."""

    def __init__(self, objects: MemoryObjects, key: str, content_type: str) -> None:
        self._objects = objects
        self._key = key
        self._content_type = content_type
        self._body = bytearray()

    @property
    def id(self) -> str | None:
        return f"upload of {self._key}" if self.kept else None

    @property
    def kept(self) -> int:
        return len(self._body) // self._objects.part_bytes * self._objects.part_bytes

    def write(self, data: bytes) -> None:
        self._objects.may_fail("write")
        self._body += data

    def finish(self) -> None:
        self._objects.may_fail("finish")
        self._objects.close(self._key)
        self._objects.stored[self._key] = StoredObject(bytes(self._body), self._content_type)

    def abort(self) -> None:
        self._body.clear()
        if self._key in self._objects.open:
            self._objects.close(self._key)
            self._objects.aborted.append(self._key)

    def resumed(self) -> MemoryUpload:
        """What another process finds of it: whole parts."""
        again = MemoryUpload(self._objects, self._key, self._content_type)
        again._body += self._body[: self.kept]
        self._objects.parts[self._key] = again
        return again


@dataclass
class MemoryObjects:
    """Implements `ports.Objects`.

    `fail` names the calls ("upload", "write", "finish", "resume", "read") that go wrong, once each.
    """

    stored: dict[str, StoredObject] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # uploads neither finished nor aborted
    parts: dict[str, MemoryUpload] = field(default_factory=dict)  # the same, with what they hold
    aborted: list[str] = field(default_factory=list)
    fail: list[str] = field(default_factory=list)
    part_bytes: int = 8 * 1024 * 1024

    def upload(self, key: str, content_type: str) -> Upload:
        self.may_fail("upload")
        self.open.append(key)
        self.parts[key] = MemoryUpload(self, key, content_type)
        return self.parts[key]

    def resume(self, key: str, upload_id: str) -> Upload | None:
        self.may_fail("resume")
        found = self.parts.get(key)
        return found.resumed() if found is not None and found.id == upload_id else None

    def read(self, key: str) -> Iterator[bytes]:
        self.may_fail("read")
        body = self.stored[key].body
        yield from (body[at : at + 1000] for at in range(0, len(body), 1000))

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        return f"https://objects.test/{quote(key)}?expires={seconds}&type={quote(content_type)}&name={quote(name)}"

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.stored.pop(key, None)

    def close(self, key: str) -> None:
        """The upload is over."""
        self.open.remove(key)
        del self.parts[key]

    def form(self, key: str, *, content_type: str, most_bytes: int, seconds: int) -> tuple[str, dict[str, str]]:
        self.may_fail("form")
        return "https://objects.test/", {"key": key, "Content-Type": content_type, "policy": f"{most_bytes}/{seconds}"}

    def peek(self, key: str, most: int) -> Peeked | None:
        self.may_fail("peek")
        found = self.stored.get(key)
        return Peeked(size=len(found.body), etag=_etag(found), body=found.body[:most]) if found else None

    def copy(self, source: str, key: str, *, etag: str, content_type: str) -> bool:
        self.may_fail("copy")
        found = self.stored.get(source)
        if found is None:
            return False
        if _etag(found) != etag:
            raise Retryable("s3.copy: changed")
        self.stored[key] = StoredObject(found.body, content_type)
        return True

    def may_fail(self, call: str) -> None:
        if call in self.fail:
            self.fail.remove(call)
            raise Retryable(f"s3.{call}: 500")


def _etag(found: StoredObject) -> str:
    return hashlib.md5(found.body, usedforsecurity=False).hexdigest()
