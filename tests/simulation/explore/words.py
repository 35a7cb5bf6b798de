"""A trace in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.explore.state import STATUS

if TYPE_CHECKING:
    from tests.simulation.explore.engine import Engine


def told(engine: Engine, label: tuple[Any, ...]) -> str:
    """One step of the world as a line."""
    kind = label[0]
    if kind == "step":
        return _step(engine, label[1], label[2])
    if kind == "begin" and label[1] == "person":
        return "a person decides: job {}, {} the question of version {} {}".format(*label[2])
    if kind == "begin":
        return " ".join((label[1], *(str(part) for part in label[2]), "begins and reads", label[3])).rstrip()
    if kind == "time":
        return f"time is {label[1]} s"
    if kind == "accepts unheard":
        return f"the provider accepts job {label[1]}, submission {label[2]}, as {label[3]}; nobody hears it"
    if kind == "ends":
        return f"the provider's p{label[1]} is {STATUS[label[2]]}"
    return " ".join(str(part) for part in label)


def _step(engine: Engine, number: int, note: str) -> str:
    proc = engine.machine.proc(number)
    who = f"{proc.kind} {' '.join(str(part) for part in proc.args)}{' ' + proc.token if proc.token else ''}"
    op = proc.op
    what = op[0]
    if what == "write":
        after = engine.table.rows[op[3]]
        what = f"writes row {op[4]}: job {op[1]} {after.state} v{after.version}"
        what += f" slot {after.slot}" if after.slot else ""
        what += f" attention {after.attention.reason}" if after.attention else ""
        what += " unsettled" if after.unsettled else ""
    elif what == "send":
        what = f"sends (submission {op[1][2]})"
    elif what == "save_pause":
        what = f"saves pause {op[2].reason} until {op[2].until}"
    elif len(op) > 1:
        what += f" {op[1]}"
    return f"{who} {what}" + (f": {note}" if note else "")
