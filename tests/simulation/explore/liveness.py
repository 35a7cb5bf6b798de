"""Which variables a piece of code may still read after a place in it: liveness, as compilers compute it."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any

_ENDS = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD")


class Liveness:
    """Learns each piece of code once. What is not plainly a read or a write of a variable counts as neither."""

    def __init__(self) -> None:
        self._known: dict[CodeType, dict[int, frozenset[str]]] = {}
        self._loops: dict[CodeType, list[tuple[int, int]]] = {}

    def after(self, code: CodeType, offset: int) -> frozenset[str]:
        """The names that may be read once the instruction at `offset`, which may also raise, is done."""
        if code not in self._known:
            self._known[code] = _solved(code)
        known = self._known[code]
        return known[self._place(known, offset)]

    def in_loop(self, code: CodeType, offset: int) -> bool:
        """It stands in a `for`, whose place in what it goes through no variable shows."""
        if code not in self._loops:
            steps = dis.get_instructions(code)
            self._loops[code] = [(step.offset, step.argval) for step in steps if step.opname == "FOR_ITER"]
        return any(start < offset < end for start, end in self._loops[code])

    def _place(self, known: dict[int, frozenset[str]], offset: int) -> int:
        while offset not in known:
            offset -= 2  # a call in progress points into what the interpreter keeps behind the instruction
        return offset


def _solved(code: CodeType) -> dict[int, frozenset[str]]:
    steps = list(dis.get_instructions(code))
    places = {step.offset: number for number, step in enumerate(steps)}
    follows = [_follows(steps, number, places) for number in range(len(steps))]
    for start, end, target in _handlers(code):
        for number, step in enumerate(steps):
            if start <= step.offset < end:
                follows[number].append(places[target])
    before: list[frozenset[str]] = [frozenset()] * len(steps)
    behind = list(before)
    shared = frozenset(code.co_cellvars) | frozenset(code.co_freevars)  # inner functions may read them at any time
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(steps))):
            reads, writes = _touched(steps[number])
            behind[number] = shared.union(*(before[after] for after in follows[number]))
            now = (behind[number] - writes) | reads
            if now != before[number]:
                before[number], changed = now, True
    return {step.offset: behind[number] for number, step in enumerate(steps)}


def _follows(steps: list[dis.Instruction], number: int, places: dict[int, int]) -> list[int]:
    step = steps[number]
    after = [] if step.opname.startswith(_ENDS) or number + 1 == len(steps) else [number + 1]
    if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
        after.append(places[step.argval])
    return after


def _handlers(code: CodeType) -> list[tuple[int, int, int]]:
    parse: Any = getattr(dis, "_parse_exception_table")  # noqa: B009 the only reader of the table there is
    return [(entry.start, entry.end, entry.target) for entry in parse(code)]


def _touched(step: dis.Instruction) -> tuple[frozenset[str], frozenset[str]]:
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    reads = frozenset(names) if "LOAD_FAST" in step.opname else frozenset()
    writes = frozenset(names) if step.opname in ("STORE_FAST", "DELETE_FAST") else frozenset()
    return reads, writes
