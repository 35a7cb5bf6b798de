"""The product's ports, each call of which goes to the tape; what has no bearing on the rules is answered here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mediajobs.errors import InProgress, MediaJobsError
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import Traits
from mediajobs.jobs.model import Job, Transfer
from mediajobs.messages import Created, Do, Exists, Lost, Progress, Settings, SlotTaken, Written
from mediajobs.pauses import Pause, Provider
from mediajobs.ports import World
from tests.simulation.explore.provider_port import TapeAdapter, TapeHttp, TapeProviders
from tests.simulation.explore.state import IDS, Table
from tests.simulation.explore.tape import Tape

SECRET = b"k" * 32
BODY = json.dumps({"input": {}, "metadata": {}}).encode()


def plain_error(name: str) -> bool:
    """An error that the design foresees."""
    return name in {error.__name__ for error in _family(MediaJobsError)}


def _family(error: type[Exception]) -> list[type[Exception]]:
    return [error, *(each for child in error.__subclasses__() for each in _family(child))]


class Watch:
    """What the ports noticed that no answer shows."""

    def __init__(self) -> None:
        self.broken: str | None = None


class TapeClock:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def now(self) -> int:
        return self._tape.now

    def sleep(self, seconds: float) -> None:
        raise AssertionError("no step sleeps")


class TapeChance:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def token(self) -> str:
        return str(self._tape.ask("token")[1])

    def fraction(self) -> float:
        return 0.0

    def pick(self, names: tuple[str, ...]) -> str:
        return names[0]  # the choice by which the most claims collide


class TapeStore:
    """Implements the part of `ports.Store` that the explored steps use."""

    def __init__(self, tape: Tape, table: Table, *, loses_input: bool = False) -> None:
        self._ask, self._table, self._loses_input = tape.ask, table, loses_input

    def put_input(self, job_id: str, body: bytes, digest: bytes, ttl: int) -> None: ...
    def note_event(self, job_id: str, entry: str, ttl: int) -> None: ...

    def save_progress(self, job_id: str, progress: Progress, ttl: int, *, every_ms: int) -> bool:
        return True

    def input(self, job: Job) -> bytes | None:
        return BODY if not self._loses_input or self._ask("input") else None

    def _row(self, number: int) -> Job | None:
        return self._table.rows[number] if number else None

    def image(self, number: int) -> Job:
        """A row as it once was, as the stream brings it."""
        return self._table.rows[number]

    def create(self, job: Job) -> Created | Exists:
        made, number = self._ask("create", IDS.index(job.id), self._table.row(job))
        return (Created if made else Exists)(self._table.rows[number])

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        return self._row(self._ask("load", IDS.index(job_id), strong))

    def load_many(self, ids: Sequence[str]) -> list[Job]:
        rows = [self.load(job_id, strong=False) for job_id in ids]
        return [row for row in rows if row is not None]

    def write(self, change: Change) -> Written | Lost | SlotTaken:
        before, after = change.before, change.after
        words = change.after.out or ""
        said, number = self._ask(
            "write", IDS.index(after.id), self._table.row(before), self._table.row(after), change.rule, words
        )
        if said == "taken":
            return SlotTaken()
        return Written(self._table.rows[number]) if said == "written" else Lost(self._row(number))

    def bind(self, provider: str, provider_job_id: str, job_id: str) -> str:
        return IDS[self._ask("bind", provider_job_id, IDS.index(job_id))]

    def bound(self, provider: str, provider_job_id: str) -> str | None:
        number = self._ask("bound", provider_job_id)
        return None if number is None else IDS[number]

    def provider(self, name: str) -> Provider:
        slots, pause, present = self._ask("provider")
        return Provider(
            name=name,
            held=tuple(row for row, _ in slots),
            holders=tuple(IDS[holder] for _, holder in slots),
            pause=self._table.pauses[pause],
            round=present,
        )

    def save_pause(self, provider: str, before: Pause, after: Pause) -> bool:
        return bool(self._ask("save_pause", before.revision, after))

    def raise_round(self, provider: str, reached: int) -> None:
        self._ask("raise_round", reached)

    def next_turn(self, provider: str, tenant: str, present: int) -> int:
        return int(self._ask("next_turn", tenant, present))

    def give_back_turn(self, provider: str, tenant: str) -> None:
        self._ask("give_back_turn", tenant)

    def waiting(self, provider: str, most: int) -> tuple[str, ...]:
        return tuple(IDS[number] for number in self._ask("waiting", most))

    def transfers(self, job_id: str) -> tuple[Transfer, ...]:
        return ()

    def save_transfer(self, job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        raise AssertionError("nothing here is long enough")

    def first_seen(self, name: str, now: int, ttl: int) -> int:
        return now


class TapeQueues:
    def __init__(self, tape: Tape) -> None:
        self._ask = tape.ask

    def dispatch(self, job_id: str, do: Do, delay_s: int = 0) -> None:
        self._ask("mail", "dispatch", IDS.index(job_id), do, delay_s)

    def store(self, job_id: str, delay_s: int = 0, *, urgent: bool = False) -> None:
        self._ask("mail", "store", IDS.index(job_id), "", delay_s)


class TapeTopic:
    def __init__(self, tape: Tape) -> None:
        self._ask = tape.ask

    def publish(self, message: str, *, group: str, deduplication_id: str, tenant: str) -> None:
        self._ask("publish", deduplication_id, IDS.index(group), json.loads(message)["status"])


class TapeUpload:
    def __init__(self, tape: Tape, key: str) -> None:
        self._ask, self._key, self._body = tape.ask, key, bytearray()

    id = None
    kept = 0

    def write(self, data: bytes) -> None:
        self._body += data

    def finish(self) -> None:
        self._ask("put", self._key, hashlib.sha256(self._body).hexdigest())

    def abort(self) -> None: ...


class TapeObjects:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def upload(self, key: str, content_type: str) -> TapeUpload:
        return TapeUpload(self._tape, key)

    def resume(self, key: str, upload_id: str) -> TapeUpload | None:
        raise AssertionError("nothing here is long enough")

    def read(self, key: str) -> Iterator[bytes]:
        raise AssertionError("nothing here is long enough")

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        return key

    def delete(self, keys: Sequence[str]) -> None:
        if keys:
            self._tape.ask("delete", tuple(keys))


class TapeSecrets:
    def tokens(self, *, refresh: bool = False) -> bytes:
        return SECRET


class TapeOnce:
    """Idempotency records: an answer is replayed, a twin is told that the work is in progress."""

    def __init__(self, tape: Tape, kept: frozenset[str], *, trusts_progress: bool = False) -> None:
        self._ask, self._kept, self._trusts = tape.ask, kept, trusts_progress

    def __call__(self, name: str, key: Sequence[str], function: Callable[[], str]) -> str:
        if name not in self._kept:
            return function()
        record = (name, *key)
        found = self._ask("begin", record)
        if found == "done" or (found == "running" and self._trusts):
            return "replay"
        if found == "running":
            raise InProgress(name)
        try:
            answer = function()
        except Exception:
            self._ask("clear", record)
            raise
        self._ask("end", record)
        return answer


class Quiet:
    """Log and metrics; a step that failed for a reason that no design foresees is noticed."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def count(self, name: str, value: int = 1, **dimensions: str) -> None: ...
    def info(self, message: str, **fields: object) -> None: ...
    def warning(self, message: str, **fields: object) -> None: ...

    def error(self, message: str, **fields: object) -> None:
        error = fields.get("error")
        name = error if isinstance(error, str) else type(error).__name__
        if not plain_error(name):
            self._watch.broken = f"{message}: {name} {fields.get('detail', '')}"


