"""Check a provider configuration: print the providers in it, or each error with file, table and field.

    python -m cli.check_providers [shared/providers.toml]

Exit 0 when it can be used, 1 when not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.loading import load
from mediajobs.errors import ConfigurationError

DEFAULT = Path("shared/providers.toml")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.check_providers", description="Check a configuration.")
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT, help=f"the file, else {DEFAULT}")
    file: Path = parser.parse_args(arguments).file
    try:
        configuration = load(file.read_text(encoding="utf-8"), str(file))
    except ConfigurationError as fault:
        print(fault, file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as fault:
        print(f"{file}: cannot be read: {fault}", file=sys.stderr)
        return 1
    for name, provider in configuration.providers.items():
        print(f"{name}: {summary(provider)}")
    return 0


def summary(provider: Provider) -> str:
    """One line that says what this provider can do, so that a slip is seen before it is deployed."""
    key = provider.idempotency
    trusted = provider.webhook is not None and provider.webhook.trusted
    return ", ".join(
        [
            provider.base_url,
            f"a repeated key is honoured for {key.key_life_s:g} s" if key else "no idempotency key",
            "lookup" if provider.lookup else "no lookup",
            "cancel" if provider.cancel else "no cancel",
            "webhooks" if trusted else "polled",
            f"{len(provider.models)} model{'s' * (len(provider.models) != 1)}: {', '.join(provider.models)}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
