"""Invocations that may begin: whatever message, request or tick could come, at any time, as often as the model says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State as Stage
from tests.simulation.explore.state import LIVE, STATUS, State

if TYPE_CHECKING:
    from tests.simulation.explore.engine import Engine

_SUBMITS = frozenset({Stage.PENDING, Stage.SUBMITTING})


class Spawns:
    """Messages are lost, repeated, late and out of order: so they are not kept, they may come whenever they could."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._model = engine.model
        found = {kind: getattr(self, f"_{kind}", None) for kind in engine.kinds}
        self._ways = {kind: way for kind, way in found.items() if way is not None}

    def moves(self, state: State) -> Iterator[Any]:
        from tests.simulation.explore.engine import Move

        for kind, way in self._ways.items():
            if not self._engine.left(state, kind):
                continue
            for args in way(state):
                for note, after in self.begin(state, kind, args):
                    yield Move(("begin", kind, args, note), after)

    def begin(self, state: State, kind: str, args: tuple[Any, ...]) -> Iterator[tuple[str, State]]:
        """The world with this invocation under way; none where it would end at once and change nothing."""
        engine = self._engine
        number = engine.machine.start(kind, args, state.now)
        spent = engine.spend(state, kind)
        if kind == "person":
            asked = tuple(sorted({*spent.memory.asked, (args[0], args[1], args[2])}))
            yield "", engine.put(spent._replace(memory=spent.memory._replace(asked=asked)), number)
        elif number and engine.machine.proc(number).op[0] == "load":
            # What it reads first it may as well read now: it may be late only with what it does then.
            for note, read, answer in engine.perform(spent, engine.machine.proc(number)):
                after = engine.put(read, engine.machine.resume(number, answer, state.now))
                if after != read:
                    yield note, after
        elif (after := engine.put(spent, number)) != spent:
            yield "", after

    def _rows(self, state: State) -> Iterator[tuple[int, Job]]:
        for job, number in enumerate(state.jobs):
            if number:
                yield job, self._engine.table.rows[number]

    def _dispatch(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, row in self._rows(state):
            if row.state in _SUBMITS or row.adopt is not None:
                yield job, "submit"
            elif row.state is Stage.RUNNING and row.cancel_requested:
                yield job, "cancel"

    def _look(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, row in self._rows(state):
            if row.due_at is not None and row.due_at <= state.now:
                yield (job,)

    def _tend(self, state: State) -> Iterator[tuple[Any, ...]]:
        yield ()

    def _webhook(self, state: State) -> Iterator[tuple[Any, ...]]:
        bare = "account" in self._model.words
        for at, paid in enumerate(state.paid):
            said = [STATUS[LIVE]] if "running" in self._model.words else []
            if "end" in self._model.words and paid.status != LIVE:
                said.append(STATUS[paid.status])
            if "odd" in self._model.words:
                said.append("unknown")
            for word in said:
                yield paid.job, paid.incarnation, None if bare else paid.submission, f"p{at} {word}"

    def _cancel(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, _ in self._rows(state):
            yield (job,)

    def _person(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, row in self._rows(state):
            if "acknowledge" in self._model.people:
                yield from ((job, "acknowledge", None, finding.provider_job_id) for finding in row.findings)
            if row.attention is None:
                continue
            for word in self._model.people:
                if word == "adopt":
                    yield from ((job, word, row.attention.version, f"p{at}") for at in range(len(state.paid)))
                elif word != "acknowledge":
                    yield job, word, row.attention.version, None

    def _store(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, row in self._rows(state):
            if row.state is Stage.STORING and row.attention is None:
                yield (job,)

    def _publish(self, state: State) -> Iterator[tuple[Any, ...]]:
        for image in state.memory.images:
            yield (image,)

    def _client(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, tenant in enumerate(self._model.tenants):
            yield job, tenant, self._model.start_within_s

    def _dead(self, state: State) -> Iterator[tuple[Any, ...]]:
        for job, row in self._rows(state):
            yield job, "store" if row.state is Stage.STORING else "dispatch"

    def _operator(self, state: State) -> Iterator[tuple[Any, ...]]:
        yield (True,)
        yield (False,)
