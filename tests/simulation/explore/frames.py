"""Where a stopped invocation stands, as a value: two that stand alike do the same from here on.

It is read from the stack: for each frame the place in its code, and those of its variables that code from there on may
still read. What this cannot express is taken as different from everything else, and the machine tries what it took as
alike with the same answer: a mistake here ends the exploration.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from mediajobs.jobs.model import Job
from mediajobs.steps.apply import apply
from mediajobs.steps.dispatch import _record_on_provider
from tests.simulation.explore.liveness import Liveness
from tests.simulation.explore.state import Table

_TRIES = frozenset({apply.__code__, _record_on_provider.__code__})
_PLAIN = (str, int, bytes, float, type(None), Enum)


class Frames:
    """Reads stacks; what it has learned of a piece of code is kept."""

    def __init__(self, table: Table, singles: tuple[object, ...]) -> None:
        self._table = table
        self._singles = {id(single): name for name, single in enumerate(singles)}
        self._live = Liveness()
        self._fields: dict[type, tuple[str, ...]] = {}
        self._unlike = 0
        self._log: Any = ()

    def read(self, frame: FrameType, last: CodeType, log: Any, *, refused: bool = False) -> tuple[Any, ...]:
        """The stack from `frame` up to the code `last`. `refused`: it waits for a write that is bound to be lost."""
        self._log = log
        stack: list[Any] = []
        current: FrameType | None = frame
        while current is not None and current.f_code is not last:
            stack.append(self._frame(current, refused=refused))
            current = current.f_back
        return tuple(stack)

    def _frame(self, frame: FrameType, *, refused: bool) -> tuple[Any, ...]:
        code, values = frame.f_code, frame.f_locals
        names = sorted(self._live.after(code, frame.f_lasti))
        if refused and code is apply.__code__:
            # A lost write hands over the row as it is; of the one before only its incarnation is read again.
            kept = tuple(self._value(values[name]) for name in ("event", "traits", "seat"))
            return (code, frame.f_lasti, values["job"].incarnation, *kept)
        # What a loop still has before it is told by the whole history; the tries of these two count for nothing.
        history = self._log if code not in _TRIES and self._live.in_loop(code, frame.f_lasti) else ()
        return (code, frame.f_lasti, history, *(self._value(values[name]) for name in names if name in values))

    def _value(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, Job):
            return Job, self._table.row(value)
        name = self._singles.get(id(value))
        if name is not None:
            return object, name
        if isinstance(value, (tuple, list)):
            return (type(value), *(self._value(part) for part in value))
        names = self._fields.get(type(value))
        if names is None and is_dataclass(value) and not isinstance(value, type):
            names = self._fields[type(value)] = tuple(field.name for field in fields(value))
        if names is not None:
            return (type(value), *[self._value(getattr(value, name)) for name in names])
        return self._callable(value) or self._other(value)

    def _callable(self, value: Any) -> Any:
        if isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            given = list(value.__defaults__ or ()) + list((value.__kwdefaults__ or {}).values())
            return (value.__code__, *(self._value(part) for part in (*cells, *given)))
        if isinstance(value, MethodType):
            return value.__func__, self._value(value.__self__)
        return value if isinstance(value, (type, CodeType)) else None

    def _other(self, value: Any) -> Any:
        if isinstance(value, dict):
            return (dict, *((self._value(key), self._value(part)) for key, part in value.items()))
        if type(value).__name__.endswith("_iterator"):
            return (type(value), *(self._value(part) for part in value.__reduce__()[1:]))
        if isinstance(value, bytearray):
            return bytearray, bytes(value)
        if isinstance(value, BaseException):
            return type(value), str(value)
        if type(value).__module__.startswith(("mediajobs.", "tests.simulation.explore")) and hasattr(value, "__dict__"):
            return (type(value), *((name, self._value(part)) for name, part in sorted(vars(value).items())))
        self._unlike += 1
        return "unlike", self._unlike
