"""The processes in which this stack's emulator runs functions: found by parent and name, killed by pid."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

_NAME = b"AWS_LAMBDA_FUNCTION_NAME="


def supported() -> bool:
    """Processes are found through /proc."""
    return Path("/proc/self/wchan").exists()


class Workers:
    """Children of this emulator, and of nobody else's, that run a function and are through with starting.

    A process that is killed before it has said that it is ready makes the emulator end all others of its function, too;
    on a busy machine nothing would ever start. One that was once seen waiting for a request is ready; from then on it
    may be killed in the middle of anything.
    """

    def __init__(self, emulator: int) -> None:
        self._emulator = emulator
        self._ready: dict[int, str] = {}

    def look(self) -> None:
        """To be called often, to see who waits just now."""
        for pid in children(self._emulator):
            if pid not in self._ready and _waits(pid) and (name := function(pid)):
                self._ready[pid] = name

    def ready(self) -> dict[int, str]:
        """The function that each of them runs."""
        alive = set(children(self._emulator))
        self._ready = {pid: name for pid, name in self._ready.items() if pid in alive}
        return dict(self._ready)


def kill(pid: int) -> bool:
    """End it at once, without a word; False where it had ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def children(parent: int) -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == parent]


def _parent(entry: Path) -> int | None:
    try:
        state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else int(parent)


def _waits(pid: int) -> bool:
    """It reads from a pipe, as a process does that has nothing to do until the emulator writes the next request."""
    try:
        return "pipe_read" in Path(f"/proc/{pid}/wchan").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


def function(pid: int) -> str:
    """The name of the function that a process runs; empty where it runs none, or has ended."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return next((each.removeprefix(_NAME).decode() for each in environment if each.startswith(_NAME)), "")
