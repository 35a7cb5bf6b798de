"""The simulated life of accepted jobs: what happens when, and which events leave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from local.provider.dialect import Dialects, iso
from local.provider.files import Files
from local.provider.inputs import read_picture
from local.provider.ledger import Ledger
from local.provider.records import JobRecord
from local.provider.settings import MODELS, Settings
from local.provider.timers import Timers
from local.provider.webhooks import Delivery, Sender, worth_another_try

# States nobody hears about: the provider has forgotten the job.
FORGOTTEN = frozenset({"gone", "lost"})

# A restart tells a job's end again until it has been told this often, or was answered for good.
_TRIES = 5
_READING_TAKES_S = 0.1
# In multiples of the expected run time.
_CANCEL_TAKES = 0.05
_REPEATS_SPREAD = (0.0, 0.0, 0.2, 0.6, 1.5)
_FAILURE = {"code": "generation_failed", "message": "The model could not make a result from this input."}


class Life:
    """Drives every job by timers, and hands its events to the sender as the job's plan says."""

    def __init__(
        self,
        *,
        settings: Settings,
        ledger: Ledger,
        files: Files,
        timers: Timers,
        dialects: Dialects,
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._files = files
        self._timers = timers
        self._now = now
        self._dialects = dialects
        self._sender = Sender(self._signed, settings, timers, now, self._sent)
        # By job: which of its events must beat the answer, and whether it has.
        self._watched: dict[str, tuple[str, threading.Event]] = {}

    def start(self) -> None:
        """Start sending, and take up the jobs of the journal where they stand."""
        self._sender.start()
        for job in list(self._ledger.jobs.values()):
            if not job.state:
                self.begin(job)
                self._watched.pop(job.id, None)
                if job.cancel_asked_at is not None:
                    self.cancel(job)
            elif not _heard(job):
                self._announce_end(job)

    def stop(self) -> None:
        self._sender.stop()

    def begin(self, job: JobRecord) -> None:
        """Set the accepted job going."""
        first = _first_event(job)
        if first == "running" and not self._dialects[job.provider].sends(job, first):
            first = "" if job.plan.drop == "terminal" else "terminal"
        if first:
            self._watched[job.id] = first, threading.Event()
        self._timers.at(job.starts_at, lambda: self._started(job))
        if _unread(job):
            self._timers.at(job.starts_at, threading.Thread(target=self._read, args=(job,), daemon=True).start)
        self._timers.at(job.ends_at, lambda: self._end(job))

    def _read(self, job: JobRecord) -> None:
        """The job's picture, without which it cannot succeed."""
        read = read_picture(job.extra["image"])
        self._ledger.input(job.id, read)
        if not read["picture"]:
            self.finish(job, "failed")

    def _end(self, job: JobRecord) -> None:
        if _unread(job) and self._live(job) and job.plan.ending == "completed":
            self._timers.at(self._now() + _READING_TAKES_S, lambda: self._end(job))
            return
        self.finish(job, job.plan.ending)

    def cancel(self, job: JobRecord) -> None:
        """Stop the job shortly, unless it ends by itself first."""
        when = self._now() + _CANCEL_TAKES * self._settings.expected_s
        self._timers.at(when, lambda: self.finish(job, "canceled"))

    def finish(self, job: JobRecord, state: str) -> None:
        if self._ledger.finish(job.id, state):
            self._sender.forget_progress(job.id)
            self._announce_end(job)

    def hold_until_heard(self, job: JobRecord) -> None:
        """Wait, with a bound, until the event that must beat the answer has been delivered."""
        watch = self._watched.get(job.id)
        if watch is not None:
            watch[1].wait(self._settings.hold_s)
            self._watched.pop(job.id, None)

    def view(self, job: JobRecord, *, expired: bool = False) -> dict[str, Any]:
        """The job as the provider shows it, with fresh links to its results."""
        now = self._now()
        return {
            "id": job.id,
            "model": job.model,
            "reference": job.reference or None,
            "status": self._shown_word(job, now),
            "progress": self._progress(job, now),
            "outputs": self._outputs(job, now, expired=expired) if job.state == "completed" else [],
            "error": _failure(job),
            "created_at": iso(job.accepted_at),
        }

    def _started(self, job: JobRecord) -> None:
        if not self._live(job) or not job.webhook_url or job.plan.ending == "lost":
            return
        late = job.ends_at - self._now() + 0.3 if job.plan.reorder else job.plan.delay_s
        self._emit(job, "running", [late])
        self._tick(job)

    def _tick(self, job: JobRecord) -> None:
        now = self._now()
        # Whose events come late has no live progress either: it would tell before them that the job runs.
        silent = job.plan.drop == "all" or job.plan.delay_s > 0
        if not self._live(job) or silent or now >= job.starts_at + job.plan.duration_s:
            return
        if not self._dialects[job.provider].sends(job, "progress"):
            return
        self._sender.progress(self._delivery(job, "progress", f"progress_{int(now * 1000)}"))
        self._timers.at(now + 1 / self._settings.progress_per_s, lambda: self._tick(job))

    def _live(self, job: JobRecord) -> bool:
        # A reset forgets jobs whose timers still run.
        return not job.state and job.id in self._ledger.jobs

    def _announce_end(self, job: JobRecord) -> None:
        if job.state in FORGOTTEN or job.plan.drop == "terminal":
            return
        self._emit(job, job.state, [job.plan.delay_s + gap for gap in _REPEATS_SPREAD[: job.plan.repeat]])

    def _emit(self, job: JobRecord, kind: str, waits: list[float]) -> None:
        if not job.webhook_url or job.plan.drop == "all" or not self._dialects[job.provider].sends(job, kind):
            return
        delivery = self._delivery(job, kind, kind)
        for wait in waits:
            if wait > 0:
                self._timers.at(self._now() + wait, lambda: self._sender.event(delivery))
            else:
                self._sender.event(delivery)

    def _delivery(self, job: JobRecord, kind: str, name: str) -> Delivery:
        now = self._now()
        body = self._dialects[job.provider].event(job, kind, self.view(job, expired=job.plan.expired_url))
        return Delivery(
            provider=job.provider,
            job_id=job.id,
            kind=kind,
            webhook_id=f"msg_{job.id}_{name}",
            url=job.webhook_url,
            body=json.dumps(body).encode(),
            created_at=now,
            old_timestamp=job.plan.old_timestamp,
        )

    def _signed(self, delivery: Delivery, timestamp: int) -> dict[str, str]:
        return self._dialects[delivery.provider].signed(delivery, timestamp)

    def _sent(self, delivery: Delivery, status: int) -> None:
        if delivery.kind == "progress":
            self._ledger.progress(delivery.job_id)
            return
        now = self._now()
        sent = {
            "webhook_id": delivery.webhook_id,
            "type": f"job.{delivery.kind}",
            "status_code": status,
            "at": int(now * 1000),
            "late_s": round(now - delivery.created_at, 3),
            "old_timestamp": delivery.old_timestamp,
        }
        self._ledger.event(delivery.job_id, sent)
        watch = self._watched.get(delivery.job_id)
        if watch is not None and watch[0] == ("running" if delivery.kind == "running" else "terminal"):
            watch[1].set()

    def _progress(self, job: JobRecord, now: float) -> int:
        if job.state == "completed":
            return 100
        length = max(job.plan.duration_s, 0.001)
        most = 90 if job.plan.ending == "gone" else 99
        until = job.finished_at or now
        return max(0, min(most, int(100 * (until - job.starts_at) / length)))

    def _shown_word(self, job: JobRecord, now: float) -> str:
        word = job.word(now)
        if word == "processing" and job.plan.unknown_word and self._progress(job, now) >= 20:
            return "enhancing"
        return word

    def _outputs(self, job: JobRecord, now: float, *, expired: bool) -> list[dict[str, Any]]:
        expires = int(now) + (-60 if expired else round(self._settings.url_life_s))
        return [
            {
                "url": self._files.link(job, index, expires),
                "content_type": MODELS[job.model].kind,
                "size": len(self._files.content(job, index)),
                "expires_at": iso(expires),
            }
            for index in range(job.outputs)
        ]


def _unread(job: JobRecord) -> bool:
    return MODELS[job.model].from_picture and not job.inputs


def _failure(job: JobRecord) -> dict[str, str] | None:
    if job.state != "failed":
        return None
    if any(not read["picture"] for read in job.inputs):
        return {"code": "input_unreadable", "message": "The image cannot be read."}
    return {"code": job.fails, "message": "The input cannot be used."} if job.fails else _FAILURE


def _first_event(job: JobRecord) -> str:
    """The event that must beat the answer; none where none would come in time."""
    plan = job.plan
    if not job.webhook_url or plan.drop == "all" or plan.delay_s or plan.ending == "lost":
        return ""
    return "running" if plan.webhook_first and plan.drop == "terminal" else plan.webhook_first


def _heard(job: JobRecord) -> bool:
    """Whether the end of the job has been answered for good, so that a restart need not tell it again."""
    answers = [sent["status_code"] for sent in job.events_sent if sent["type"] == f"job.{job.state}"]
    return len(answers) >= _TRIES or not all(map(worth_another_try, answers))
