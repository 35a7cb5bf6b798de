"""What the indexes tell: who waits, what is due, whose jobs there are and which ask for a person."""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

from mediajobs.adapters.table import expressions as ex
from mediajobs.adapters.table.calls import Calls
from mediajobs.adapters.table.items import job_id_of
from mediajobs.errors import BadRequest
from mediajobs.messages import Page

MOST_KEY_BYTES = 1000  # of the 1,024 that a sort key may have; DynamoDB refuses to look for a longer one


class Queries:
    """The part of the store that reads indexes. They lag behind: whoever acts on an entry loads the job first."""

    def __init__(self, calls: Calls, page_size: int) -> None:
        self._calls = calls
        self._page_size = page_size

    def waiting(self, provider: str, most: int) -> tuple[str, ...]:
        if most < 1:
            return ()
        found = self._calls.pages(self._paged(ex.waiting(provider, most)))
        return tuple(job_id_of(item) for item in islice(found, most))

    def due(self, until: int) -> Iterator[tuple[int, str]]:
        return heapq.merge(*(self._due_of(shard, until) for shard in ex.SHARDS))

    def list_jobs(self, tenant: str, most: int, cursor: str | None) -> Page:
        before = None if cursor is None else _read_cursor(cursor)
        found = self._calls.pages(self._paged(ex.newest(tenant, most + 1, before)))
        return _page([(item["list_at"]["S"], item) for item in islice(found, most + 1)], most)

    def list_attention(self, most: int, cursor: str | None) -> Page:
        shard, after = _read_place(cursor)
        found: list[tuple[str, dict[str, Any]]] = []
        for number in ex.SHARDS[shard:]:
            wanted = most + 1 - len(found)
            items = self._calls.pages(self._paged(ex.attention(number, wanted, after)))
            found += [(f"{number}/{item['att_at']['S']}", item) for item in islice(items, wanted)]
            if len(found) > most:
                break
            after = None
        return _page(found, most)

    def _due_of(self, shard: int, until: int) -> Iterator[tuple[int, str]]:
        for item in self._calls.pages(self._paged(ex.due(shard, until))):
            yield int(item["due_at"]["N"]), job_id_of(item)

    def _paged(self, params: ex.Params) -> ex.Params:
        return {**params, "Limit": min(params.get("Limit", self._page_size), self._page_size)}


def _page(found: list[tuple[str, dict[str, Any]]], most: int) -> Page:
    """The first `most` of those found; one more than that tells that there is a next page."""
    shown = found[:most]
    more = len(found) > most and shown
    return Page(ids=tuple(job_id_of(item) for _, item in shown), cursor=_cursor(shown[-1][0]) if more else None)


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> str:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = raw.decode()
    except (binascii.Error, ValueError) as error:
        raise _not_ours() from error
    if not 0 < len(raw) <= MOST_KEY_BYTES:
        raise _not_ours()
    return place


def _read_place(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    shard, slash, after = _read_cursor(cursor).partition("/")
    if not slash or not after or shard not in {str(number) for number in ex.SHARDS}:
        raise _not_ours()
    return int(shard), after


def _not_ours() -> BadRequest:
    return BadRequest("`cursor` is not one that this list gave out; leave it away to start from the beginning.")
