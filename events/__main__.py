"""Compare the files of events/ with what the generator makes, or write them: python -m events [--write]."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from events import cases_flow, cases_notify, cases_people, cases_uploads, cases_webhook
from events.case import Case
from events.env import laptop

FOLDER = Path(__file__).resolve().parent


def cases() -> Iterator[Case]:
    for make in (
        cases_people.authorize,
        cases_people.submit,
        cases_uploads.submit,
        cases_people.jobs,
        cases_uploads.jobs,
        cases_webhook.webhook,
        cases_flow.relay,
        cases_flow.dispatch,
        cases_uploads.dispatch,
        cases_flow.store,
        cases_flow.reconcile,
        cases_notify.notify,
    ):
        yield from make()


def files() -> dict[str, str]:
    """Every file by its path inside events/."""
    made = {f"{case.path}.json": _text(case.event) for case in cases()}
    made["expected.json"] = _text({case.path: case.expected() for case in cases()})
    made["env.json"] = _text(laptop())
    return made


def found() -> dict[str, str]:
    """Every file that is there."""
    return {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.json")}


def _text(document: Any) -> str:
    return json.dumps(document, indent=2) + "\n"


def _write(made: dict[str, str]) -> None:
    for name in found().keys() - made.keys():
        (FOLDER / name).unlink()
    for name, text in made.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m events", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    made, standing = files(), found()
    differing = sorted(name for name in made.keys() | standing.keys() if made.get(name) != standing.get(name))
    if parser.parse_args().write:
        _write(made)
        print(f"events: {len(made)} files, {len(differing)} changed")
        return 0
    for name in differing:
        print(f"events/{name} is not what the generator makes; run: python -m events --write", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
