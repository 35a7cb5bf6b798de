"""A bare emulator for one test session: free port, private directories, no stack deployed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_S = 60


class NoEmulatorError(Exception):
    """There is no emulator, or it does not start; the text says what to do."""


def executable() -> str:
    """The emulator's command: what MINISTACK names, else the project's own, else the one on PATH."""
    own = ROOT / ".venv" / "ministack" / "bin" / "ministack"
    found = os.environ.get("MINISTACK") or (str(own) if own.exists() else shutil.which("ministack"))
    if not found:
        raise NoEmulatorError(
            "MiniStack is not installed. Run: make setup (or leave these tests out: -m 'not emulator')"
        )
    return found


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[str]:
    """The endpoint of an emulator that lives as long as this context; `settings` as its environment names them."""
    port = _free_port()
    endpoint = f"http://127.0.0.1:{port}"
    log = directory / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [executable()], env=_environment(directory, port) | settings, cwd=directory, stdout=output, stderr=output
        )
    try:
        _wait_until_ready(endpoint, process, log)
        yield endpoint
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(directory: Path, port: int) -> dict[str, str]:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(directory),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LAMBDA_EXECUTOR": "local",
    }
    for name, folder in {"TMPDIR": "tmp", "STATE_DIR": "state", "S3_DATA_DIR": "s3"}.items():
        path = directory / folder
        path.mkdir()
        environment[name] = str(path)
    return environment


def _wait_until_ready(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise NoEmulatorError(f"The emulator did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
