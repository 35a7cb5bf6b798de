"""The processes in which this stack's emulator runs functions: found by parent and name, killed by pid."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

_NAME = b"AWS_LAMBDA_FUNCTION_NAME="


def supported() -> bool:
    """Processes are found through /proc."""
    return Path("/proc/self/environ").exists()


def workers(emulator: int) -> dict[int, str]:
    """The function that each child of this emulator, and of nobody else's, runs."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == emulator]
    return {pid: name for pid in pids if (name := _function(pid))}


def kill(pid: int) -> bool:
    """End it at once, without a word; False where it had ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _parent(entry: Path) -> int | None:
    try:
        state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else int(parent)


def _function(pid: int) -> str:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return next((each.removeprefix(_NAME).decode() for each in environment if each.startswith(_NAME)), "")
