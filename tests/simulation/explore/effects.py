"""What each call does to the world, and every way in which it may be answered; the healthy way comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mediajobs.jobs.states import TERMINAL
from mediajobs.pauses import PROBED, Pause, PauseReason
from tests.simulation.explore.model import Model
from tests.simulation.explore.state import CANCELED, LIVE, STATUS, SUCCEEDED, Paid, State, Table, Wired
from tests.simulation.explore.tape import Op, Proc, Raise

Outcome = tuple[str, State, Any]
NOTHING: tuple[str, str | None, str, str | None] = ("unavailable", None, "unknown", None)


class Effects:
    """The table, the provider and the rest of the outside, for one model."""

    def __init__(self, model: Model, table: Table, wrong: frozenset[str] = frozenset()) -> None:
        self.model, self.table = model, table
        self.kinds = tuple(sorted({**model.left, **model.long}))
        self._before: dict[int, set[int]] = {}  # for each row those that it has replaced: what a replica may still show
        self._wrong = wrong  # wrong readings of the outside, switched on one at a time
        self._ways: dict[str, Callable[[State, Op, Proc], list[Outcome]]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")
        }

    def perform(self, state: State, proc: Proc) -> list[Outcome]:
        return self._ways[proc.op[0]](state, proc.op, proc)

    def left(self, state: State, kind: str) -> int:
        return state.left[self.kinds.index(kind)] if kind in self.kinds else 0

    def spend(self, state: State, kind: str) -> State:
        at = self.kinds.index(kind)
        return state._replace(left=(*state.left[:at], state.left[at] - 1, *state.left[at + 1 :]))

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
        guarded = "unguarded" not in self._wrong
        if guarded and (now.version, now.incarnation) != (before.version, before.incarnation):
            if "same token" in self._wrong and self._mistaken(now, after):
                return "done already, says the table", state, ("written", standing)
            return "lost", state, ("lost", standing)
        slots = state.slots
        if after.slot and not before.slot:
            holder = dict(slots).get(after.slot)
            if holder is not None and holder != job:
                return "slot taken", state, ("taken", 0)
            if holder is None:
                slots = tuple(sorted((*slots, (after.slot, job))))
        elif before.slot and not after.slot:
            slots = tuple(row for row in slots if row != (before.slot, job))
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

    # -- provider's shared state

    def _on_provider(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, (state.slots, state.pause, state.room[0]))]

    def _on_waiting(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        places = sorted((row.wait, j) for j, n in enumerate(state.jobs) if n and (row := self.table.rows[n]).wait)
        found = tuple(job for _, job in places[: op[1]])
        ways: list[Outcome] = [("", state, found)]
        if self.model.lags and found and self.left(state, "lag"):
            ways.append(("the index lags", self.spend(state, "lag"), found[:-1]))
        return ways

    def _on_save_pause(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, revision, after = op
        if not self.model.pauses:
            return [("", state, True)]
        standing = self.table.pauses[state.pause]
        if standing.revision != revision and "pause unguarded" not in self._wrong:
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
        return [("", state, job if "clash" in self._wrong else holder)]

    def _on_bound(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, dict(state.memory.bound).get(op[1]))]

    def _on_token(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        same = {"dispatch": "same token", "store": "same run", "client": "no incarnation"}.get(proc.kind)
        if same in self._wrong:
            return [("", state, ("token", "i0" if proc.kind == "client" else "w0"))]
        return [("", state, ("token", self.free_token(state)))]

    def free_token(self, state: State) -> str:
        raise NotImplementedError  # the engine knows who runs

    def _on_mail(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", state, None)]  # messages may come at any time anyway; a recovery keeps them

    # -- the provider

    def _on_send(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, (job, incarnation, submission, digest), token = op
        wired = Wired(job, incarnation, submission, digest, state.now, token)
        return [("", state._replace(wire=tuple(sorted((*state.wire, wired)))), None)]

    def _on_answer(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        mine = next((wired for wired in state.wire if wired.token == op[1]), None)
        ways: list[Outcome] = []
        if mine is not None:
            after, name = self.accept(state, mine)
            ways.append((f"accepted as {name}", after, ("accepted", name, None)))
            handled = without(state, mine)
            kinds = {"refuse": "not_accepted", "wait": "not_accepted", "reject": "rejected", "block": "blocked"}
            for way in self.model.answers:
                said = (kinds[way], None, 120 if way == "wait" else None)
                ways.append((f"answers: {way}", handled, said))
        ways.append(("no answer", state, ("ambiguous", None, None)))
        return ways

    def accept(self, state: State, wired: Wired) -> tuple[State, str]:
        """The provider handles a request: the same key it still knows is the same job, else a new charge."""
        state = without(state, wired)
        traits = self.model.traits
        if traits.idempotent:
            for at, paid in enumerate(state.paid):
                same = (paid.job, paid.incarnation, paid.submission, paid.digest) == wired[:4]
                if same and state.now < paid.born + traits.key_life_s * 1000:
                    return state, f"p{at}"
        paid = Paid(*wired[:4], LIVE, state.now)
        return state._replace(paid=(*state.paid, paid)), f"p{len(state.paid)}"

    def _said(self, state: State, at: int) -> tuple[str, str, str, str | None]:
        from tests.simulation.explore.state import IDS

        paid = state.paid[at]
        echo = f"{IDS[paid.job]}.{paid.submission}.{paid.incarnation}" if self.model.echo else None
        return "word", f"p{at}", STATUS[paid.status], echo

    def _on_poll(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        at = int(op[1][1:]) if op[1].startswith("p") else -1
        if not 0 <= at < len(state.paid) or not state.paid[at].known:
            return [("unknown id", state, ("gone", None, "unknown", None))]
        said = self._said(state, at)
        ways: list[Outcome] = [(said[2], state, said)]
        if self.left(state, "404"):
            ways.append(("404 for once", self.spend(state, "404"), ("gone", None, "unknown", None)))
        if proc.kind == "store":
            ways.append(("no answer", state, NOTHING))
        return ways

    def _on_lookup(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        for at in reversed(range(len(state.paid))):
            if state.paid[at][:3] == op[1]:
                said = self._said(state, at)
                return [(said[2], state, said)]
        return [("absent", state, ("absent", None, "unknown", None))]

    def _on_cancel(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        at = int(op[1][1:])
        ended = self.end(state, at, CANCELED) if state.paid[at].status == LIVE else state
        said = self._said(ended, at)
        ways: list[Outcome] = [(said[2], ended, said)]
        if "later" in self.model.cancel_ways:
            ways.append(("canceled, and the answer is lost", ended, NOTHING))
            ways.append(("it does not care", state, NOTHING))
        return ways

    def end(self, state: State, at: int, status: int) -> State:
        paid = state.paid[at]._replace(status=status)
        return state._replace(paid=(*state.paid[:at], paid, *state.paid[at + 1 :]))

    # -- results and publication

    def _on_stream(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        ways: list[Outcome] = []
        contents = ("1", "2") if "same run" in self._wrong else ("",)
        for way in self.model.links:
            after = state
            if way == "bad":
                after = state._replace(memory=state.memory._replace(invalid=True))
            if way == "good":
                ways += [(way, after, f"good {proc.token}{content}") for content in contents]
            else:
                ways.append((way, after, way))
        return ways

    def _on_put(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        others = tuple(entry for entry in state.memory.objects if entry[0] != op[1])
        objects = tuple(sorted((*others, (op[1], op[2]))))
        return [("", state._replace(memory=state.memory._replace(objects=objects)), None)]

    def _on_delete(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        objects = tuple(entry for entry in state.memory.objects if entry[0] not in op[1])
        return [("", state._replace(memory=state.memory._replace(objects=objects)), None)]

    def _on_publish(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        _, name, job, _ = op
        sent = tuple(sorted({*state.memory.sent, (name, state.memory.generation[job])}))
        after = state._replace(memory=state.memory._replace(sent=sent))
        ways: list[Outcome] = [("", after, None)]
        if self.left(state, "conflict"):
            ways.append(("sent, and the answer is lost", self.spend(after, "conflict"), Raise("Retryable")))
        return ways

    # -- idempotency records

    def _on_begin(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        found = next((entry for entry in state.memory.once if entry[0] == op[1]), None)
        if found is not None and found[1] == "done":
            return [("done before", state, "done")]
        abandoned = found is not None and state.now >= found[2] + self.model.lives_ms(proc.kind)
        if found is not None and ("record for ever" in self._wrong or not abandoned):
            return [("a twin runs", state, "running")]
        return [("", self._record(state, op[1], "running"), "go")]

    def _on_end(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", self._record(state, op[1], "done"), None)]

    def _on_clear(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        return [("", self._record(state, op[1], None), None)]

    def _record(self, state: State, key: tuple[str, ...], status: str | None) -> State:
        once = tuple(entry for entry in state.memory.once if entry[0] != key)
        if status is not None:
            once = tuple(sorted((*once, (key, status, state.now if status == "running" else 0))))
        return state._replace(memory=state.memory._replace(once=once))


def without(state: State, wired: Wired) -> State:
    wire = list(state.wire)
    wire.remove(wired)
    return state._replace(wire=tuple(wire))


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


def over(state: State, table: Table) -> bool:
    """Every job has ended and is published."""
    return all(n == 0 or (table.rows[n].state in TERMINAL and table.rows[n].published_at) for n in state.jobs)


__all__ = ["SUCCEEDED", "Effects", "Outcome", "over", "without"]
