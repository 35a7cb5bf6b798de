"""Write docs/event.schema.json from the code: what the topic's messages and callbacks hold.

python -m cli.event_schema            write it
python -m cli.event_schema --check    say whether the kept one still tells the truth

It leaves out `additionalProperties`: fields may be added under the same schema_version, and consumers pass them over.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mediajobs.api.answers import Event
from mediajobs.views import SCHEMA_VERSION

_CLOSED = ("additionalProperties", False)
KEPT = Path(__file__).resolve().parent.parent / "docs" / "event.schema.json"


def document() -> dict[str, Any]:
    """The schema, JSON Schema 2020-12."""
    schema: dict[str, Any] = _open(Event.model_json_schema(by_alias=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:mediajobs:event:{SCHEMA_VERSION}",
        **schema,
    }


def text() -> str:
    """The file's content."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _open(node: Any) -> Any:
    """The same without a word on fields that are not named."""
    if isinstance(node, dict):
        return {name: _open(value) for name, value in node.items() if (name, value) != _CLOSED}
    return [_open(value) for value in node] if isinstance(node, list) else node


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.event_schema", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the kept file differs")
    if not parser.parse_args().check:
        KEPT.write_text(text(), encoding="utf-8")
        print(f"wrote {KEPT.name}")
        return 0
    if not KEPT.exists() or KEPT.read_text(encoding="utf-8") != text():
        print(f"{KEPT.name} is not what the code says; run: make openapi", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
