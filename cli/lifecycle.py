"""Write docs/lifecycle.md from the code: the state diagram, the states' comments and every row of the table.

python -m cli.lifecycle            write it
python -m cli.lifecycle --check    say whether the kept one still tells the truth
"""

import inspect
import re
import sys
from collections.abc import Iterable, Sequence

from cli.kept import DOCS, command
from mediajobs.jobs import states
from mediajobs.jobs.decide import TABLE
from mediajobs.jobs.rules import Rule
from mediajobs.jobs.states import OPEN, PUBLIC_STATUS, RANK, TERMINAL, Reason, State

KEPT = DOCS / "lifecycle.md"

HEAD = """\
# Lifecycle of a job

Written by `python -m cli.lifecycle` from `shared/mediajobs/jobs/`; a test compares the two.

A **transition** changes the state and strictly raises its rank, so late, repeated and reordered events are harmless.
A **note** changes fields and never the state. Both raise `version` by one and are written only under the version read,
together with the job's slot row where that changes. `decide(job, event, now, traits)` asks the rows for the job's state
and the event's kind in the order below; the first whose condition holds speaks, and the last of each has none.
"""

ASKED: dict[Reason, tuple[str, str]] = {
    Reason.AMBIGUOUS_SUBMISSION: (
        "an attempt's fate is unknown and cannot safely be tried again",
        "adopt, resubmit (may charge again), fail",
    ),
    Reason.OVERDUE: (
        "past the expected time by a factor; polls go on, and the slot stays unless the provider's word says nothing",
        "wait, fail",
    ),
    Reason.PROVIDER_LOST: ("the provider does not know the id, several times", "adopt, fail"),
    Reason.RESULT_UNAVAILABLE: ("no link serves and the provider has none", "retry, fail"),
    Reason.DEAD_LETTER: ("a step failed five times for a reason of ours", "retry, fail (an ended job: retry)"),
}


def text() -> str:
    """The whole document."""
    parts = [HEAD, "## Diagram", _diagram(), "## States", _states(), "## Questions", _questions(), "## Rows", _rows()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _diagram() -> str:
    """One arrow per pair of states, with the rows that draw it."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for rule in TABLE:
        if rule.to is not None:
            for state in _ordered(rule.states):
                arrows.setdefault((state, rule.to), []).append(rule.row)
    lines = ["stateDiagram-v2", "    [*] --> pending: submit"]
    for state, to in sorted(arrows, key=lambda pair: (RANK[pair[0]], list(State).index(pair[1]))):
        lines.append(f"    {state} --> {to}: {', '.join(arrows[state, to])}")
    lines += [f"    {state} --> [*]: published" for state in _ordered(TERMINAL)]
    return "```mermaid\n" + "\n".join(lines) + "\n```\n\nThe words on the arrows are rows of the table below."


def _states() -> str:
    comments = comments_of_states()
    lines = ["| state | rank | public status | put there, left, after a crash |", "|---|---|---|---|"]
    lines += [f"| `{state}` | {RANK[state]} | {PUBLIC_STATUS[state]} | {comments[state]} |" for state in State]
    return "\n".join(lines)


def comments_of_states() -> dict[State, str]:
    """What stands above each state in the code; one comment may speak for several."""
    found: dict[State, str] = {}
    comment: list[str] = []
    fresh = True
    for line in inspect.getsource(states.State).splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment = [*([] if fresh else comment), stripped.lstrip("# ")]
            fresh = False
        elif match := re.match(r"([A-Z]+) = ", stripped):
            found[State[match[1]]] = " ".join(comment)
            fresh = True
    return found


def _questions() -> str:
    lines = [
        "An open question (`attention`) stops automatic submission, never polling; evidence or a person answers it.",
        "",
        "| reason | asked when | a person may say |",
        "|---|---|---|",
    ]
    lines += [f"| `{reason}` | {when} | {words} |" for reason, (when, words) in ASKED.items()]
    return "\n".join(lines)


def _rows() -> str:
    lines = ["| row | from | event | condition in words | then |", "|---|---|---|---|---|"]
    lines += [
        f"| {rule.row} | {_from(rule.states)} | {rule.event.__name__} | {_safe(rule.says)} | {_then(rule)} |"
        for rule in TABLE
    ]
    return "\n".join(lines)


def _from(where: frozenset[State]) -> str:
    for name, known in (("any", frozenset(State)), ("any open", OPEN), ("any ended", TERMINAL)):
        if where == known:
            return name
    return ", ".join(_ordered(where))


def _then(rule: Rule) -> str:
    if rule.to is not None:
        return f"**{rule.to}**"
    return f"ignored: {rule.why}" if rule.effect is None else "note"


def _ordered(where: Iterable[State]) -> list[State]:
    return [state for state in State if state in where]


def _safe(words: str) -> str:
    return words.replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    return command("cli.lifecycle", KEPT, text, again="python -m cli.lifecycle", arguments=arguments)


if __name__ == "__main__":
    sys.exit(main())