def world_of(
    tape: Tape,
    table: Table,
    watch: Watch,
    *,
    traits: Traits,
    limit: int,
    kept: frozenset[str],
    rotates_at: int | None,
    trusts_progress: bool,
    loses_input: bool,
    says_where: bool,
) -> World:
    """The product's world, every call of which ends at the tape."""
    from mediajobs.adapters.idempotency import submit_once
    from mediajobs.adapters.live import NoLive

    store: Any = TapeStore(tape, table, loses_input=loses_input)
    quiet: Any = Quiet(watch)
    http: Any = TapeHttp(tape)
    secrets: Any = TapeSecrets()
    return World(
        clock=TapeClock(tape),
        chance=TapeChance(tape),
        store=store,
        queues=TapeQueues(tape),
        topic=TapeTopic(tape),
        live=NoLive(),
        objects=TapeObjects(tape),
        http=http,
        providers=TapeProviders(TapeAdapter(tape, traits, rotates_at, says_where=says_where)),
        secrets=secrets,
        once=TapeOnce(tape, kept, trusts_progress=trusts_progress),
        create=lambda job: submit_once(store, job),
        callbacks=secrets,  # not explored
        metrics=quiet,
        log=quiet,
        settings=Settings(max_in_flight=limit, callback_base="https://me.test"),
    )
