"""The processes of one stack: started apart from the terminal, recorded with their birth time, stopped by pid alone.

A record names a pid *and* when that process began, so a pid that the system has given to somebody else since is never
signalled. Each process leads a group of its own: stopping the emulator stops the functions it runs.
"""

import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from local.stack.places import ROOT, Place, StackError, read_json, tail, write_json

# What the emulator would write down after that is thrown away anyway.
_GRACE_S = 3.0


def birth(pid: int) -> str | None:
    """When the process began, in the system's own words; None when it is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return _birth_from_ps(pid) if not Path("/proc/self/stat").exists() else None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def _birth_from_ps(pid: int) -> str | None:
    """For systems without /proc."""
    shown = subprocess.run(["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = shown.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def free_port(preferred: int | None = None) -> int:
    """A port of 127.0.0.1 that nobody listens on, the preferred one where it is free.

    A stack that gets its old ports again need not be built again: the provider's address is part of the layer.
    """
    for port in (preferred, 0):
        if port is not None:
            with socket.socket() as probe, suppress(OSError):
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
    raise StackError("No free port on 127.0.0.1.")


class Processes:
    """What was started for one place and still has to be stopped."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, command: Sequence[str], env: Mapping[str, str], *, stdin: int = subprocess.DEVNULL
    ) -> int:
        """The pid of a new process, which outlives this one; it logs to build/<name>/<process>.log."""
        log = self._place.log(name)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            child = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(env),
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._children[name] = child
        records = self._records()
        records[name] = {"pid": child.pid, "birth": birth(child.pid)}
        write_json(self._place.processes, records)
        return child.pid

    def alive(self) -> dict[str, int]:
        """The pids of the processes that still run, by name."""
        for child in self._children.values():
            child.poll()
        return {name: pid for name, kept in self._records().items() if (pid := _pid_if_same(kept)) is not None}

    def require(self, name: str) -> None:
        """Raise, with the end of its log, when the process has ended."""
        if name not in self.alive():
            log = self._place.log(name)
            raise StackError(f"{tail(log)}\n\nThe {name} ended by itself; its log is {self._place.shown(log)}.")

    def stop(self, *keep: str) -> list[str]:
        """End every recorded process and its group, last started first; the names of those that ran.

        Asked first, killed a few seconds later. Nothing is signalled whose birth does not match the record.
        """
        ended = []
        for name, pid in reversed(list(self.alive().items())):
            if name not in keep:
                _end_group(pid, partial(self._runs, name))
                ended.append(name)
        write_json(self._place.processes, {name: kept for name, kept in self._records().items() if name in keep})
        for name, child in list(self._children.items()):
            if name not in keep:
                if child.stdin is not None:
                    child.stdin.close()
                child.wait()
                del self._children[name]
        return ended

    def _records(self) -> dict[str, dict[str, int | str | None]]:
        return read_json(self._place.processes)

    def _runs(self, name: str) -> bool:
        return name in self.alive()


def _pid_if_same(kept: Mapping[str, int | str | None]) -> int | None:
    """The recorded pid, if the process that has it now is the one that was recorded."""
    pid, began = kept.get("pid"), kept.get("birth")
    return pid if isinstance(pid, int) and began is not None and birth(pid) == began else None


def _end_group(pid: int, is_alive: Callable[[], bool]) -> None:
    for sign, patience in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError):
            os.killpg(pid, sign)
        if _wait_until_gone(pid, is_alive, patience):
            return


def _wait_until_gone(pid: int, is_alive: Callable[[], bool], patience: float) -> bool:
    """True when the leader and every member of its group have ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if not is_alive() and not _group_exists(pid):
            return True
        time.sleep(0.02)
    return False


def _group_exists(pgid: int) -> bool:
    """True while a member of the group runs; those that only wait to be reaped count as gone."""
    if Path("/proc/self/stat").exists():
        return any(_is_member(entry, pgid) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    try:
        os.killpg(pgid, 0)
    except (ProcessLookupError, PermissionError):  # macOS says "not permitted" of a group of zombies
        return False
    return True


def _is_member(entry: Path, pgid: int) -> bool:
    try:
        state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(group) == pgid and state not in "ZX"


@contextmanager
def exclusive(place: Place, *, wait: bool = False) -> Iterator[None]:
    """One process at a time may start, change or stop the stack of a place."""
    place.home.mkdir(parents=True, exist_ok=True)
    with (place.home / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise StackError(
                f"Another process is using {place.shown(place.home)} (a demo or a test run?). "
                "Wait for it, or give your stack another --name."
            ) from None
        yield
