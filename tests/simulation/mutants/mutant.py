"""A deliberate breakage of the product, as text, and the tests that have to notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = Path("shared/mediajobs")

CORE = (
    "tests/core/test_traces_charge.py",
    "tests/core/test_traces_end.py",
    "tests/core/test_rows_submit.py",
    "tests/core/test_rows_provider.py",
    "tests/core/test_rows_people.py",
    "tests/core/test_rows_time.py",
    "tests/core/test_rows_end.py",
    "tests/core/test_due.py",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One exact replacement in one file. `old` stands there once; `new` still is a program that runs."""

    name: str
    why: str  # "H1" … "H24" of the protocol's reasons, or in a word what the rule protects
    breaks: str  # the wrong reading, in a sentence
    file: str  # below shared/mediajobs
    old: str
    new: str
    tests: tuple[str, ...] = CORE
    quick: bool = False  # also in the short form

    @property
    def path(self) -> Path:
        """The file, from the root of the repository."""
        return PRODUCT / self.file


class Misfit(Exception):
    """The text to replace does not stand in its file exactly once: the code moved, and the mutant has to follow."""


def applied(mutant: Mutant, root: Path = ROOT) -> str:
    """The file's text with the breakage in it. Raises Misfit."""
    path = root / mutant.path
    text = path.read_text() if path.is_file() else ""
    if (found := text.count(mutant.old)) != 1:
        raise Misfit(f"mutant {mutant.name!r}: its text stands {found} times in {mutant.path}, not once")
    return text.replace(mutant.old, mutant.new)
