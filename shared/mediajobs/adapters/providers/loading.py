"""Reads `providers.toml`: every error names file, table and field and says what to write there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from mediajobs.adapters.providers.checks import Fault, faults
from mediajobs.adapters.providers.config import Configuration
from mediajobs.adapters.providers.presets import complete
from mediajobs.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_TYPES = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "finite_number": "must be a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "must be more than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
}
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def load(text: str, file: str = "providers.toml") -> Configuration:
    """The configuration in `text`; raises ConfigurationError with one line for each fault."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise ConfigurationError(f"{file}: is not TOML: {fault}") from None
    data, found = complete(data)
    try:
        configuration = Configuration.model_validate(data)
    except ValidationError as error:
        found += [_fault(details) for details in error.errors(include_url=False)]
    else:
        found += faults(configuration)
        if not found:
            return configuration
    raise ConfigurationError("\n".join(_line(file, fault) for fault in found))


def _line(file: str, fault: Fault) -> str:
    table = ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in fault.table)
    return f"{file}: [{table}] {fault.field}: {fault.text}" if table else f"{file}: {fault.field}: {fault.text}"


def _fault(details: ErrorDetails) -> Fault:
    """One fault of pydantic's in plain words, at the table and field a reader of the file looks for."""
    names = [part for part in details["loc"] if part != "[key]"]
    while names and isinstance(names[-1], int):
        names.pop()
    *table, field = [str(name) for name in names] or ["providers"]
    return Fault(tuple(table), field, _text(details, [*table, field]))


def _text(details: ErrorDetails, names: list[str]) -> str:
    kind, given = details["type"], details["input"]
    if kind == "extra_forbidden":
        known = ", ".join(sorted(_fields(_at(names[:-1]))))
        return f"is no setting; this table has: {known}"
    wanted = _described(names)
    if kind == "missing":
        return f"is missing; it is {wanted}" if wanted else "is missing"
    text = f"{_wrong(kind, details.get('ctx', {}))}, not {_shown(given)}"
    return f"{text}; it is {wanted}" if wanted and kind != "literal_error" else text


def _wrong(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"{words} {context[bound]:g}"
    if kind == "literal_error":
        return f"must be {str(context['expected']).replace(chr(39), chr(34))}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_too_short":
        return "must not be empty"
    return "has a form that cannot be used"


def _shown(value: object) -> str:
    """The value as TOML has it, and no more of it than finds it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _described(names: list[str]) -> str:
    model = _at(names[:-1])
    field = _fields(model).get(names[-1])
    return field or ""


def _fields(model: type[BaseModel] | None) -> dict[str, str]:
    if model is None:
        return {}
    return {name: field.description or "" for name, field in model.model_fields.items()}


def _at(names: list[str]) -> type[BaseModel] | None:
    """The model of the table at this place; None inside a table of free names."""
    model: type[BaseModel] | None = Configuration
    free: Any = None  # what a table of free names holds, once inside one
    for name in names:
        annotation = free if model is None else model.model_fields[name].annotation if name in _fields(model) else None
        model = next(_models(annotation), None)
        free = get_args(annotation)[1] if _is_dict(annotation) else None
        if free is not None:
            model = None
    return model


def _is_dict(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif not _is_dict(annotation):
        for part in get_args(annotation):
            yield from _models(part)
