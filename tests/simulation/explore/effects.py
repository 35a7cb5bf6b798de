"""What each call to the table does, and every way in which it may be answered; the healthy way comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mediajobs.pauses import PROBED, Pause, PauseReason
from tests.simulation.explore.model import Model
from tests.simulation.explore.outside import Outcome, Outside
from tests.simulation.explore.state import State, Table
from tests.simulation.explore.tape import Op, Proc, Raise

Slots = tuple[tuple[str, int], ...]


class Effects(Outside):
    """The table, and all of the outside."""

    def __init__(self, model: Model, table: Table, wrong: frozenset[str] = frozenset()) -> None:
        super().__init__(model, table, wrong)
        self._before: dict[int, set[int]] = {}  # for each row those that it has replaced: what a replica may still show
        self._ways: dict[str, Callable[[State, Op, Proc], list[Outcome]]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")
        }

    def perform(self, state: State, proc: Proc) -> list[Outcome]:
        return self._ways[proc.op[0]](state, proc.op, proc)

    # -- jobs and slot rows

    def _on_load(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, job, strong = op
        ways: list[Outcome] = [("", state, state.jobs[job])]
        if not strong and self.left(state, "stale"):
            stale = self.spend(state, "stale")
            ways += [("as it was before", stale, row) for row in sorted(self._before.get(state.jobs[job], ()))]
        return ways

    def _on_create(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, job, row = op
        if state.jobs[job]:
            return [("exists", state, (False, state.jobs[job]))]
        return [("", self._put(state, job, row), (True, row))]

    def _put(self, state: State, job: int, row: int) -> State:
        return state._replace(jobs=(*state.jobs[:job], row, *state.jobs[job + 1 :]))

    def _on_write(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        outcome = self._write(state, op)
        if not self.left(state, "conflict"):
            return [outcome]
        faulty = self.spend(state, "conflict")
        ways = [outcome, ("TransactionConflict", faulty, Raise("WriteConflict"))]
        if outcome[2][0] == "written":
            lost = self.spend(outcome[1], "conflict")
            ways.append(("done, and the answer is lost", lost, Raise("Throttled")))
        return ways

    def _write(self, state: State, op: Op) -> Outcome:
        _, job, before_row, after_row, _, words = op
        standing = state.jobs[job]
        rows = self.table.rows
        if not standing:
            return "lost", state, ("lost", 0)
        now, before, after = rows[standing], rows[before_row], rows[after_row]
        guarded = "unguarded" not in self.wrong
        if guarded and (now.version, now.incarnation) != (before.version, before.incarnation):
            if "same token" in self.wrong and self._mistaken(now, after):
                return "done already, says the table", state, ("written", standing)
            return "lost", state, ("lost", standing)
        slots = _seated(state.slots, job, before.slot, after.slot)
        if slots is None:
            return "slot taken", state, ("taken", 0)
        self._before.setdefault(after_row, set()).add(standing)
        state = self._put(state, job, after_row)._replace(slots=slots)
        if "publish" in words.split() and self.left(state, "publish"):
            kept = tuple(sorted({*state.memory.images, after_row}))
            state = state._replace(memory=state.memory._replace(images=kept))
        return "", state, ("written", after_row)

    def _mistaken(self, now: Any, after: Any) -> bool:
        """As DynamoDB takes two requests of one token for one."""
        mine = now.attempt is not None and after.attempt is not None and now.attempt.token == after.attempt.token
        return mine and now.version == after.version

    def _on_lost(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("lost", state, ("lost", state.jobs[op[1]]))]

    def _on_input(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        ways: list[Outcome] = [("", state, True)]
        if self.left(state, "no input"):
            ways.append(("it is not kept", self.spend(state, "no input"), False))
        return ways

    # -- provider's shared state

    def _on_provider(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, (state.slots, state.pause, state.room[0]))]

    def _on_waiting(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        places = sorted((row.wait, j) for j, n in enumerate(state.jobs) if n and (row := self.table.rows[n]).wait)
        found = tuple(job for _, job in places[: op[1]])
        ways: list[Outcome] = [("", state, found)]
        if found and self.left(state, "lag"):
            ways.append(("the index lags", self.spend(state, "lag"), found[:-1]))
        return ways

    def _on_save_pause(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, revision, after = op
        if not self.model.pauses:
            return [("", state, True)]
        standing = self.table.pauses[state.pause]
        if standing.revision != revision and "pause unguarded" not in self.wrong:
            return [("refused", state, False)]
        number = self.table.pause(replace(after, revision=standing.revision + 1, note=""))
        state = state._replace(pause=number)
        fault = misuse(standing, after, revision, proc)
        if fault:
            state = state._replace(memory=state.memory._replace(fault=fault))
        return [("", state, True)]

    def _on_raise_round(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state._replace(room=(max(state.room[0], op[1]), state.room[1])), None)]

    def _on_next_turn(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        at = sorted(set(self.model.tenants)).index(op[1])
        turn = max(op[2], state.room[1][at] + 1)
        return [("", self._turn(state, at, turn), turn)]

    def _on_give_back_turn(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        at = sorted(set(self.model.tenants)).index(op[1])
        return [("", self._turn(state, at, state.room[1][at] - 1), None)]

    def _turn(self, state: State, at: int, turn: int) -> State:
        last = state.room[1]
        return state._replace(room=(state.room[0], (*last[:at], turn, *last[at + 1 :])))

    def _on_bind(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, name, job = op
        holder = dict(state.memory.bound).get(name)
        if holder is None:
            kept = tuple(sorted((*state.memory.bound, (name, job))))
            return [("", state._replace(memory=state.memory._replace(bound=kept)), job)]
        return [("", state, job if "clash" in self.wrong else holder)]

    def _on_bound(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, dict(state.memory.bound).get(op[1]))]

    def _on_token(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        same = {"dispatch": "same token", "store": "same run", "client": "no incarnation"}.get(proc.kind)
        if same in self.wrong:
            return [("", state, ("token", "i0" if proc.kind == "client" else "w0"))]
        return [("", state, ("token", self.free_token(state)))]

    def free_token(self, state: State) -> str:
        raise NotImplementedError  # the engine knows who runs

    def _on_mail(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, None)]  # messages may come at any time anyway; a recovery keeps them


def _seated(slots: Slots, job: int, before: str | None, after: str | None) -> Slots | None:
    """The slot rows after a write that takes or gives back one; None where another job holds it."""
    if after and not before:
        holder = dict(slots).get(after)
        if holder is not None:
            return slots if holder == job else None
        return tuple(sorted((*slots, (after, job))))
    if before and not after:
        return tuple(row for row in slots if row != (before, job))
    return slots


def misuse(standing: Pause, after: Pause, revision: int, proc: Proc) -> str:
    """A pause that a person or a probe has to end is ended by another, or cut short."""
    if standing.reason is None or proc.kind == "operator":
        return ""
    if standing.reason is PauseReason.OPERATOR:
        return "an operator's pause is touched"
    probed = any(answer is True for answer, _ in proc.log)
    if after.reason is None:
        if standing.revision != revision:
            return "a newer pause is wiped by an older success"
        if standing.reason in PROBED and not probed:
            return "a pause that only a probe may end is ended by an answer from before it"
    elif after.until < standing.until:
        return "a pause is cut short"
    return ""
