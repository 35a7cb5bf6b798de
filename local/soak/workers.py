"""The processes in which this stack's emulator runs functions: found by parent and name, killed by pid."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

# A process that is killed before it has said that it is ready makes the emulator end all others of its function, too;
# on a slow machine nothing would ever start.
STARTING_S = 5.0

_NAME = b"AWS_LAMBDA_FUNCTION_NAME="


def supported() -> bool:
    """Processes are found through /proc."""
    return Path("/proc/self/environ").exists()


def workers(emulator: int, least_age_s: float = STARTING_S) -> dict[int, str]:
    """The function that each child of this emulator, and of nobody else's, runs; those that still start left out."""
    born_before = time.clock_gettime(time.CLOCK_BOOTTIME) - least_age_s
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    pids = [int(entry.name) for entry in entries if _is_child(entry, emulator, born_before)]
    return {pid: name for pid in pids if (name := _function(pid))}


def kill(pid: int) -> bool:
    """End it at once, without a word; False where it had ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _is_child(entry: Path, parent: int, born_before: float) -> bool:
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    born = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return fields[0] not in "ZX" and int(fields[1]) == parent and born <= born_before


def _function(pid: int) -> str:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return next((each.removeprefix(_NAME).decode() for each in environment if each.startswith(_NAME)), "")
