"""The vendors' own configurations, `presets/*.toml`, with what a deployment may set of them on top."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mediajobs.adapters.providers.checks import Fault

DIRECTORY = Path(__file__).parent / "presets"
# The rest is the vendor's wire: who writes it anew wants the generic adapter.
SETTABLE = (
    "adapter",
    "base_url",
    "headers",
    "inputs",
    "limit",
    "models",
    "poll",
    "read",
    "results",
    "timing",
    "webhook",
)


def known() -> tuple[str, ...]:
    """The adapters that bring their own configuration."""
    return tuple(sorted(file.stem for file in DIRECTORY.glob("*.toml")))


def preset(adapter: str) -> dict[str, Any]:
    """What an adapter of this name brings."""
    return tomllib.loads((DIRECTORY / f"{adapter}.toml").read_text(encoding="utf-8"))


def complete(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The file's tables with those of the vendors filled in, and every setting that is not a deployment's to make."""
    given = data.get("providers")
    if not isinstance(given, dict):
        return data, []
    filled, faults = {}, []
    for name, provider in given.items():
        adapter = provider.get("adapter") if isinstance(provider, dict) else None
        if adapter not in known():
            filled[name] = provider
            continue
        for field in sorted(set(provider) - set(SETTABLE)):
            text = f'is set by the adapter "{adapter}"; this table has: {", ".join(SETTABLE)}'
            faults.append(Fault(("providers", name), field, text))
        filled[name] = merged(preset(adapter), provider)
    return {**data, "providers": filled}, faults


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables into one another; of everything else the upper one counts."""
    result = dict(below)
    for name, value in above.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
