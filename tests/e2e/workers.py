"""The processes in which the emulator runs functions, found by their parent and name, and killed by their pid."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from local.soak import workers as processes
from local.stack import Stack


def workers(stack: Stack, function: str) -> list[int]:
    """The pids of a function's processes: children of this stack's emulator, and of nobody else's."""
    emulator = stack.info["pids"]["ministack"]
    name = stack.info["functions"][function]
    return [pid for pid in processes.children(emulator) if processes.function(pid) == name]


def kill(stack: Stack, function: str) -> int:
    """End every process of the function at once, without a word; how many there were."""
    return _signal(workers(stack, function), signal.SIGKILL)


@contextmanager
def held(stack: Stack, function: str) -> Iterator[int]:
    """The function's processes stand still, so that work given to them now is not begun; at the end they are killed.

    Gives how many they are.
    """
    pids = workers(stack, function)
    _signal(pids, signal.SIGSTOP)
    try:
        yield len(pids)
    finally:
        _signal([pid for pid in pids if pid in workers(stack, function)], signal.SIGKILL)


@contextmanager
def storm(stack: Stack, function: str, every_s: float = 0.1) -> Iterator[None]:
    """No process of the function lives for long: whatever it does is cut off somewhere."""
    over = threading.Event()

    def rage() -> None:
        while not over.is_set():
            kill(stack, function)
            time.sleep(every_s)

    thread = threading.Thread(target=rage, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=10)


def _signal(pids: list[int], what: signal.Signals) -> int:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)
    return len(pids)
