"""Jobs: put once, loaded whole, written under the version that was read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mediajobs.adapters.table import expressions as ex
from mediajobs.adapters.table import items
from mediajobs.adapters.table.calls import Calls, Canceled, Refused
from mediajobs.adapters.table.values import encoded
from mediajobs.clock import Chance
from mediajobs.errors import WriteConflict
from mediajobs.jobs.decide import Change
from mediajobs.jobs.model import Job
from mediajobs.messages import Created, Exists, Lost, SlotTaken, Written

DAY_S = 86_400
REMEMBERED = 512


class Heads:
    """The part of the store that knows jobs."""

    def __init__(self, calls: Calls, chance: Chance, detail_days: int) -> None:
        self._calls = calls
        self._chance = chance
        self._detail_s = detail_days * DAY_S
        # Spills that this process has put or read: they exist, so the next write need not put them again.
        self._standing: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def put_input(self, job_id: str, body: bytes, digest: bytes, ttl: int) -> None:
        self._calls.call("put_item", ex.put_input(job_id, digest, body, ttl))

    def input(self, job: Job) -> bytes | None:
        key = items.input_key(job.id, job.payload_digest)
        for strong in (False, True):  # it was put before the head, but a replica may lag behind
            item = self._calls.call("get_item", ex.get(key, strong=strong)).get("Item")
            if item is not None:
                return bytes(item["body"]["B"])
        return None

    def create(self, job: Job) -> Created | Exists:
        job = replace(job, written_by=self._chance.token())
        head = self._put_spills(job)
        try:
            self._calls.call("put_item", ex.put_if_absent(head))
        except Refused as refused:
            standing = self._whole(refused.item) or self.load(job.id)
            if standing is None:
                raise WriteConflict(f"{job.id}: the row in the way is gone again") from refused
            return Created(standing) if standing.written_by == job.written_by else Exists(standing)
        return Created(job)

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        return self._whole(self._calls.call("get_item", ex.get(items.head_key(job_id), strong=strong)).get("Item"))

    def load_many(self, ids: Sequence[str]) -> list[Job]:
        keys = [items.head_key(job_id) for job_id in dict.fromkeys(ids)]
        heads = {head.job.id: head for head in map(items.read, self._calls.batch_get(keys, strong=False))}
        jobs = {job.id: job for job in self._with_spills(list(heads.values()))}
        return [jobs[job_id] for job_id in ids if job_id in jobs]

    def write(self, change: Change) -> Written | Lost | SlotTaken:
        before = change.before
        after = replace(change.after, written_by=self._chance.token())
        _check(before, after)
        head = self._put_spills(after)
        if before.slot == after.slot:
            return self._write_head(head, before, after)
        return self._write_both(head, before, after)

    def _write_head(self, head: dict[str, Any], before: Job, after: Job) -> Written | Lost:
        try:
            self._calls.call("put_item", ex.put_head(head, before))
        except Refused as refused:
            return self._lost(refused.item, after)
        return Written(after)

    def _write_both(self, head: dict[str, Any], before: Job, after: Job) -> Written | Lost | SlotTaken:
        """Head and slot row in one transaction.

        A row to be given back that names another job is none of ours to delete: then the head is written alone,
        because a job must not be stuck for ever behind a row that was never its own.
        """
        entries = [("Put", ex.put_head(head, before)), _row_entry(before, after)]
        try:
            # The token is new for each write: DynamoDB would answer "done" to a twin that used the same one.
            self._calls.transact(entries, f"{after.written_by}{after.id}"[:36])
        except Canceled as canceled:
            if canceled.refused[0]:
                return self._lost(canceled.items[0], after)
            return SlotTaken() if after.slot else self._write_head(head, before, after)
        return Written(after)

    def _lost(self, item: dict[str, Any] | None, after: Job) -> Written | Lost:
        job = self._whole(item)
        if job is not None and (job.version, job.written_by) == (after.version, after.written_by):
            return Written(after)  # our own request, resent after its answer was lost
        return Lost(job)

    def _put_spills(self, job: Job) -> dict[str, Any]:
        """The head item; what does not fit into it has been put beside it then."""
        rows = items.rows(job)
        for name, value in rows.spills.items():
            if (job.id, name) in self._standing:
                continue
            # Outputs are known at least as long as their objects are kept.
            ends = (output.kept_until // 1000 for output in job.outputs if output.kept_until is not None)
            ttl = max([job.updated_at // 1000 + self._detail_s, *ends])
            item = {**items.spill_key(job.id, name), "part": value, **encoded({"ttl": ttl})}
            self._calls.call("put_item", ex.put(item))
            self._remember(job.id, name)
        return rows.head

    def _whole(self, item: dict[str, Any] | None) -> Job | None:
        return None if item is None else self._with_spills([items.read(item)])[0]

    def _with_spills(self, heads: list[items.Head]) -> list[Job]:
        """Strongly consistent: a head must not be read together with a replica that lacks its spill yet."""
        names = [(head.job.id, name) for head in heads for name in head.spilled.values()]
        if not names:
            return [head.job for head in heads]
        keys = [items.spill_key(job_id, name) for job_id, name in names]
        found = {
            (items.job_id_of(item), bytes.fromhex(item["sk"]["S"].removeprefix("X#"))): item["part"]
            for item in self._calls.batch_get(keys, strong=True)
        }
        for job_id, name in found:
            self._remember(job_id, name)
        return [
            items.with_spills(head, {name: part for (job_id, name), part in found.items() if job_id == head.job.id})
            for head in heads
        ]

    def _remember(self, job_id: str, name: bytes) -> None:
        self._standing[job_id, name] = None
        while len(self._standing) > REMEMBERED:
            self._standing.popitem(last=False)


def _row_entry(before: Job, after: Job) -> tuple[str, ex.Params]:
    if after.slot is not None:
        return "Put", ex.put_row(after.provider, after.slot, after.id, after.updated_at)
    return "Delete", ex.delete_row(before.provider, str(before.slot), before.id)


def _check(before: Job, after: Job) -> None:
    """A change that no rule makes is a fault of ours and must not reach the table."""
    if (after.id, after.version) != (before.id, before.version + 1):
        raise ValueError(f"{before.id}: version {before.version} cannot be followed by {after.version}")
    if before.slot and after.slot and before.slot != after.slot:
        raise ValueError(f"{before.id}: a job keeps its slot row or gives it back; it does not change it")
