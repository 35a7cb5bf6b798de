"""Processes are ended by pid and birth; nobody else's is ever signalled."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.stack.places import ROOT, Place, StackError, read_json, write_json
from local.stack.processes import Processes, birth, exclusive, free_port

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
# Starts a child of its own, as the emulator does for each function, and names it.
PARENT = [
    sys.executable,
    "-c",
    "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)",
]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)",
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("unit", base=tmp_path)


@pytest.fixture
def processes(place: Place) -> Iterator[Processes]:
    started = Processes(place)
    yield started
    started.stop()


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not ready():
        assert time.monotonic() < end, "waited ten seconds in vain"
        time.sleep(0.02)


def test_started_process_is_alive_until_stopped(processes: Processes) -> None:
    """What was started is known by name, and stop says that it ran."""
    pid = processes.start("server", SLEEP, os.environ)
    assert processes.alive() == {"server": pid}
    assert processes.stop() == ["server"]
    assert processes.alive() == {}
    assert birth(pid) is None


def test_another_process_can_stop_it(place: Place, processes: Processes) -> None:
    """The record is enough: `make down` is not the process that started the stack."""
    pid = processes.start("server", SLEEP, os.environ)
    script = (
        "import sys; from pathlib import Path; from local.stack.places import Place; "
        "from local.stack.processes import Processes; print(Processes(Place('unit', base=Path(sys.argv[1]))).stop())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(place.base)],
        env={**os.environ, "PYTHONPATH": ""},  # what takes a stack down needs no product on its path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == "['server']"
    assert birth(pid) is None


def test_children_end_with_their_parent(place: Place, processes: Processes) -> None:
    """The functions that the emulator runs do not outlive it."""
    processes.start("server", PARENT, os.environ)
    until(lambda: place.log("server").read_text().strip().isdigit())
    child = int(place.log("server").read_text())
    assert birth(child) is not None
    processes.stop()
    until(lambda: birth(child) is None)


def test_process_that_ignores_the_request_is_killed(place: Place, processes: Processes) -> None:
    """Nothing outlives make down."""
    pid = processes.start("server", STUBBORN, os.environ)
    until(lambda: "ready" in place.log("server").read_text())
    assert processes.stop() == ["server"]
    assert birth(pid) is None


def test_pid_of_somebody_else_is_left_alone(place: Place) -> None:
    """A stale record whose pid the system has given away since is forgotten, and its new owner is not signalled."""
    with subprocess.Popen(SLEEP, start_new_session=True) as stranger:
        write_json(place.processes, {"ministack": {"pid": stranger.pid, "birth": "1"}})
        assert Processes(place).alive() == {}
        assert Processes(place).stop() == []
        assert stranger.poll() is None
        stranger.kill()
    assert read_json(place.processes) == {}


def test_record_of_a_process_that_died_is_stale(place: Place, processes: Processes) -> None:
    """A server that was killed behind our back is not counted as running."""
    pid = processes.start("server", SLEEP, os.environ)
    os.kill(pid, 9)
    until(lambda: processes.alive() == {})
    with pytest.raises(StackError, match="ended by itself"):
        processes.require("server")


def test_error_shows_the_end_of_the_log(place: Place, processes: Processes) -> None:
    """Whoever reads why the stack did not come up need not look for the reason."""
    processes.start("server", [sys.executable, "-c", "print('port 80 is taken')"], os.environ)
    until(lambda: processes.alive() == {})
    with pytest.raises(StackError, match="port 80 is taken"):
        processes.require("server")


def test_damaged_record_is_no_record(place: Place) -> None:
    """Half a file, from a machine that lost power, stops nobody from starting."""
    place.home.mkdir(parents=True)
    place.processes.write_text('{"ministack": {"pid"')
    assert Processes(place).alive() == {}
    assert Processes(place).stop() == []


def test_only_one_at_a_time_may_change_a_stack(place: Place) -> None:
    """A second make up of the same name is refused, and allowed again afterwards."""
    with exclusive(place), pytest.raises(StackError, match="Another process"), exclusive(place):
        pass
    with exclusive(place):
        pass


def test_free_port_prefers_the_old_one() -> None:
    """The same port again where it is free, another where it is taken."""
    old = free_port()
    assert free_port(old) == old
    with socket.create_server(("127.0.0.1", old)):
        assert free_port(old) != old


@pytest.mark.parametrize("name", ["", "Local", "../x", "a/b", "-a", "a" * 21])
def test_odd_stack_names_are_refused(name: str) -> None:
    """A name becomes a folder and a part of AWS names."""
    with pytest.raises(StackError):
        Place(name)
