"""Build the virtual environments that make needs, from the locks in requirements/, using only the standard library.

An environment is finished when its stamp says what it was made from: the lock's content and the interpreter. The stamp
is written last, so one that was interrupted, moved or made by another Python is thrown away and built again.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = {
    "dev": "linters and tests",
    "sam": "AWS SAM CLI",
    "ministack": "the AWS emulator",
}


class SetupError(Exception):
    """An environment could not be built; the text says what to do."""


def directory(name: str) -> Path:
    return ROOT / ".venv" / name


def python_of(name: str) -> Path:
    return directory(name) / "bin" / "python"


def _lock(name: str) -> Path:
    return ROOT / "requirements" / f"{name}.txt"


def _wanted_stamp(name: str) -> str:
    origin = f"{sys.version}\n{Path(sys.executable).resolve()}\n{directory(name)}\n"
    return hashlib.sha256(origin.encode() + _lock(name).read_bytes()).hexdigest()


def is_ready(name: str) -> bool:
    """True when the environment was built completely, from this lock, by this Python, in this place."""
    stamp = directory(name) / "built-from"
    return python_of(name).exists() and stamp.exists() and stamp.read_text() == _wanted_stamp(name)


@contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """Two makes at once: the second waits and then finds the environment ready."""
    path = ROOT / ".venv" / f"{name}.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _install(name: str) -> None:
    target = directory(name)
    shutil.rmtree(target, ignore_errors=True)
    venv.create(target, with_pip=True, symlinks=True)
    log = ROOT / ".venv" / f"{name}.log"
    command = [str(python_of(name)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    # --no-deps: a lock is complete, and pip 23 trips over extras that it resolves in hash mode.
    with log.open("w") as output:
        done = subprocess.run(
            [*command, "--require-hashes", "--no-deps", "-r", str(_lock(name))],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        tail = "\n".join(line for line in log.read_text().splitlines()[-15:])
        raise SetupError(
            f"{tail}\n\npip could not install requirements/{name}.txt (all of its output: {log.relative_to(ROOT)}).\n"
            "It needs a package index it can reach; if this machine has one, run the same command again."
        )
    (target / "built-from").write_text(_wanted_stamp(name))


def ensure(name: str) -> Path:
    """The environment's directory, built first if it is missing, stale or half built. Says so in one line."""
    if is_ready(name):
        return directory(name)
    with _one_at_a_time(name):
        if not is_ready(name):
            packages = sum("==" in line and not line.startswith(" ") for line in _lock(name).read_text().splitlines())
            print(f"setup: .venv/{name}: {ENVIRONMENTS[name]}, {packages} packages ...", end=" ", flush=True)
            started = time.monotonic()
            _install(name)
            print(f"done in {time.monotonic() - started:.0f} s", flush=True)
    return directory(name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m local.setup", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(ENVIRONMENTS), help=f"which: {', '.join(ENVIRONMENTS)} (all)")
    for name in parser.parse_args().names:
        try:
            ensure(name)
        except (SetupError, OSError, subprocess.CalledProcessError) as error:
            print(f"\n{error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
