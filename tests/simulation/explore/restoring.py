"""The table as it was at an earlier moment, put back by the procedure of docs/restore.md: a move of the world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.explore.state import State

if TYPE_CHECKING:
    from tests.simulation.explore.engine import Engine

QUIET_MS = 120_000  # the procedure waits so long, and nothing is under way any more
ANOTHER = "i9"  # two submits of one key ran: the log may know only the one that did not win


class Restoring:
    """A copy is taken at some moment; later the functions are switched off and the table is what the copy holds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def moves(self, state: State) -> Iterator[tuple[tuple[Any, ...], State]]:
        """Label and world after, of each way."""
        engine = self._engine
        if engine.left(state, "backup"):
            copy = (state.jobs, state.slots, state.room, state.memory.bound)
            after = engine.spend(state, "backup")
            yield ("a copy of the table is taken",), after._replace(memory=state.memory._replace(copy=copy))
        if state.memory.copy and engine.left(state, "restore"):
            later = engine.next_time(state, state.now + QUIET_MS)
            if later is not None:
                quiet = engine.at(engine.spend(state, "restore"), later)
                for known in ("", ANOTHER):
                    yield ("the table is put back", known), self._put_back(quiet, known)

    def _put_back(self, state: State, known: str) -> State:
        lost = {
            job: self._engine.table.rows[number]
            for job, number in enumerate(state.jobs)
            if number and not state.memory.copy[0][job]
        }
        jobs, slots, room, bound = state.memory.copy
        # The idempotency table begins anew; that ends may be published again, under another version, is told.
        memory = state.memory._replace(bound=bound, once=(), sent=(), images=(), copy=())
        state = state._replace(procs=(), jobs=jobs, slots=slots, room=room, memory=memory)
        if "no procedure" in self._engine.wrong:
            return state
        for job, row in lost.items():
            within_s = (row.start_deadline - row.created_at) // 1000
            state = self._run(state, "anew", (job, row.tenant, known or row.incarnation, within_s, row.created_at))
        for job, number in enumerate(state.jobs):
            if number:
                state = self._run(state, "question", (job,))
        return state

    def _run(self, state: State, kind: str, args: tuple[Any, ...]) -> State:
        """From its start to its end; everything else is switched off."""
        machine = self._engine.machine
        number = machine.start(kind, args, state.now)
        while number:
            _, state, answer = self._engine.perform(state, machine.proc(number))[0]
            number = machine.resume(number, answer, state.now)
        return state
