"""Where one laptop stack keeps its files: build/<name>/, so that several can run side by side."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class StackError(Exception):
    """The laptop stack could not do it; the text says what happened and what to do about it."""


@dataclass(frozen=True)
class Place:
    """The files of the stack called `name`."""

    name: str
    base: Path = ROOT / "build"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", self.name):
            raise StackError(f"A stack's name is up to 20 lower-case letters, digits and dashes, not {self.name!r}.")

    @property
    def home(self) -> Path:
        return self.base / self.name

    @property
    def stack_name(self) -> str:
        """The CloudFormation stack, and the first part of every provider secret's name."""
        return f"mediajobs-{self.name}"

    @property
    def sources(self) -> Path:
        """A copy of what sam build reads, with the chosen provider configuration in it."""
        return self.home / "src"

    @property
    def built_template(self) -> Path:
        return self.sources / ".aws-sam" / "build" / "template.yaml"

    @property
    def emulator(self) -> Path:
        """What the emulator keeps; it goes when the stack stops."""
        return self.home / "emulator"

    @property
    def provider(self) -> Path:
        """What the simulated provider keeps: its ledger and its credentials. It goes when the stack stops."""
        return self.home / "provider"

    @property
    def info(self) -> Path:
        return self.home / "stack.json"

    @property
    def processes(self) -> Path:
        return self.home / "processes.json"

    @property
    def ports(self) -> Path:
        return self.home / "ports.json"

    @property
    def front_target(self) -> Path:
        """Where the front forwards to; read again by the front whenever it changes."""
        return self.home / "front.json"

    def log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def shown(self, path: Path) -> str:
        """A path as a person standing in the project would type it."""
        return os.path.relpath(path, ROOT)


def read_json(path: Path) -> dict[str, Any]:
    """What the file holds, or nothing where there is no file or half of one."""
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: dict[str, Any], *, private: bool = False) -> None:
    """Replace the file at once, so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.touch(mode=0o600 if private else 0o644)
    part.write_text(json.dumps(content, indent=2) + "\n")
    part.replace(path)


def tail(path: Path, lines: int = 25) -> str:
    """The last lines of a log, for an error message."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""
