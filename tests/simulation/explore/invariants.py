"""What must hold in every state and after every write, whatever has happened: DESIGN.md's invariants, in its order."""

from __future__ import annotations

from collections import Counter

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import RANK, TERMINAL, ErrorCode, Outcome
from mediajobs.jobs.states import State as Stage
from tests.simulation.explore.model import Model
from tests.simulation.explore.state import LIVE, SUCCEEDED, State, Table

_UNSURE = frozenset({Outcome.OPEN, Outcome.AMBIGUOUS})
_ALIVE = frozenset({Stage.SUBMITTING, Stage.RUNNING})
_NOT_OURS = frozenset({ErrorCode.FAILED_BY_OPERATOR, ErrorCode.INVALID_RESULT})


def of_write(before: Job, after: Job) -> str | None:
    """1 and 3, and the shape of a row: true of each write by itself."""
    if after.version != before.version + 1:
        return f"1: version {before.version} is followed by {after.version}"
    if before.state in TERMINAL and _end(before) != _end(after):
        return f"1: {before.state} was changed"
    if after.state is not before.state and RANK[after.state] <= RANK[before.state]:
        return f"1: the rank falls from {before.state} to {after.state}"
    done = after.state in TERMINAL and after.published_at is not None
    if (after.due_at is None) != done:
        return f"3: {after.state} with due_at {after.due_at}"
    return _of_slot(before, after)


def _end(row: Job) -> tuple[object, ...]:
    return row.state, row.final_version, row.error, row.outputs


def _of_slot(before: Job, after: Job) -> str | None:
    if after.slot is not None and after.state not in _ALIVE:
        return f"4: {after.state} holds a slot"
    if before.slot and after.slot and before.slot != after.slot:
        return "4: a job changes its slot row"
    if after.submission not in (before.submission, before.submission + 1):
        return "2: the submission does not grow by one"
    if after.wait is not None and not _may_wait(after):
        return f"6: {after.state} stays in the waiting room"
    return None


def _may_wait(row: Job) -> bool:
    idle = row.state is Stage.SUBMITTING and row.slot is None and not row.unsettled
    return (row.state is Stage.PENDING or idle) and row.attention is None


class Invariants:
    """The check of one state. Person: what an operator decided is no fault of the system."""

    def __init__(self, model: Model, table: Table) -> None:
        self._model, self._table = model, table
        self._writes: dict[tuple[int, int], str | None] = {}

    def write(self, before: int, after: int) -> str | None:
        """Of a write that stands, by the rows' numbers; remembered, because the same one comes again and again."""
        key = (before, after)
        if key not in self._writes:
            self._writes[key] = of_write(self._table.rows[before], self._table.rows[after])
        return self._writes[key]

    def state(self, state: State) -> str | None:
        """The first invariant that this state breaks."""
        if state.memory.fault:
            return f"pause: {state.memory.fault}"
        return self._charges(state) or self._slots(state) or self._ends(state) or self._ids(state)

    def _charges(self, state: State) -> str | None:
        if len(state.paid) < 2:
            return None
        # A row that was made anew may have another incarnation, and is the same user's action.
        restored = "restore" in self._model.left
        counts = Counter((paid.job, "" if restored else paid.incarnation, paid.submission) for paid in state.paid)
        for (job, _, submission), count in counts.items():
            if count > 1:
                return f"2: submission {submission} of job {job} was charged {count} times"
        questions = {entry[0::2] for entry in state.memory.asked if entry[1] == "resubmit"}
        for job, number in enumerate(state.jobs):
            asked = sum(1 for entry in questions if entry[0] == job)
            if number and self._table.rows[number].submission > 1 + asked:
                return f"2: job {job} has more submissions than a person asked for"
        return None

    def _slots(self, state: State) -> str | None:
        rows = self._table.rows
        held = dict(state.slots)
        named = {(rows[n].slot, job) for job, n in enumerate(state.jobs) if n and rows[n].slot}
        if named != set(held.items()):
            return f"4: slot rows {state.slots} do not match the jobs' {sorted(named, key=str)}"
        if sum(1 for row in held if not row.startswith("over#")) > self._model.limit:
            return f"4: {len(held)} slot rows, limit {self._model.limit}"
        for job, number in enumerate(state.jobs):
            if number and rows[number].slot is None and (why := self._needs_slot(state, job, rows[number])):
                return f"4: {why}, and job {job} holds no slot"
        return None

    def _needs_slot(self, state: State, job: int, row: Job) -> str | None:
        if row.state not in _ALIVE or row.attempt is None:
            return None
        if state.now >= row.attempt.started + self._model.traits.max_run_s * 1000:
            return None if row.state is not Stage.RUNNING or row.attention else "it runs"
        if row.state is Stage.RUNNING:
            return "it runs"
        if row.unsettled or row.attempt.outcome in _UNSURE:
            return "its fate is unknown"
        own = (job, row.incarnation, row.submission)
        return "the provider runs it" if any(p[:3] == own and p.status == LIVE for p in state.paid) else None

    def _ends(self, state: State) -> str | None:
        for job, number in enumerate(state.jobs):
            if not number:
                continue
            row = self._table.rows[number]
            if row.state not in TERMINAL:
                continue
            why = self._false_end(state, job, row) if row.state is not Stage.SUCCEEDED else self._unproven(state, row)
            if why is None:
                why = self._publication(state, job, row)
            if why is not None:
                return why
        return None

    def _false_end(self, state: State, job: int, row: Job) -> str | None:
        """7, in every later state too: a request on the wire may not come to life behind a written end."""
        if row.error is not None and row.error.code in _NOT_OURS:
            return None
        if any(asked[:2] == (job, "adopt") for asked in state.memory.asked):
            return None
        own = (job, row.incarnation, row.submission)
        if any(paid[:3] == own and paid.status in (LIVE, SUCCEEDED) for paid in state.paid):
            return f"7: job {job} says {row.state}, and its provider job lives or succeeded"
        return None

    def _unproven(self, state: State, row: Job) -> str | None:
        objects = dict(state.memory.objects)
        if not row.outputs:
            return "5: succeeded without a result"
        for output in row.outputs:
            if objects.get(output.key) != output.sha256:
                return f"5: the object at {output.key} is not the one that the row records"
        return None

    def _publication(self, state: State, job: int, row: Job) -> str | None:
        generation = state.memory.generation[job]
        ids = {name for name, of in state.memory.sent if name.startswith(row.id) and of == generation}
        if len(ids) > 1:
            return f"5: published under {len(ids)} ids"
        if row.published_at is not None and not ids:
            return "5: marked as published, and never sent"
        earlier = {name for name, of in state.memory.sent if name.startswith(row.id) and of != generation}
        if ids & earlier:
            return "5: published under the id of an earlier job of the same key: the consumer drops it"
        return None

    def _ids(self, state: State) -> str | None:
        seen: dict[str, int] = {}
        for job, number in enumerate(state.jobs):
            name = self._table.rows[number].provider_job_id if number else None
            if name is None:
                continue
            if name in seen:
                return f"2: provider job {name} is bound to jobs {seen[name]} and {job}"
            seen[name] = job
        return None
