"""After the last fault nobody runs, every message and webhook is lost: ticks alone must bring each job to its end.

The provider answers, finishes what it runs, and calls nobody. It is deterministic, so what was recovered from once is
remembered, with everything passed on the way.
"""

from __future__ import annotations

from typing import Any

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, ErrorCode, Reason
from mediajobs.jobs.states import State as Stage
from tests.simulation.explore.engine import Engine
from tests.simulation.explore.state import FAILED, LIVE, SUCCEEDED, State

TICK_MS = 60_000
ROUNDS = 4000
Mail = tuple[tuple[int, str, int, str], ...]


class Recovery:
    """The check of one state: ended and published, or with attention, in time and truly."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: set[int] = set()
        self._mail: list[tuple[int, str, int, str]] = []
        self.rounds = 0

    def why_not(self, state: State) -> str | None:
        """What is wrong with the way in which this state recovers; None where it does."""
        state = state._replace(procs=(), wire=(), left=(0,) * len(state.left))
        state = state._replace(memory=state.memory._replace(images=()))
        calm = {job for job, number in enumerate(state.jobs) if number and self._calm(state, number)}
        if calm and (bad := self._run(state, frozenset(calm))):
            return bad
        return None if calm else self._run(state, frozenset())

    def _run(self, state: State, calm: frozenset[int]) -> str | None:
        engine = self._engine
        path: list[int] = []
        mail: Mail = ()
        horizon = state.now + engine.model.patience_s * 1000
        for _ in range(ROUNDS):
            if not mail:
                key = hash((state, calm))
                if key in self._known:
                    break
                path.append(key)
            if all(number == 0 or self._settled(number) for number in state.jobs):
                bad = self._untrue(state, calm)
                if bad:
                    return bad
                break
            if state.now > horizon:
                return f"6: not settled {engine.model.patience_s} s after the last fault: {self._stuck(state)}"
            state, mail, bad = self._round(state, mail)
            if bad:
                return bad
        else:
            return f"6: never settled: {self._stuck(state)}"
        self._known.update(path)
        return None

    def _settled(self, number: int) -> bool:
        row = self._engine.table.rows[number]
        if row.attention is not None:
            return row.attention.reason is not Reason.OVERDUE  # it is polled on, and ends by itself
        return row.state in TERMINAL and row.published_at is not None

    def _stuck(self, state: State) -> str:
        rows = [self._engine.table.rows[number] for number in state.jobs if number]
        return ", ".join(f"{row.state} (due {row.due_at}, waits {row.wait})" for row in rows)

    # -- one round: what is due now, else the next moment at which something is

    def _round(self, state: State, mail: Mail) -> tuple[State, Mail, str | None]:
        self.rounds += 1
        self._mail = list(mail)
        rows = self._engine.table.rows
        state, bad = self._all(state, "tend", ())
        for job, number in enumerate(state.jobs):
            due = rows[number].due_at if number else None
            if bad is None and due is not None and due <= state.now:
                state, bad = self._all(state, "look", (job,))
        while bad is None and (ready := [letter for letter in self._mail if letter[0] <= state.now]):
            letter = min(ready)
            self._mail.remove(letter)
            args = (letter[2],) if letter[1] == "store" else (letter[2], letter[3])
            state, bad = self._all(state, letter[1], args)
        if bad is not None:
            return state, (), bad
        if all(number == 0 or self._settled(number) for number in state.jobs):
            return state, (), None
        after = self._later(state)
        if after is None:
            return state, (), f"3: nothing will ever look at it: {self._stuck(state)}"
        return after, tuple(sorted(self._mail)), None

    def _later(self, state: State) -> State | None:
        rows = [self._engine.table.rows[number] for number in state.jobs if number]
        times = [row.due_at for row in rows if row.due_at is not None] + [letter[0] for letter in self._mail]
        pause = self._engine.table.pauses[state.pause]
        if any(row.wait for row in rows) and len(state.slots) < self._engine.model.limit:
            times.append(max(state.now + TICK_MS, pause.until if pause.reason else 0))
        if not times:
            return None
        state = state._replace(now=max(state.now + 1, min(times)))
        ended = tuple(
            paid._replace(status=SUCCEEDED if paid.known else FAILED) if paid.status == LIVE else paid
            for paid in state.paid
        )
        return state._replace(paid=ended)

    def _all(self, state: State, kind: str, args: tuple[Any, ...]) -> tuple[State, str | None]:
        """One invocation from its start to its end, everything answered in the healthy way."""
        engine = self._engine
        number = engine.machine.start(kind, args, state.now)
        while number:
            proc = engine.machine.proc(number)
            if proc.op[0] == "mail":
                _, where, job, do, delay_s = proc.op
                self._mail.append((state.now + delay_s * 1000, where, job, do))
            before = state
            _, state, answer = engine.perform(state, proc)[0]
            stands = proc.op[0] == "write" and answer[0] == "written"
            bad = engine.invariants.write(before.jobs[proc.op[1]], answer[1]) if stands else None
            bad = bad or engine.invariants.state(state) or engine.machine.broken or engine.watch.broken
            if bad:
                return state, f"{bad} (while {kind} {args} recovers)"
            number = engine.machine.resume(number, answer, state.now)
        return state, None

    # -- what must be true in the end

    def _calm(self, state: State, number: int) -> bool:
        """Nothing is in question about it, so nobody needs to be asked."""
        row = self._engine.table.rows[number]
        if row.attention is not None or row.unsettled or row.misses or row.failures or not self._all_known(state):
            return False
        return row.state is not Stage.SUBMITTING or row.slot is None

    def _all_known(self, state: State) -> bool:
        return all(paid.known for paid in state.paid) and not self._engine.table.pauses[state.pause].reason

    def _untrue(self, state: State, calm: frozenset[int]) -> str | None:
        for job, number in enumerate(state.jobs):
            if not number:
                continue
            row = self._engine.table.rows[number]
            if job in calm and row.attention is not None:
                return (
                    f"6: a person is asked ({row.attention.reason}) about job {job}, of which nothing was in question"
                )
            if row.state is Stage.SUCCEEDED and self._truth(state, row) != SUCCEEDED:
                return f"6: job {job} succeeded, and its provider job did not"
            provider = row.error is not None and row.error.code is ErrorCode.PROVIDER_ERROR
            if row.state is Stage.FAILED and provider and self._truth(state, row) == SUCCEEDED:
                return f"6: job {job} failed, and its provider job succeeded"
        return None

    def _truth(self, state: State, row: Job) -> int | None:
        name = row.provider_job_id
        return None if name is None else state.paid[int(name[1:])].status
