"""The seven invariants, looked at after every write, every acceptance and at the end, against the provider's ledger."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import HOLDS_SLOT, OPEN, RANK, TERMINAL, ErrorCode, Outcome, State
from tests.simulation.world.functions import TIMEOUTS_S
from tests.simulation.world.provider import Accepted
from tests.simulation.world.scheduler import MINUTE
from tests.simulation.world.town import Town

# Rows in which a person takes the risk upon himself: what the provider still does is no fault of ours then.
BY_A_PERSON = frozenset({"22", "23", "23r", "40", "40i"})
CLAIMS = frozenset({"1", "4", "6"})
LAPSES = frozenset({"20", "27"})
INVALID_RESULT = "31"


class Violation(AssertionError):
    """An invariant does not hold."""


class Watch:
    """Raises from the scheduler's next step on, so that nothing in the product can swallow it."""

    def __init__(self, town: Town, limits: dict[str, int]) -> None:
        self.town, self.limits = town, limits
        self.found: list[str] = []
        self.decided: set[str] = set()  # jobs that a person decided on
        self.lapsed: set[str] = set()
        self.suspended = False  # while a table is being restored
        self.restored = False  # an end that the table has lost is published again, under its new version
        self.calm_since: int | None = None
        self._evidence: dict[str, dict[str, int]] = defaultdict(dict)  # provider -> row taken on evidence -> when
        town.table.on_write.append(self._written)
        town.ledger.on_accept.append(self._accepted)
        town.scheduler.after_each = self._tell

    def _tell(self) -> None:
        if self.found or self.town.log.blunders:
            self.found += self.town.log.blunders
            raise Violation("; ".join(self.found))

    def _must(self, holds: bool, text: str) -> None:
        if not holds and not self.suspended:
            self.found.append(text)

    # -- at every write

    def _written(self, before: Job | None, after: Job, rule: str) -> None:
        name = f"{after.id[:6]} v{after.version} row {rule} {after.state}"
        if rule in BY_A_PERSON:
            self.decided.add(after.id)
        if before is not None and before.state is not after.state:
            self.lapsed.discard(after.id)  # found alive: it holds a slot again, or needs none
        if rule in LAPSES:
            self.lapsed.add(after.id)
        self._one_way(before, after, rule, name)
        self._must(after.due_at is not None or after.published_at is not None, f"I3 {name}: nobody will look at it")
        self._slots(before, after, rule, name)
        if after.state is State.SUCCEEDED and before is not None and before.state is not State.SUCCEEDED:
            self._stored(after, name)
        if after.state in (State.FAILED, State.CANCELED) and before is not None and before.state is not after.state:
            self._none_lives(after, rule, name)
        self._each_live_holds(after.provider, name)

    def _one_way(self, before: Job | None, after: Job, rule: str, name: str) -> None:
        if before is None:
            self._must(after.version == 1, f"I1 {name}: born with a version")
            return
        self._must(after.version == before.version + 1, f"I1 {name}: after v{before.version}")
        self._must(after.incarnation == before.incarnation, f"I1 {name}: another incarnation")
        if before.state is not after.state:
            self._must(RANK[after.state] > RANK[before.state], f"I1 {name}: from {before.state}")
            self._must(before.state not in TERMINAL, f"I1 {name}: left a terminal state")
        if before.final_version is not None:
            self._must(after.final_version == before.final_version, f"I1 {name}: final version changed")

    def _slots(self, before: Job | None, after: Job, rule: str, name: str) -> None:
        provider, table = after.provider, self.town.table
        held = {job.slot: job.id for job in table.jobs.values() if job.provider == provider and job.slot}
        rows = table.rows.get(provider, {})
        self._must(rows == held, f"I4 {name}: rows {rows} but held {held}")
        self._must(after.slot is None or after.state in HOLDS_SLOT, f"I4 {name}: holds a slot")
        open_one = after.attempt is not None and after.attempt.outcome is Outcome.OPEN
        needs = after.state is State.RUNNING or (after.state is State.SUBMITTING and (after.unsettled or open_one))
        self._must(not needs or after.slot is not None or after.id in self.lapsed, f"I4 {name}: has no slot")
        taken = after.slot if before is None or before.slot is None else None
        now, evidence = self.town.scheduler.now, self._evidence[provider]
        if taken and rule in CLAIMS:
            # A claim counts the rows when it begins; only evidence that came meanwhile may have passed it.
            since = now - TIMEOUTS_S["dispatch"] * 1000
            most = self.limits[provider] + sum(row in rows and at >= since for row, at in evidence.items())
            self._must(len(rows) <= most, f"I4 {name}: claimed row {len(rows)} of {most}")
        elif taken:
            evidence[taken] = now

    def _stored(self, job: Job, name: str) -> None:
        self._must(bool(job.outputs), f"I5 {name}: succeeded with nothing")
        for output in job.outputs:
            kept = self.town.objects.stored.get(output.key)
            right = kept is not None and (len(kept.body), hashlib.sha256(kept.body).hexdigest(), kept.content_type) == (
                output.size,
                output.sha256,
                output.content_type,
            )
            self._must(right, f"I5 {name}: {output.key} is not what the job says")

    def _none_lives(self, job: Job, rule: str, name: str) -> None:
        if rule in BY_A_PERSON or rule == INVALID_RESULT:
            return
        for one in self.town.ledger.under(job.reference):
            self._must(one.status in ("failed", "canceled"), f"I7 {name}: {one.id} is {one.status} and paid for")

    # -- at the provider

    def _accepted(self, one: Accepted) -> None:
        charges = self.town.ledger.charges[one.reference]
        self._must(charges <= 1, f"I2 {one.reference}: charged {charges} times")
        job = self.town.table.jobs.get(one.job_id)
        if job is not None and job.reference == one.reference and job.id not in self.decided:
            over = job.state in (State.FAILED, State.CANCELED)
            self._must(not over, f"I7 {one.reference}: accepted after the job was {job.state}")
        self._each_live_holds(one.provider, f"{one.id} accepted")

    def _each_live_holds(self, provider: str, name: str) -> None:
        """Never more in flight than rows: each live job's own holder has one, unless a person chose otherwise."""
        for one in self.town.ledger.live(provider):
            job = self.town.table.jobs.get(one.job_id)
            if job is None or not one.reference.endswith(job.incarnation) or job.id in self.decided:
                continue
            self._must(job.slot is not None, f"I4 {name}: {one.id} lives and {job.id[:6]} ({job.state}) has no row")

    # -- in calm weather

    def nothing_is_late(self) -> None:
        """I6: what fell due a whole interval ago was looked at."""
        now = self.town.scheduler.now
        for job in self.town.table.jobs.values():
            if job.due_at is None:
                continue
            since = max(job.due_at, self.calm_since or 0)
            self._must(
                now - since <= 2 * MINUTE, f"I6 {job.id[:6]} ({job.state}) was due {(now - since) // 1000} s ago"
            )

    # -- at the end

    def unfinished(self) -> list[Job]:
        """Jobs that neither ended and were published nor ask a person."""
        return [job for job in self.town.table.jobs.values() if job.published_at is None and job.attention is None]

    def at_the_end(self) -> None:
        """Everything that must be true once nothing more happens."""
        for job in self.unfinished():
            self._must(False, f"I6 {job.id[:6]} is still {job.state}: wait={job.wait} due={job.due_at}")
        self._must(not self.town.queues.dead, f"{len(self.town.queues.dead)} messages are dead letters")
        self._published()
        for job in self.town.table.jobs.values():
            self._true(job)
        self._heard()
        self._tell()

    def _published(self) -> None:
        ids: dict[str, set[str]] = defaultdict(set)
        told: dict[str, str] = {}
        for send in self.town.topic.published:
            job_id, incarnation, _ = send.deduplication_id.split("-")
            ids[f"{job_id}-{incarnation}"].add(send.deduplication_id)
            told[f"{job_id}-{incarnation}"] = json.loads(send.message)["status"]
        for name, several in ids.items():
            self._must(len(several) == 1 or self.restored, f"I5 {name[:6]} was published as {sorted(several)}")
        for job in self.town.table.jobs.values():
            if job.published_at is not None:
                said = told.get(f"{job.id}-{job.incarnation}")
                self._must(said == str(job.state), f"I5 {job.id[:6]} is {job.state}, published: {said}")

    def _true(self, job: Job) -> None:
        ours = [one for one in self.town.ledger.of_job(job.id) if one.reference.endswith(job.incarnation)]
        paid = [one for one in ours if one.status == "completed"]
        bound = self.town.ledger.accepted.get(job.provider_job_id or "")
        if job.state is State.SUCCEEDED:
            self._must(bound in paid, f"I5 {job.id[:6]} succeeded by {job.provider_job_id}, which did not")
        if job.error is not None and job.error.code in (ErrorCode.REJECTED, ErrorCode.EXPIRED_IN_QUEUE):
            charged = self.town.ledger.charges.get(job.reference, 0)
            self._must(not charged, f"I7 {job.id[:6]} failed as {job.error.code} and was charged")
        if job.id in self.decided or job.attention is not None or job.state in OPEN:
            return
        for one in paid:
            known = job.provider_job_id == one.id or any(f.provider_job_id == one.id for f in job.findings)
            self._must(known, f"I7 {job.id[:6]} is {job.state} and knows nothing of {one.id}, which was paid for")

    def _heard(self) -> None:
        """A success that we took with a 200 is the job's own, or a finding, or stands before a person."""
        for sent in self.town.webhooks.answered:
            one = self.town.ledger.accepted[sent.provider_job_id]
            job = self.town.table.jobs.get(one.job_id)
            if sent.answer != 200 or sent.status_word != "completed" or job is None:
                continue
            if not one.reference.endswith(job.incarnation) or job.attention is not None:
                continue
            known = job.provider_job_id == one.id or any(f.provider_job_id == one.id for f in job.findings)
            self._must(known, f"{job.id[:6]} took {sent.event_id} about {one.id} and forgot it")
