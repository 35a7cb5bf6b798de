"""Write docs/event.schema.json from the code: what the topic's messages and callbacks hold.

python -m cli.event_schema            write it
python -m cli.event_schema --check    say whether the kept one still tells the truth

It leaves out `additionalProperties`: fields may be added under the same schema_version, and consumers pass them over.
"""

import json
import sys
from typing import Any

from cli.kept import DOCS, command
from mediajobs.api.answers import Event
from mediajobs.views import SCHEMA_VERSION

_CLOSED = ("additionalProperties", False)
KEPT = DOCS / "event.schema.json"


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
    return command("cli.event_schema", KEPT, text, again="make openapi")


if __name__ == "__main__":
    sys.exit(main())
