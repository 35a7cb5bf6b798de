"""What make was told by variables (`make demo JOBS=40`), as the options that say the same."""

from __future__ import annotations

from collections.abc import Mapping


def told(env: Mapping[str, str], *names: str) -> list[str]:
    """One option for each variable that is set: given to a parser before the arguments, it is checked as they are."""
    return [f"--{name.lower().replace('_', '-')}={env[name]}" for name in names if env.get(name)]
