"""README.md as data: sections, console blocks with the commands typed and the lines printed, placeholders to fill."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_PLACEHOLDER = re.compile(r"<([A-Za-z_][A-Za-z_ .]*)>")


@dataclass(frozen=True)
class Typed:
    """One command as printed, and the lines that are said to come of it."""

    command: str
    prints: tuple[str, ...]

    def filled(self, values: Mapping[str, str]) -> str:
        """The command with each <placeholder> replaced; one that nobody knows is an error of the README."""
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.command)

    def missing(self, output: str) -> list[str]:
        """The lines that `output` does not show in this order; … stands for anything."""
        place, absent = 0, []
        for line in self.prints:
            pattern = ".*?".join(re.escape(part) for part in line.strip().split("…"))
            found = re.compile(pattern, re.DOTALL).search(output, place)
            if found is None:
                absent.append(line)
            else:
                place = found.end()
        return absent


def blocks(text: str, language: str) -> list[str]:
    """The content of each fenced block of one language, as a reader sees it."""
    return [textwrap.dedent(body) for _, kind, body in _FENCE.findall(text) if kind == language]


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next of its rank. The part before the first has the title ''."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))[title]


def typed(block: str) -> list[Typed]:
    """The commands of a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return [Typed(command, tuple(prints)) for command, prints in found]


def steps(text: str) -> list[Typed]:
    """The commands of a numbered list, in its order; a number without exactly one command is an error."""
    items = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    found = []
    for item in items:
        (block, *_) = blocks(item, "console")
        (only,) = typed(block)
        found.append(only)
    return found


def run(command: str, folder: Path, env: Mapping[str, str], timeout_s: int = 600) -> subprocess.CompletedProcess[str]:
    """The command in the shell that a person types it into."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        stdin=subprocess.DEVNULL,
        check=False,
    )
