"""The table in memory, as `ports.Store`. It passes the contract suite of the real one."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mediajobs.clock import Chance
from mediajobs.errors import BadRequest, Throttled, WriteConflict
from mediajobs.jobs.decide import Change
from mediajobs.jobs.model import Job, Transfer, due_shard
from mediajobs.messages import Created, Exists, Lost, Page, Progress, SlotTaken, Written
from mediajobs.pauses import Pause, Provider

EVENTS_KEPT = 20


class MemoryStore:
    """All that tests may set is public.

    `before_write` holds functions called once each, in turn, before a write: a place for another process to get ahead.
    `conflicts` and `throttles` make that many next writes raise; `resend` makes the next create, write or save_pause
    arrive twice, as a resent request does. `unindexed` names jobs that the indexes do not show yet.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._lock = threading.RLock()
        self.jobs: dict[str, Job] = {}
        self.rows: dict[str, dict[str, str]] = {}  # provider -> row -> job id
        self.inputs: dict[tuple[str, bytes], bytes] = {}
        self.pauses: dict[str, tuple[Pause, str]] = {}  # with the token of the write
        self.rounds: dict[str, int] = {}
        self.turns: dict[tuple[str, str], int] = {}
        self.bindings: dict[tuple[str, str], str] = {}
        self.progresses: dict[str, Progress] = {}
        self.noted: dict[str, list[str]] = {}
        self.seen: dict[str, int] = {}
        self.long_downloads: dict[str, dict[int, Transfer]] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.before_write: list[Callable[[Change], None]] = []
        self.conflicts = 0
        self.throttles = 0
        self.resend = False
        self.unindexed: set[str] = set()
        self.writes: list[Change] = []  # those that stand, in order

    # -- jobs

    def put_input(self, job_id: str, body: bytes, digest: bytes, ttl: int) -> None:
        self.inputs[job_id, digest[:8]] = body

    def input(self, job: Job) -> bytes | None:
        return self.inputs.get((job.id, job.payload_digest[:8]))

    def create(self, job: Job) -> Created | Exists:
        job = replace(job, written_by=self._chance.token())
        outcome = self._create(job)
        return self._create(job) if self._resent() else outcome

    def _create(self, job: Job) -> Created | Exists:
        with self._lock:
            standing = self.jobs.setdefault(job.id, job)
            return Created(standing) if standing.written_by == job.written_by else Exists(standing)

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        return self.jobs.get(job_id)

    def load_many(self, ids: Sequence[str]) -> list[Job]:
        return [self.jobs[job_id] for job_id in ids if job_id in self.jobs]

    def write(self, change: Change) -> Written | Lost | SlotTaken:
        before = change.before
        after = replace(change.after, written_by=self._chance.token())
        if (after.id, after.version) != (before.id, before.version + 1):
            raise ValueError(f"{before.id}: version {before.version} cannot be followed by {after.version}")
        if before.slot and after.slot and before.slot != after.slot:
            raise ValueError(f"{before.id}: a job keeps its slot row or gives it back; it does not change it")
        if self.before_write:
            self.before_write.pop(0)(change)
        self._refuse_for_load()
        outcome = self._write(before, after)
        if self._resent():
            outcome = self._write(before, after)
        if isinstance(outcome, Written):
            self.writes.append(replace(change, after=after))
        return outcome

    def _write(self, before: Job, after: Job) -> Written | Lost | SlotTaken:
        with self._lock:
            standing = self.jobs.get(after.id)
            if standing is None:
                return Lost(None)
            if (standing.version, standing.incarnation) != (before.version, before.incarnation):
                mine = (standing.version, standing.written_by) == (after.version, after.written_by)
                return Written(after) if mine else Lost(standing)
            rows = self.rows.setdefault(after.provider, {})
            if after.slot and not before.slot:
                if rows.setdefault(after.slot, after.id) != after.id:
                    return SlotTaken()
            elif before.slot and not after.slot and rows.get(before.slot) == before.id:
                del rows[before.slot]
            self.jobs[after.id] = after
            return Written(after)

    # -- providers

    def bind(self, provider: str, provider_job_id: str, job_id: str) -> str:
        with self._lock:
            return self.bindings.setdefault((provider, provider_job_id), job_id)

    def bound(self, provider: str, provider_job_id: str) -> str | None:
        return self.bindings.get((provider, provider_job_id))

    def provider(self, name: str) -> Provider:
        with self._lock:
            held = dict(sorted(self.rows.get(name, {}).items()))
            return Provider(
                name=name,
                held=tuple(held),
                holders=tuple(held.values()),
                pause=self.pauses[name][0] if name in self.pauses else Pause(),
                round=self.rounds.get(name, 0),
            )

    def save_pause(self, provider: str, before: Pause, after: Pause) -> bool:
        token = self._chance.token()
        saved = self._save_pause(provider, before, after, token)
        return self._save_pause(provider, before, after, token) if self._resent() else saved

    def _save_pause(self, provider: str, before: Pause, after: Pause, token: str) -> bool:
        with self._lock:
            standing, by = self.pauses.get(provider, (Pause(), ""))
            if standing.revision != before.revision:
                return by == token
            self.pauses[provider] = (replace(after, revision=before.revision + 1), token)
            return True

    def raise_round(self, provider: str, reached: int) -> None:
        with self._lock:
            self.rounds[provider] = max(self.rounds.get(provider, reached), reached)

    def next_turn(self, provider: str, tenant: str, present: int) -> int:
        with self._lock:
            turn = max(present, self.turns.get((provider, tenant), present - 1) + 1)
            self.turns[provider, tenant] = turn
            return turn

    def give_back_turn(self, provider: str, tenant: str) -> None:
        with self._lock:
            if (provider, tenant) in self.turns:
                self.turns[provider, tenant] -= 1

    # -- indexes

    def waiting(self, provider: str, most: int) -> tuple[str, ...]:
        places = sorted((job.wait, job.id) for job in self._indexed() if job.wait and job.provider == provider)
        return tuple(job_id for _, job_id in places[: max(0, most)])

    def due(self, until: int) -> Iterator[tuple[int, str]]:
        yield from sorted(
            (job.due_at, job.id) for job in self._indexed() if job.due_at is not None and job.due_at <= until
        )

    def list_jobs(self, tenant: str, most: int, cursor: str | None) -> Page:
        places = [(f"{job.created_at:013d}#{job.id}", job.id) for job in self._indexed() if job.tenant == tenant]
        places.sort(reverse=True)
        before = None if cursor is None else _read(cursor)
        return _page([place for place in places if before is None or place[0] < before], most)

    def list_attention(self, most: int, cursor: str | None) -> Page:
        places = sorted(
            (f"{due_shard(job.id)}/{job.attention.since:013d}#{job.id}", job.id)
            for job in self._indexed()
            if job.attention is not None
        )
        after = "" if cursor is None else _read(cursor)
        if after and (after[1:2] != "/" or not after[0].isdigit()):
            raise BadRequest("`cursor` is not one that this list gave out; leave it away to start from the beginning.")
        return _page([place for place in places if place[0] > after], most)

    def _indexed(self) -> list[Job]:
        with self._lock:
            return [job for job in self.jobs.values() if job.id not in self.unindexed]

    # -- details

    def progress(self, job_id: str) -> Progress | None:
        return self.progresses.get(job_id)

    def save_progress(self, job_id: str, progress: Progress, ttl: int, *, every_ms: int) -> bool:
        with self._lock:
            last = self.progresses.get(job_id)
            if last is not None:
                final = progress.percent >= 100
                back = progress.percent < last.percent or (final and last.percent >= 100)
                if back or (not final and last.at > progress.at - every_ms):
                    return False
            self.progresses[job_id] = progress
            return True

    def note_event(self, job_id: str, entry: str, ttl: int) -> None:
        with self._lock:
            entries = self.noted.setdefault(job_id, [])
            if len(entries) < EVENTS_KEPT:
                entries.append(entry)

    def events(self, job_id: str) -> tuple[str, ...]:
        return tuple(self.noted.get(job_id, ()))

    def transfers(self, job_id: str) -> tuple[Transfer, ...]:
        kept = self.long_downloads.get(job_id, {})
        return tuple(kept[number] for number in sorted(kept))

    def save_transfer(self, job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        with self._lock:
            kept = self.long_downloads.setdefault(job_id, {})
            standing = kept.get(transfer.number)
            if owner is None and standing is not None:
                return False
            if owner is not None and (standing is None or standing.owner not in (owner, transfer.owner)):
                return False
            kept[transfer.number] = transfer
            return True

    def first_seen(self, name: str, now: int, ttl: int) -> int:
        with self._lock:
            return self.seen.setdefault(name, now)

    def api_key(self, digest: str) -> tuple[str, str] | None:
        return self.keys.get(digest)

    def put_api_key(self, digest: str, tenant: str, scope: str) -> None:
        self.keys[digest] = (tenant, scope)

    # -- faults

    def _resent(self) -> bool:
        resent, self.resend = self.resend, False
        return resent

    def _refuse_for_load(self) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise WriteConflict("transact_write_items: TransactionConflict")
        if self.throttles:
            self.throttles -= 1
            raise Throttled("put_item: ThrottlingException")


def _page(places: list[tuple[str, str]], most: int) -> Page:
    shown = places[:most]
    more = len(places) > most and shown
    return Page(ids=tuple(job_id for _, job_id in shown), cursor=_cursor(shown[-1][0]) if more else None)


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _read(cursor: str) -> str:
    try:
        place = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise BadRequest("`cursor` is not one that this list gave out; leave it away to start.") from error
    if not 0 < len(place.encode()) <= 1000:
        raise BadRequest("`cursor` is not one that this list gave out; leave it away to start.")
    return place
