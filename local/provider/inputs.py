"""What a provider does with the picture of an image-to-video job: it reads it, wherever the URL leads, and looks."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import requests

_TRIES, _WAIT_S, _TIMEOUT_S = 3, 0.5, 20
_PNG_START, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


def read_picture(url: str) -> dict[str, Any]:
    """One line for the ledger: what was read, and whether it is a whole picture of the type it was served as."""
    for left in reversed(range(_TRIES)):
        try:
            answer = requests.get(url, timeout=_TIMEOUT_S)
        except requests.RequestException:
            answer = None
        if answer is not None and (answer.status_code < 500 or not left):
            return _line(url, answer)
        if left:
            time.sleep(_WAIT_S)
    return {"url": url, "status": 0, "content_type": "", "size": 0, "sha256": "", "picture": False}


def _line(url: str, answer: requests.Response) -> dict[str, Any]:
    body, content_type = answer.content, answer.headers.get("Content-Type", "")
    whole = body.startswith(_PNG_START) and body.endswith(_PNG_END)
    return {
        "url": url,
        "status": answer.status_code,
        "content_type": content_type,
        "size": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "picture": answer.status_code == 200 and content_type == "image/png" and whole,
    }
