"""The ledger: what really happened at the provider. Every charge, event and submission stands here.

Each change is one entry, written to the journal and then applied; a restart applies the journal
again. So what is in memory and what is on disk cannot differ.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from local.provider.records import JobRecord, shown, stored

Entry = dict[str, Any]


class Ledger:
    """All of it, under one lock; methods are short and safe from any thread."""

    def __init__(self, now: Callable[[], float], journal: Path | None) -> None:
        self._now = now
        self._path = journal
        self.lock = threading.RLock()
        self._file: BinaryIO | None = None
        self._clear()
        if journal is not None:
            self._replay(journal)
            self._file = journal.open("ab", buffering=0)

    def close(self) -> None:
        with self.lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def reset(self) -> None:
        """Forget everything, on disk too, but what the account has set."""
        with self.lock:
            kept = dict(self.notes)
            self._clear()
            if self._file is not None:
                self._file.truncate(0)
            for name, value in kept.items():
                self.note(name, value)

    # What changes it

    def accept(self, job: JobRecord) -> JobRecord:
        """Enter the job; the record that will change from now on."""
        self._write({"what": "job", "job": asdict(job)})
        return self.jobs[job.id]

    def finish(self, job_id: str, state: str) -> bool:
        """End the job; False when it has ended before, or is not known."""
        with self.lock:
            job = self.jobs.get(job_id)
            if job is None or job.state:
                return False
            self._write({"what": "finish", "id": job_id, "state": state, "at": self._now()})
            return True

    def ask_cancel(self, job_id: str) -> None:
        self._write({"what": "cancel", "id": job_id, "at": self._now()})

    def delete(self, job_id: str) -> None:
        self._write({"what": "delete", "id": job_id})

    def note(self, name: str, value: Any) -> None:
        """Keep what an account has set for good, a webhook endpoint for example."""
        self._write({"what": "note", "name": name, "value": value})

    def poll(self, job_id: str) -> None:
        self._write({"what": "poll", "id": job_id})

    def lookup(self) -> None:
        self._write({"what": "lookup"})

    def download(self, job_id: str) -> int:
        """Count a download; how many there were before it."""
        with self.lock:
            before = self.jobs[job_id].downloads
            self._write({"what": "download", "id": job_id})
            return before

    def event(self, job_id: str, sent: dict[str, Any]) -> None:
        self._write({"what": "event", "id": job_id, "sent": sent})

    def input(self, job_id: str, read: dict[str, Any]) -> None:
        """What the URL of a job's picture gave."""
        self._write({"what": "input", "id": job_id, "read": read})

    def progress(self, job_id: str) -> None:
        # Not in the journal: there are hundreds a second, and only their number is of interest.
        with self.lock:
            if job_id in self.jobs:
                self.jobs[job_id].progress_sent += 1

    def submission(self, job_id: str, line: dict[str, Any]) -> None:
        """One POST and what its sender was told; `job_id` is empty where it made or found no job."""
        self._write({"what": "submit", "id": job_id, "line": line})

    def block(self, provider: str, until: float) -> None:
        self._write({"what": "block", "provider": provider, "until": until})

    # What reads it

    def in_flight(self, provider: str) -> int:
        with self.lock:
            return self._in_flight[provider]

    def attempts(self, provider: str, reference: str) -> int:
        with self.lock:
            return self._attempts[provider, reference]

    def by_reference(self, provider: str, reference: str) -> list[JobRecord]:
        with self.lock:
            return [self.jobs[job_id] for job_id in self._by_reference.get((provider, reference), [])]

    def by_key(self, provider: str, key: str) -> JobRecord | None:
        """The newest job accepted under this idempotency key."""
        with self.lock:
            job_id = self._by_key.get((provider, key))
            return None if job_id is None else self.jobs[job_id]

    def snapshot(self, *, summary: bool = False) -> dict[str, Any]:
        with self.lock:
            totals = {
                "charges_by_reference": dict(self._charges),
                "charges": sum(self._charges.values()),
                "max_in_flight": dict(self._max_in_flight),
                "in_flight": dict(self._in_flight),
                "polls": self.polls,
                "lookups": self.lookups,
                "refused": self.refused,
                "blocks": dict(self.blocks),
            }
            if summary:
                return totals
            now = self._now()
            return {
                "jobs": [shown(job, now) for job in self.jobs.values()],
                "submits": [dict(line) for line in self.submits],
                **totals,
            }

    # The journal, with one method for each kind of entry

    def _write(self, entry: Entry) -> None:
        with self.lock:
            if "id" in entry and entry["id"] and entry["id"] not in self.jobs:
                return  # a timer or a sender of before a reset
            if self._file is not None:
                self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
            self._apply(entry)

    def _clear(self) -> None:
        self.jobs: dict[str, JobRecord] = {}
        self.submits: list[dict[str, Any]] = []
        self.blocks: dict[str, float] = {}
        self.notes: dict[str, Any] = {}
        self.polls = self.lookups = self.refused = 0
        self._charges: Counter[str] = Counter()
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._in_flight: Counter[str] = Counter()
        self._max_in_flight: Counter[str] = Counter()
        self._by_reference: dict[tuple[str, str], list[str]] = {}
        self._by_key: dict[tuple[str, str], str] = {}

    def _replay(self, journal: Path) -> None:
        journal.parent.mkdir(parents=True, exist_ok=True)
        raw = journal.read_bytes() if journal.exists() else b""
        # A process killed while writing leaves a torn last line: it never happened.
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            journal.write_bytes(whole)
        for line in whole.splitlines():
            self._apply(json.loads(line))

    def _apply(self, entry: Entry) -> None:
        getattr(self, f"_on_{entry['what']}")(entry)

    def _on_job(self, entry: Entry) -> None:
        job = stored(entry["job"])
        self.jobs[job.id] = job
        self._charges[job.reference or job.id] += 1
        self._by_reference.setdefault((job.provider, job.reference), []).append(job.id)
        if job.idempotency_key:
            self._by_key[job.provider, job.idempotency_key] = job.id
        self._in_flight[job.provider] += 1
        live = self._in_flight[job.provider]
        self._max_in_flight[job.provider] = max(self._max_in_flight[job.provider], live)

    def _on_finish(self, entry: Entry) -> None:
        job = self.jobs[entry["id"]]
        job.state, job.finished_at = entry["state"], entry["at"]
        self._in_flight[job.provider] -= 1

    def _on_submit(self, entry: Entry) -> None:
        line = entry["line"]
        self.submits.append(line)
        self._attempts[line["provider"], line["reference"]] += 1
        if line["answer"] == "refused":
            self.refused += 1
        if entry["id"] and line["fault"]:
            self.jobs[entry["id"]].faults.append(line["fault"])

    def _on_cancel(self, entry: Entry) -> None:
        job = self.jobs[entry["id"]]
        job.cancels += 1
        job.cancel_asked_at = job.cancel_asked_at or entry["at"]

    def _on_delete(self, entry: Entry) -> None:
        self.jobs[entry["id"]].deleted = True

    def _on_note(self, entry: Entry) -> None:
        self.notes[entry["name"]] = entry["value"]

    def _on_poll(self, entry: Entry) -> None:
        self.polls += 1
        self.jobs[entry["id"]].polls += 1

    def _on_event(self, entry: Entry) -> None:
        self.jobs[entry["id"]].events_sent.append(entry["sent"])

    def _on_input(self, entry: Entry) -> None:
        self.jobs[entry["id"]].inputs.append(entry["read"])

    def _on_download(self, entry: Entry) -> None:
        self.jobs[entry["id"]].downloads += 1

    def _on_lookup(self, _entry: Entry) -> None:
        self.lookups += 1

    def _on_block(self, entry: Entry) -> None:
        self.blocks[entry["provider"]] = entry["until"]


def peak_in_flight(jobs: Iterable[dict[str, Any]]) -> int:
    """The most jobs of a ledger's answer that lived at one moment; choose which jobs count before."""
    changes: list[tuple[int, int]] = []
    for job in jobs:
        changes.append((job["accepted_at"], 1))
        if job["finished_at"] is not None:
            changes.append((job["finished_at"], -1))
    live = peak = 0
    for _, change in sorted(changes):
        live += change
        peak = max(peak, live)
    return peak
