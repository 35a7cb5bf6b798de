"""The provider, the bucket, the topic and the idempotency records: what a call does, and how it may be answered.

The healthy way comes first.
"""

from __future__ import annotations

from typing import Any

from mediajobs.jobs.events import Status
from tests.simulation.explore.model import Model
from tests.simulation.explore.state import CANCELED, IDS, LIVE, STATUS, Paid, State, Table, Wired
from tests.simulation.explore.tape import Op, Proc, Raise

Outcome = tuple[str, State, Any]
NOTHING: tuple[str, str | None, str, str | None] = ("unavailable", None, Status.UNKNOWN, None)


class Outside:
    """What lies beyond the table, for one model. `wrong` names wrong readings of it, switched on one at a time."""

    def __init__(self, model: Model, table: Table, wrong: frozenset[str] = frozenset()) -> None:
        self.model, self.table, self.wrong = model, table, wrong
        self.kinds = tuple(sorted({**model.left, **model.long}))
        self.spent: set[str] = set()

    def left(self, state: State, kind: str) -> int:
        return state.left[self.kinds.index(kind)] if kind in self.kinds else 0

    def spend(self, state: State, kind: str) -> State:
        at = self.kinds.index(kind)
        self.spent.add(kind)
        return state._replace(left=(*state.left[:at], state.left[at] - 1, *state.left[at + 1 :]))

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
        if self.left(state, "odd"):
            ways.append(("a word that says nothing", self.spend(state, "odd"), ("word", said[1], "unknown", said[3])))
        if proc.kind == "store":
            ways.append(("no answer", state, NOTHING))
        return ways

    def _on_lookup(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        found = [at for at in reversed(range(len(state.paid))) if state.paid[at][:3] == op[1]]
        said = self._said(state, found[0]) if found else ("absent", None, "unknown", None)
        ways: list[Outcome] = [(said[2] if found else "absent", state, said)]
        if self.left(state, "mixed"):
            others = [at for at in range(len(state.paid)) if at not in found]
            mixed = self.spend(state, "mixed")
            ways += [(f"another job's p{at}", mixed, self._said(state, at)) for at in others]
        return ways

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
        contents = ("1", "2") if "same run" in self.wrong else ("",)
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
        if self.left(state, "refused"):
            ways.append(("refused by the topic", self.spend(state, "refused"), Raise("Retryable")))
        return ways

    # -- idempotency records

    def _on_begin(self, state: State, op: Op, proc: Proc) -> list[Outcome]:
        found = next((entry for entry in state.memory.once if entry[0] == op[1]), None)
        if found is not None and found[1] == "done":
            return [("done before", state, "done")]
        abandoned = found is not None and state.now >= found[2] + self.model.lives_ms(proc.kind)
        if found is not None and ("record for ever" in self.wrong or not abandoned):
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
