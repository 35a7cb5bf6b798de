"""A download touches no disk: a function's temporary storage is small, and outlives the run."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from mediajobs.adapters.http import WebHttp
from mediajobs.adapters.s3 import PART_BYTES, S3Objects
from mediajobs.jobs.model import Link
from mediajobs.messages import LinkRules
from mediajobs.steps.fetch import Order, fetch
from mediajobs.steps.transfers import Transfers
from tests import samples
from tests.hostile.server import HostileServer, serve
from tests.steps.kit import Stage

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
LONG_FILM = samples.mp4(filling=2 * PART_BYTES)


@dataclass
class Watch:
    """What was opened for writing, made or moved while it is on. Python calls no audit hook off again."""

    on: bool = False
    seen: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if (event == "open" and arguments[2] & WRITING) or event in ("os.mkdir", "os.rename", "tempfile.mkstemp"):
            self.seen.append(f"{event} {arguments[0]}")


_watch = Watch()
sys.addaudithook(_watch)


@contextmanager
def watched() -> Iterator[list[str]]:
    _watch.seen, _watch.on = [], True
    try:
        yield _watch.seen
    finally:
        _watch.on = False


class Bucket:
    """S3's client, as far as an upload needs it; keeps what it is sent."""

    def __init__(self) -> None:
        self.body = b""

    def create_multipart_upload(self, **_: Any) -> dict[str, Any]:
        return {"UploadId": "u1"}

    def upload_part(self, *, Body: Any, **_: Any) -> dict[str, Any]:  # noqa: N803 as S3 calls it
        self.body += Body.read()
        return {"ETag": "e"}

    def complete_multipart_upload(self, **_: Any) -> dict[str, Any]:
        return {}


def test_a_long_download_opens_no_file_for_writing() -> None:
    server, bucket, stage = HostileServer(), Bucket(), Stage()
    server.routes["/f"] = serve(LONG_FILM)
    world = replace(stage.world, http=WebHttp(), objects=S3Objects(bucket, "results"))  # type: ignore[arg-type]
    rules = LinkRules(allow_http=True, allow_private=True, kind="video", max_bytes=len(LONG_FILM))
    order = Order(number=0, link=Link(url=server.url("/f")), rules=rules, headers={}, key="results/j/i/r/0")
    transfers = Transfers(world, stage.storing(), "r")
    try:
        with watched() as opened:
            output = fetch(world, order, transfers)
    finally:
        server.close()
    assert opened == []
    assert (output.sha256, bucket.body == LONG_FILM) == (hashlib.sha256(LONG_FILM).hexdigest(), True)


def test_the_watch_sees_a_file_that_is_written(tmp_path: Any) -> None:
    with watched() as opened:
        (tmp_path / "spooled").write_bytes(b"x")
    assert opened == [f"open {tmp_path / 'spooled'}"]
