"""One whole laptop stack: emulator, simulated provider, front and the deployed product, started and stopped as one."""

import os
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any

from local.setup import SetupError, ensure
from local.stack.clients import Clients, clients
from local.stack.emulator import plain_environment
from local.stack.places import Place, StackError, read_json
from local.stack.processes import Processes, exclusive
from local.stack.start import Bringing, Ports, Say, Wanted


class Stack(AbstractContextManager["Stack"]):
    """A running stack. `info` is what stack.json says; `stop` ends its processes and removes what they kept."""

    def __init__(self, place: Place, info: dict[str, Any], processes: Processes, lock: ExitStack) -> None:
        self.place = place
        self.info = info
        self.client: Clients = clients(info["endpoint_url"])
        self._processes = processes
        self._lock = lock

    @classmethod
    def start(
        cls, name: str = "local", wanted: Wanted | None = None, *, attached: bool = True, say: Say = print
    ) -> "Stack":
        """Return when a job can be submitted.

        Attached, the stack ends with this process, however that ends. Otherwise it stays until `make down`.
        """
        _ensure_environments()
        place, lock = Place(name), ExitStack()
        lock.enter_context(exclusive(place))
        processes = Processes(place)
        try:
            if leftover := processes.stop():
                say(f"stack {name}: stopped what an earlier run had left running: {', '.join(leftover)}")
            _forget(place)
            _set_guard(place, processes)
            bringing = Bringing(place, processes, wanted or Wanted(), Ports.choose(place), say)
            bringing.servers()
            info = bringing.product({})
        except BaseException:
            _take_down(place, processes)
            lock.close()
            raise
        if not attached:
            processes.stop(*processes.alive().keys() - {"guard"})
            lock.close()
        return cls(place, info, processes, lock)

    @classmethod
    def running(cls, name: str = "local") -> "Stack":
        """The stack that was left running under this name."""
        place = Place(name)
        processes, info = Processes(place), read_json(place.info)
        if not info or "ministack" not in processes.alive():
            raise StackError(f"No stack {name!r} is running; make up starts one.")
        return cls(place, info, processes, ExitStack())

    def redeploy(self, *, say: Say = print) -> None:
        """Build and deploy the sources of now; jobs, keys and addresses stay."""
        _ensure_environments()
        wanted = Wanted.from_json(self.info["wanted"])
        bringing = Bringing(self.place, self._processes, wanted, Ports.last(self.place), say)
        self.info = bringing.product(self.info)

    def stop(self) -> None:
        _take_down(self.place, self._processes)
        self._lock.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def take_down(name: str) -> list[str]:
    """Stop the stack of this name, or what is left of it; the names of the processes that ran."""
    place = Place(name)
    with exclusive(place):
        return _take_down(place, Processes(place))


def guard(name: str) -> None:
    """Wait until the process that started the stack has ended, then take the stack down if it is still that one's."""
    sys.stdin.buffer.read()
    place = Place(name)
    with exclusive(place, wait=True):
        processes = Processes(place)
        if processes.alive().get("guard") == os.getpid():
            processes.stop("guard")
            _forget(place)
            place.processes.unlink(missing_ok=True)


def _set_guard(place: Place, processes: Processes) -> None:
    """A process that outlives this one by a moment: its standard input ends when this process does."""
    command = [sys.executable, "-m", "local.stack", "guard", "--name", place.name]
    processes.start("guard", command, plain_environment(), stdin=subprocess.PIPE)


def _take_down(place: Place, processes: Processes) -> list[str]:
    ended = processes.stop()
    _forget(place)
    return ended


def _forget(place: Place) -> None:
    """Remove what a stack keeps while it runs. Logs stay for a person, sources and the build for the next start."""
    for folder in (place.emulator, place.provider):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (place.info, place.front_target):
        file.unlink(missing_ok=True)


def _ensure_environments() -> None:
    try:
        ensure("sam")
        ensure("ministack")
    except SetupError as error:
        raise StackError(str(error)) from None
