"""The moves of one model: invocations begin and go on, the provider works, time passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from mediajobs.jobs.birth import new_job
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from tests.simulation.explore.effects import Effects
from tests.simulation.explore.frames import Frames
from tests.simulation.explore.invariants import Invariants
from tests.simulation.explore.model import Model
from tests.simulation.explore.ports import Watch, world_of
from tests.simulation.explore.restoring import Restoring
from tests.simulation.explore.runs import RUNS
from tests.simulation.explore.spawns import Spawns
from tests.simulation.explore.state import BASE, IDS, LIVE, STATUS, SUCCEEDED, Memory, State, Table
from tests.simulation.explore.tape import Machine, Proc, Run, Tape


@dataclass(frozen=True, slots=True)
class Move:
    """One step of the world; `bad` names the invariant that its write breaks."""

    label: tuple[Any, ...]
    after: State
    bad: str | None = None


class Engine(Effects):
    """The product's steps in the world of one model, `wrong` readings of the outside and other runs put in."""

    def __init__(
        self, model: Model, *, wrong: frozenset[str] = frozenset(), runs: dict[str, Run] | None = None
    ) -> None:
        super().__init__(model, Table(), wrong)
        tape, self.watch = Tape(), Watch()
        traits = model.traits if "key for ever" not in wrong else replace(model.traits, key_life_s=10**8)
        self.world = world_of(
            tape,
            self.table,
            self.watch,
            traits=traits,
            limit=model.limit,
            kept=model.kept,
            rotates_at=None if model.rotates_s is None else BASE + model.rotates_s * 1000,
            trusts_progress="in progress is done" in wrong,
            loses_input="no input" in self.kinds,
            says_where=model.says_where,
        )
        frames = Frames(self.table, (self.world, *vars_of(self.world), tape, self.table, traits))
        self.machine = Machine(tape, self.world, {**RUNS, **(runs or {})}, frames)
        self.invariants = Invariants(model, self.table)
        self._grid = tuple(BASE + seconds * 1000 for seconds in model.grid)
        self._fine = model.fine if model.pauses else model.fine - {"save_pause"}
        self._guarded = not wrong & {"unguarded", "same token"}
        self._spawns = Spawns(self)
        self._restoring = Restoring(self)

    def first(self) -> State:
        jobs = tuple(self.table.row(self.new_job(j, f"i{j}")) for j in range(len(self.model.tenants)))
        tenants = len(set(self.model.tenants))
        state = State(
            now=self._grid[0],
            jobs=jobs if self.model.born else (0,) * len(jobs),
            slots=(),
            pause=0,
            room=(0, (-1,) * tenants),
            paid=(),
            wire=(),
            procs=(),
            left=tuple(self.model.left.get(kind, 0) for kind in self.kinds),
            memory=Memory(generation=(0,) * len(jobs)),
        )
        for happened in self.model.prelude:
            state = self._happens(state, happened)
        return state

    def _happens(self, state: State, what: str) -> State:
        """What has gone well before the model begins."""
        if what == "ends":
            return self.end(state, 0, SUCCEEDED)
        if what == "later":
            return self.at(state, next(now for now in self._grid if now > state.now))
        what, _, number_of_job = what.partition("#")
        job = int(number_of_job or 0)
        told = {"unheard": ("ambiguous", None, None), "blocked": ("blocked", None, None)}.get(what)
        what = what if told is None else "dispatch"
        said = (0, "i0", 1, f"p0 {STATUS[state.paid[0].status]}") if state.paid else ()
        args = {"dispatch": (job, "submit"), "webhook": said}.get(what, (job,))
        number = self.machine.start(what, args, state.now)
        while number:
            proc = self.machine.proc(number)
            ways = self.perform(state, proc)
            _, state, answer = ways[0]
            if proc.op[0] == "answer" and told is not None:
                # "unheard" is accepted, and the answer is lost; "blocked" is what the provider says.
                _, state, answer = next((way for way in ways if way[2] == told and "no answer" not in way[0]), ways[0])
                answer = told
            number = self.machine.resume(number, answer, state.now)
        return state

    def new_job(self, number: int, incarnation: str) -> Job:
        return new_job(
            job_id=IDS[number],
            tenant=self.model.tenants[number],
            provider="sim",
            model="m",
            payload_digest=b"\0" * 32,
            incarnation=incarnation,
            start_within_s=self.model.start_within_s,
            traits=self.model.traits,
            now=self._grid[0],
        )

    def free_token(self, state: State) -> str:
        """A token that nobody in this world has: the same one in worlds that differ in nothing else."""
        used = {self.machine.proc(number).token for number in state.procs} | {wired.token for wired in state.wire}
        rows = self.table.rows
        used |= {attempt.token for n in state.jobs if n and (attempt := rows[n].attempt) is not None}
        used |= {rows[n].incarnation for n in state.jobs if n} | {paid.incarnation for paid in state.paid}
        used |= {key.split("/")[3] for key, _ in state.memory.objects}
        used |= {name.split("-")[1] for name, _ in state.memory.sent}
        return next(token for number in range(99) if (token := f"w{number}") not in used)

    # -- moves

    def moves(self, state: State) -> Iterator[Move]:
        yield from self._steps(state)
        yield from self._spawns.moves(state)
        yield from self._provider(state)
        yield from self._time(state)

    def _steps(self, state: State) -> Iterator[Move]:
        last = -1
        for number in state.procs:
            if number != last:
                yield from self.step(state, number)
            last = number

    def step(self, state: State, number: int) -> Iterator[Move]:
        """One call of one invocation, answered in every way."""
        rest = list(state.procs)
        rest.remove(number)
        bare = state._replace(procs=tuple(rest))
        proc = self.machine.proc(number)
        for note, done, answer in self.perform(bare, proc):
            bad, after = None, done
            if proc.op[0] == "write" and _stands(answer):
                bad = self.invariants.write(bare.jobs[proc.op[1]], answer[1])
                after = self._outdated(done, proc.op[1])
            moved = self.machine.resume(number, answer, state.now)
            yield Move(("step", number, note), self.put(after, moved), bad)

    def put(self, state: State, number: int) -> State:
        """The world with this invocation, taken on to its next call between which others may come."""
        while number:
            proc = self.machine.proc(number)
            if proc.op[0] in self._fine:
                if proc.op[0] == "write" and self._is_lost(state, proc):
                    number = self.machine.refused(number)
                return state._replace(procs=tuple(sorted((*state.procs, number))))
            _, state, answer = self.perform(state, proc)[0]
            number = self.machine.resume(number, answer, state.now)
        return state

    def _is_lost(self, state: State, proc: Proc) -> bool:
        """The row that it would replace is no longer there, and never comes back."""
        standing = state.jobs[proc.op[1]]
        now, before = self.table.rows[standing], self.table.rows[proc.op[2]]
        return self._guarded and (
            not standing or (now.version, now.incarnation) != (before.version, before.incarnation)
        )

    def _outdated(self, state: State, job: int) -> State:
        """The world after a write to this job: whoever was about to write it too has lost already."""
        procs = []
        for number in state.procs:
            proc = self.machine.proc(number)
            lost = proc.op[0] == "write" and proc.op[1] == job and self._is_lost(state, proc)
            procs.append(self.machine.refused(number) if lost else number)
        return state._replace(procs=tuple(sorted(procs)))

    def _provider(self, state: State) -> Iterator[Move]:
        for wired in dict.fromkeys(state.wire):
            after, name = self.accept(state, wired)
            yield Move(("accepts unheard", wired[0], wired[2], name), after)
        for at, paid in enumerate(state.paid):
            if paid.status == LIVE:
                for status in self.model.ends:
                    yield Move(("ends", at, status), self.end(state, at, status))
            if paid.known and self.model.loses:
                forgotten = (*state.paid[:at], paid._replace(known=False), *state.paid[at + 1 :])
                yield Move(("forgets", at), state._replace(paid=forgotten))
        yield from self._ttl(state)
        yield from (Move(label, after) for label, after in self._restoring.moves(state))

    def _ttl(self, state: State) -> Iterator[Move]:
        if not self.model.clears:
            return
        for job, number in enumerate(state.jobs):
            row = self.table.rows[number]
            if number and row.state in TERMINAL and row.published_at is not None:
                jobs = (*state.jobs[:job], 0, *state.jobs[job + 1 :])
                generation = state.memory.generation
                generation = (*generation[:job], generation[job] + 1, *generation[job + 1 :])
                memory = state.memory._replace(generation=generation)
                yield Move(("ttl", job), state._replace(jobs=jobs, memory=memory))

    def _time(self, state: State) -> Iterator[Move]:
        later = self.next_time(state, state.now + 1)
        if later is not None:
            yield Move(("time", (later - BASE) // 1000), self.at(state, later))

    def next_time(self, state: State, least: int) -> int | None:
        """The next moment at which the world may stand, not before `least`."""
        later = next((now for now in self._grid if now >= least), None)
        return later if later is not None and self._may_pass(state, later) else None

    def _may_pass(self, state: State, now: int) -> bool:
        """No provider job lives beyond max run, unless the model says so."""
        most = self.model.traits.max_run_s * 1000
        return self.model.overruns or not any(p.status == LIVE and now >= p.born + most for p in state.paid)

    def at(self, state: State, now: int) -> State:
        """The world at a later time: invocations have been cut by their timeout, and requests on the wire with them."""
        procs = tuple(number for number in state.procs if self._lives(self.machine.proc(number), now))
        wire = tuple(wired for wired in state.wire if now - wired.sent <= self.model.lives_ms("dispatch"))
        return state._replace(now=now, procs=procs, wire=wire)

    def _lives(self, proc: Proc, now: int) -> bool:
        return now - proc.born <= self.model.lives_ms(proc.kind)


def vars_of(world: Any) -> tuple[object, ...]:
    """The parts of the world, each of which there is but one of."""
    return tuple(getattr(world, field.name) for field in fields(world))


def _stands(answer: Any) -> bool:
    return type(answer) is tuple and answer[0] == "written"
