"""Downloads through the real client."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.adapters.http import WebHttp
from mediajobs.messages import LinkRules
from tests.hostile.server import HostileServer

NAME, OTHER = "files.example.test", "other.example.test"
LAPTOP = LinkRules(allow_http=True, allow_private=True)
KEY = {"X-Api-Key": "secret", "Authorization": "Key secret"}

New = Callable[..., HostileServer]


def download(http: WebHttp, url: str, rules: LinkRules = LAPTOP, headers: dict[str, str] | None = None) -> bytes:
    stream = http.stream(url, headers or {}, rules)
    try:
        assert stream.status == 200
        return b"".join(stream.chunks())
    finally:
        stream.close()
