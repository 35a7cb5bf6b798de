"""Which of the costly packages a function has loaded, and which of the product's edges."""

from __future__ import annotations

from collections.abc import Iterable

_POWERTOOLS = "aws_lambda_powertools"
# What takes tens of milliseconds of a cold start, or must not be there at all, by a short name.
COSTLY = {
    "boto3": "boto3",
    "pydantic": "pydantic",
    "requests": "requests",
    "jmespath": "jmespath",
    "cryptography": "cryptography",
    "xray": "aws_xray_sdk",
    "event_handler": f"{_POWERTOOLS}.event_handler",
    "batch": f"{_POWERTOOLS}.utilities.batch",
    "idempotency": f"{_POWERTOOLS}.utilities.idempotency",
    "parameters": f"{_POWERTOOLS}.utilities.parameters",
    "parser": f"{_POWERTOOLS}.utilities.parser",
}
_PROVIDERS = "mediajobs.adapters.providers."
_EDGES = "mediajobs.api."
_SHARED_EDGES = frozenset({"edge", "keys", "bodies", "problems", "routes", "schemas", "answers"})


def costly(modules: Iterable[str]) -> frozenset[str]:
    """The short names of the costly packages among these modules."""
    loaded = frozenset(modules)
    return frozenset(name for name, module in COSTLY.items() if module in loaded)


def edges(modules: Iterable[str]) -> frozenset[str]:
    """The edges of functions among these modules."""
    names = {name.removeprefix(_EDGES) for name in modules if name.startswith(_EDGES)}
    return frozenset(names - _SHARED_EDGES)


def adapters(modules: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Those of the named provider adapters that are among these modules."""
    loaded = frozenset(modules)
    return frozenset(name for name in names if f"{_PROVIDERS}{name}" in loaded)


def steps(modules: Iterable[str]) -> frozenset[str]:
    """The steps among these modules."""
    start = "mediajobs.steps."
    return frozenset(name.removeprefix(start) for name in modules if name.startswith(start))
