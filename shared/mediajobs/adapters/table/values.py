"""DynamoDB attribute values: text, bytes, whole numbers, lists and maps. No Decimal leaves here, no float enters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Value = Mapping[str, Any]  # one attribute in DynamoDB's own form, such as {"S": "text"}
Item = Mapping[str, Value]


def encode(value: object) -> dict[str, Any]:
    """`value` in DynamoDB's form. A float is refused: it would not come back as it went."""
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, list | tuple):
        return {"L": [encode(part) for part in value]}
    if isinstance(value, Mapping):
        return {"M": {name: encode(part) for name, part in value.items()}}
    raise TypeError(f"{type(value).__name__} does not belong in the table")


def decode(value: Value) -> Any:
    """The Python value of one attribute that `encode` wrote."""
    kind, content = next(iter(value.items()))
    if kind == "N":
        return int(content)
    if kind == "L":
        return [decode(part) for part in content]
    if kind == "M":
        return {name: decode(part) for name, part in content.items()}
    if kind in ("S", "B", "BOOL"):
        return content
    raise TypeError(f"an attribute of kind {kind} was not written here")


def encoded(attributes: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Every attribute encoded; those that are None are left out."""
    return {name: encode(value) for name, value in attributes.items() if value is not None}


def decoded(item: Item) -> dict[str, Any]:
    """Every attribute decoded."""
    return {name: decode(value) for name, value in item.items()}


def size(item: Item) -> int:
    """Bytes as DynamoDB counts them: a write costs one unit for each 1,024 begun."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value: Value) -> int:
    kind, content = next(iter(value.items()))
    if kind in ("S", "B"):
        return len(content.encode() if kind == "S" else content)
    if kind == "N":
        digits = len(content.lstrip("-").rstrip("0"))
        return (digits + 1) // 2 + (2 if content.startswith("-") else 1)
    if kind == "L":
        return 3 + sum(1 + _size(part) for part in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _size(part) for name, part in content.items())
    return 1
