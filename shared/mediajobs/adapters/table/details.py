"""What stands beside the jobs: progress, events that changed nothing, grace times, API keys."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mediajobs.adapters.table import expressions as ex
from mediajobs.adapters.table.calls import Calls, Refused
from mediajobs.adapters.table.values import decoded, encoded
from mediajobs.jobs.model import Transfer
from mediajobs.messages import Progress

FINAL = 100
_TRANSFER = tuple(field.name for field in fields(Transfer) if field.name != "number")
REMEMBERED = 1000


class Details:
    """The part of the store for small items of their own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._kept: dict[str, int] = {}

    def progress(self, job_id: str) -> Progress | None:
        row = self._read(ex.progress_key(job_id))
        return None if row is None else Progress(percent=row["pct"], at=row["at"], stage=row.get("stage"))

    def save_progress(self, job_id: str, progress: Progress, ttl: int, *, every_ms: int) -> bool:
        if progress.percent < FINAL and progress.at - self._kept.get(job_id, 0) < every_ms:
            return False  # one was kept a moment ago; a refused write would be billed all the same
        try:
            self._calls.call("put_item", ex.save_progress(job_id, progress, ttl, every_ms))
        except Refused as refused:
            self._last_kept(job_id, int(decoded(refused.item or {}).get("at", 0)))
            return False
        self._last_kept(job_id, progress.at)
        return True

    def _last_kept(self, job_id: str, at: int) -> None:
        """When the last one was kept, by this process or another: until a while later none is worth its price."""
        if len(self._kept) >= REMEMBERED:
            self._kept.clear()
        self._kept[job_id] = max(at, self._kept.get(job_id, 0))

    def note_event(self, job_id: str, entry: str, ttl: int) -> None:
        try:
            self._calls.call("update_item", ex.append_event(job_id, entry, ttl))
        except Refused:
            self._calls.call("update_item", ex.count_event(job_id))

    def events(self, job_id: str) -> tuple[str, ...]:
        row = self._read(ex.events_key(job_id))
        return () if row is None else tuple(row.get("entries", ()))

    def transfers(self, job_id: str) -> tuple[Transfer, ...]:
        return tuple(_transfer(decoded(item)) for item in self._calls.pages(ex.transfers(job_id)))

    def save_transfer(self, job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        try:
            self._calls.call("put_item", ex.save_transfer(job_id, transfer, ttl, owner))
        except Refused:
            return False
        return True

    def first_seen(self, name: str, now: int, ttl: int) -> int:
        try:
            self._calls.call("put_item", ex.first_seen(name, now, ttl))
        except Refused as refused:
            return int(decoded(refused.item or {}).get("at", now))
        return now

    def api_key(self, digest: str) -> tuple[str, str] | None:
        row = self._read(ex.api_key_key(digest))
        return None if row is None else (row["tenant"], row["scope"])

    def put_api_key(self, digest: str, tenant: str, scope: str) -> None:
        """Let the key with this SHA-256 in; for the command that makes keys."""
        self._calls.call("put_item", ex.put({**ex.api_key_key(digest), **encoded({"tenant": tenant, "scope": scope})}))

    def _read(self, key: dict[str, Any]) -> dict[str, Any] | None:
        item = self._calls.call("get_item", ex.get(key, strong=False)).get("Item")
        return None if item is None else decoded(item)


def _transfer(row: dict[str, Any]) -> Transfer:
    return Transfer(number=int(row["sk"].removeprefix("D#")), **{name: row[name] for name in _TRANSFER if name in row})
