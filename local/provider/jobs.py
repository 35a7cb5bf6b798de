"""The provider's job API: accept, show, cancel, find. Every answer is noted in the ledger."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from local.provider.answers import CUT, Answer, Request
from local.provider.dialect import Dialect, Render
from local.provider.faults import FaultBook
from local.provider.ledger import Ledger
from local.provider.life import FORGOTTEN, Life
from local.provider.plans import SubmitPlan, job_plan, submit_plan
from local.provider.records import JobRecord
from local.provider.settings import Settings
from local.provider.wishes import Unusable, Wish


class Jobs:
    """One provider's API over the shared ledger."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        settings: Settings,
        ledger: Ledger,
        faults: FaultBook,
        life: Life,
        now: Callable[[], float],
    ) -> None:
        self._dialect = dialect
        self._name = dialect.name
        self._traits = dialect.offers
        self._settings = settings
        self._ledger = ledger
        self._faults = faults
        self._life = life
        self._now = now
        # Keys whose first request has not been answered yet, with the digest of its body.
        self._open: dict[str, str] = {}
        self._lock = threading.Lock()

    def submit(self, request: Request) -> Answer:
        """Accept a job, or say why not. Account and rate come before the idempotency key, as in real life."""
        try:
            body = self._dialect.parsed(request)
        except Unusable as unusable:
            return self._refuse("rejected", "", unusable.answer)
        reference = self._dialect.reference(request, body)
        plan, attempt_name = self._attempt(reference)
        refusal = self._account(plan)
        if refusal is not None:
            return self._refuse("refused", reference, refusal[1], fault=refusal[0])
        try:
            wish = self._dialect.wish(request, body)
        except Unusable as unusable:
            return self._refuse("rejected", reference, unusable.answer)
        key = self._dialect.key(request) if self._traits.idempotent else ""
        with self._lock:
            known = self._known(key, request.body)
            if isinstance(known, Answer):
                return self._refuse("conflict", reference, known)
            if known is None and (crowded := self._crowded(wish)) is not None:
                return self._refuse("rejected", reference, crowded)
            job = known or self._accept(wish, attempt_name, key, request)
            if key:
                self._open[key] = job.body_sha256
        try:
            return self._respond(job, plan, "replayed" if known else "accepted")
        finally:
            with self._lock:
                self._open.pop(key, None)

    def show(self, job_id: str, render: Render | None = None) -> Answer:
        job = self._find(job_id)
        if job is None:
            return self._dialect.refused("not_found")
        earlier = job.polls
        self._ledger.poll(job_id)
        if job.plan.slow_poll_s and not earlier:
            time.sleep(job.plan.slow_poll_s)
        if self._forgotten(job):
            return self._dialect.refused("not_found")
        if earlier < job.plan.poll_errors:
            return self._dialect.refused("internal")
        return (render or self._dialect.shown)(job, self._life.view(job))

    def cancel(self, job_id: str) -> Answer:
        job = self._find(job_id)
        if job is None or self._forgotten(job):
            return self._dialect.refused("not_found")
        with self._ledger.lock:
            if job.state == "canceled":
                return self._dialect.cancel_noted(job, self._life.view(job))
            if job.state:
                return self._dialect.cancel_too_late(job, self._life.view(job))
            first = job.cancel_asked_at is None
            self._ledger.ask_cancel(job_id)
        if first:
            self._life.cancel(job)
        return self._dialect.cancel_noted(job, self._life.view(job))

    def find(self, reference: str) -> Answer:
        """The jobs under a client's reference, where this provider can look one up."""
        if not self._traits.lookup:
            return self._dialect.refused("no_page")
        self._ledger.lookup()
        jobs = self._ledger.by_reference(self._name, reference) if reference else []
        return self._dialect.found([(job, self._life.view(job)) for job in jobs if not self._forgotten(job)])

    def _attempt(self, reference: str) -> tuple[SubmitPlan, str]:
        """The plan of this attempt, and the name its draws go by."""
        number = self._ledger.attempts(self._name, reference)
        name = reference or f"#{number}"
        attempt = number if reference else 0
        faults = self._faults.submission(self._name, name, attempt)
        return submit_plan(faults, attempt, self._faults.draw(self._name, name, attempt)), name

    def _account(self, plan: SubmitPlan) -> tuple[str, Answer] | None:
        """A refusal that has nothing to do with the request, with the fault's name."""
        now = self._now()
        until = self._faults.blocked_until(self._name, now, self._settings.block_s)
        if until:
            if self._ledger.blocks.get(self._name) != until:
                self._ledger.block(self._name, until)
            return "blocked", self._dialect.refused("blocked")
        wait_s = plan.retry_after_s
        if plan.before == "unavailable_before":
            return plan.before, self._dialect.refused("unavailable", "", wait_s if self._traits.honest_503 else None)
        if plan.before == "rate_limited_before":
            return plan.before, self._dialect.refused("rate_limited", "", wait_s)
        return None

    def _crowded(self, wish: Wish) -> Answer | None:
        """The refusal of what would be one job too many: under its reference, or in flight."""
        if self._traits.unique_reference and self._ledger.by_reference(self._name, wish.reference):
            return self._dialect.refused("repeated")
        most = self._traits.most_in_flight
        if most and self._ledger.in_flight(self._name) >= most:
            return self._dialect.refused("busy", "", 1)
        return None

    def _known(self, key: str, body: bytes) -> JobRecord | Answer | None:
        """The job this key already made, or the conflict it is in."""
        if not key:
            return None
        digest = hashlib.sha256(body).hexdigest()
        if key in self._open:
            same = self._open[key] == digest or not self._traits.strict_key
            return self._dialect.refused("in_progress" if same else "mismatch")
        job = self._ledger.by_key(self._name, key)
        if job is None or self._now() - job.accepted_at >= self._settings.key_life_s:
            return None
        same = job.body_sha256 == digest or not self._traits.strict_key
        return job if same else self._dialect.refused("mismatch")

    def _accept(self, wish: Wish, name: str, key: str, request: Request) -> JobRecord:
        number = len(self._ledger.by_reference(self._name, wish.reference)) if wish.reference else 0
        faults = self._faults.job(self._name, name, number)
        draw = self._faults.draw(self._name, name, number)
        plan = job_plan(faults, wish.model, wish.duration_s, self._settings, draw)
        fresh = JobRecord(
            provider=self._name,
            id=self._dialect.new_id(secrets.token_hex(16)),
            model=wish.model,
            reference=wish.reference,
            idempotency_key=key,
            body_sha256=hashlib.sha256(request.body).hexdigest(),
            webhook_url=wish.webhook_url,
            outputs=wish.outputs,
            accepted_at=self._now(),
            gone_after_s=self._settings.max_run_s,
            plan=replace(plan, ending="failed") if wish.fails else plan,
            fails=wish.fails,
            extra=wish.extra,
        )
        job = self._ledger.accept(fresh)
        self._life.begin(job)
        return job

    def _respond(self, job: JobRecord, plan: SubmitPlan, word: str) -> Answer:
        answer = self._spoiled(plan.after) if plan.after else self._dialect.accepted(job)
        self._note(word, job.reference, answer.status, fault=plan.after, job_id=job.id)
        if plan.slow_answer_s:
            time.sleep(plan.slow_answer_s)
        if word == "accepted":
            self._life.hold_until_heard(job)
        return answer

    def _refuse(self, word: str, reference: str, answer: Answer, fault: str = "") -> Answer:
        self._note(word, reference, answer.status, fault=fault)
        return answer

    def _note(self, word: str, reference: str, status: int, *, fault: str, job_id: str = "") -> None:
        line = {
            "provider": self._name,
            "reference": reference,
            "at": int(self._now() * 1000),
            "answer": word,
            "status": status,
            "fault": fault,
            "id": job_id,
        }
        self._ledger.submission(job_id, line)

    def _find(self, job_id: str) -> JobRecord | None:
        job = self._ledger.jobs.get(job_id)
        return job if job is not None and job.provider == self._name else None

    def _forgotten(self, job: JobRecord) -> bool:
        return job.plan.ending == "lost" or job.state in FORGOTTEN or self._dialect.forgets(job)

    def _spoiled(self, fault: str) -> Answer:
        """The job was accepted, but this is what its sender gets to see."""
        if fault == "close_after":
            return CUT
        if fault == "error_after":
            return self._dialect.refused("internal")
        if fault == "unavailable_after":
            return self._dialect.refused("unavailable")
        return self._dialect.without_id()
