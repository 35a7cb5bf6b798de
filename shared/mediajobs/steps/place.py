"""Where one result goes: an upload that starts when the content has told its type, one kilobyte in."""

from __future__ import annotations

from mediajobs.ports import Objects, Upload


class Place:
    """One object on its way into storage. `size` bytes were given to it, of which S3 has `kept`."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects = objects
        self.key = key
        self.size = 0
        self._held = b""
        self._upload: Upload | None = None

    @classmethod
    def resumed(cls, objects: Objects, key: str, upload_id: str) -> Place | None:
        """One that an earlier run began, with what S3 has of it; None where that is gone."""
        upload = objects.resume(key, upload_id)
        if upload is None:
            return None
        place = cls(objects, key)
        place._upload, place.size = upload, upload.kept
        return place

    @property
    def kept(self) -> int:
        return 0 if self._upload is None else self._upload.kept

    @property
    def upload_id(self) -> str | None:
        return None if self._upload is None else self._upload.id

    def write(self, chunk: bytes, content_type: str | None) -> None:
        """`content_type` is None until it is known, and where the upload has been told it by another run."""
        self.size += len(chunk)
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
        self._upload = self._objects.upload(self.key, content_type)
        self._upload.write(self._held)
        self._held = b""
        return self._upload
