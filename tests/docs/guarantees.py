"""Runs the tests that docs/guarantees.md names for one guarantee.

python -m tests.docs.guarantees                  the guarantees, and the word that names each
python -m tests.docs.guarantees charge           the tests of "One charge per submission"
python -m tests.docs.guarantees charge --stack   those that need a deployed stack too
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
DEPLOYED = "tests/e2e/"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One section of the page. `tests`: file -> the tests of it that show the guarantee."""

    title: str
    word: str
    tests: dict[str, tuple[str, ...]]

    def nodes(self, *, stack: bool) -> list[str]:
        """The tests as pytest names them."""
        return [
            f"{file}::{test}"
            for file, tests in self.tests.items()
            if stack or not file.startswith(DEPLOYED)
            for test in tests
        ]


def read(page: str) -> list[Guarantee]:
    """Every section, in the page's order."""
    sections = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return [_guarantee(title, text) for title, text in sections]


def _guarantee(title: str, text: str) -> Guarantee:
    word = re.search(r"^Shown by `make guarantee G=(\w+)`$", text, re.MULTILINE)
    _, _, named = text.partition("Shown by ")
    rows = re.findall(r"^- `([^`]+)`: (.+)$", named, re.MULTILINE)
    return Guarantee(title, word[1] if word else "", {file: tuple(tests.split(", ")) for file, tests in rows})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.docs.guarantees", description=__doc__.splitlines()[0])
    parser.add_argument("word", nargs="?", help="which guarantee")
    parser.add_argument("--stack", action="store_true", help="the end-to-end tests too: starts the emulator, deploys")
    told = parser.parse_args(argv)
    guarantees = read(PAGE.read_text())
    chosen = [one for one in guarantees if one.word == told.word]
    if not chosen:
        print("\n".join(f"{one.word:10} {one.title}" for one in guarantees))  # noqa: T201 a command prints
        return 0 if told.word is None else 2
    nodes = chosen[0].nodes(stack=told.stack)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *nodes], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
