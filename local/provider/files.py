"""Results behind signed links that expire, with the faults of the file store."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable
from dataclasses import replace

from local.provider import media
from local.provider.answers import Answer, Request, xml_error
from local.provider.ledger import Ledger
from local.provider.records import JobRecord
from local.provider.settings import MODELS

_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


class Files:
    """Makes links to results and serves what they name."""

    def __init__(self, base_url: str, secret: bytes, ledger: Ledger, now: Callable[[], float]) -> None:
        self._base_url = base_url
        self._secret = secret
        self._ledger = ledger
        self._now = now

    def link(self, job: JobRecord, index: int, expires: int) -> str:
        extension = media.EXTENSIONS[MODELS[job.model].kind]
        path = f"/files/{job.provider}/{job.id}/{index}.{extension}"
        return f"{self._base_url}{path}?expires={expires}&sig={self._signature(path, expires)}"

    def content(self, job: JobRecord, index: int) -> bytes:
        return media.make(MODELS[job.model].kind, f"{job.id}/{index}")

    def serve(self, request: Request) -> Answer:
        """The file, part of it, or the reason why not."""
        expires = request.query.get("expires", "")
        if not expires.isdecimal() or not hmac.compare_digest(
            self._signature(request.path, int(expires)), request.query.get("sig", "")
        ):
            return xml_error(403, "SignatureDoesNotMatch", "The signature does not match.")
        if int(expires) <= self._now():
            return xml_error(403, "AccessDenied", "Request has expired.")
        _, _, _, job_id, name = request.path.split("/")
        job = self._ledger.jobs.get(job_id)
        if job is None or job.deleted:
            return xml_error(404, "NoSuchKey", "The file does not exist.")
        index = int(name.partition(".")[0])
        whole = Answer(status=200, body=self.content(job, index), content_type=MODELS[job.model].kind)
        if request.method == "GET":
            earlier = self._ledger.download(job_id)
            if job.plan.slow_download_s and not earlier:
                time.sleep(job.plan.slow_download_s)
            if earlier < job.plan.bad_downloads:
                return _spoiled(whole, job.plan.content)
        return _ranged(whole, request.headers.get("range"))

    def _signature(self, path: str, expires: int) -> str:
        return hmac.new(self._secret, f"{path}:{expires}".encode(), hashlib.sha256).hexdigest()


def _spoiled(whole: Answer, fault: str) -> Answer:
    if fault == "dead_link":
        return xml_error(404, "NoSuchKey", "The file does not exist.")
    if fault == "wrong_type":
        return replace(whole, body=media.HTML_PAGE)
    if fault == "truncated":
        return replace(whole, body=whole.body[: len(whole.body) // 2], declared=len(whole.body))
    return replace(whole, body=b"")


def _ranged(whole: Answer, wanted: str | None) -> Answer:
    headers = {"Accept-Ranges": "bytes", "ETag": f'"{hashlib.sha256(whole.body).hexdigest()[:16]}"'}
    match = _RANGE.match(wanted or "")
    if match is None or match.group(1) == match.group(2) == "":
        return replace(whole, headers=headers)
    total = len(whole.body)
    first, last = match.groups()
    start = int(first) if first else max(0, total - int(last))
    end = min(int(last), total - 1) if first and last else total - 1
    if start > end:
        return Answer(status=416, headers={"Content-Range": f"bytes */{total}"})
    headers["Content-Range"] = f"bytes {start}-{end}/{total}"
    return replace(whole, status=206, body=whole.body[start : end + 1], headers=headers)
