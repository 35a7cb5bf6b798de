"""One function as Lambda runs it: a process of its own, its folder, the layer, its environment, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from bench.packages import ROOT

_INSIDE = Path(__file__).with_name("inside.py")


class SandboxError(Exception):
    """The function's process could not be started or died; the text is the end of what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What came of one invocation. `error` is what the handler raised, `lines` what it logged and counted."""

    answer: Any
    error: str | None
    stack: str
    lines: tuple[dict[str, Any], ...]


class Sandbox:
    """A warm function. `cold` are the modules that importing the handler loaded, beyond a bare interpreter's."""

    def __init__(self, function: str, paths: Sequence[Path], environment: Mapping[str, str]) -> None:
        self.function = function
        places = [ROOT / "functions" / function, *paths]
        command = [sys.executable, "-I", "-S", str(_INSIDE), function, *map(str, places)]
        self._process = subprocess.Popen(
            command, env=dict(environment), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        try:
            self.cold = frozenset(self._read()["modules"])
        except SandboxError:
            self.close()
            raise

    def invoke(self, event: object, *, now: int, remaining_ms: int = 30_000) -> Invocation:
        """Hand the event to the handler at that time."""
        self._number += 1
        request = {
            "event": event,
            "now": now,
            "request_id": f"7d9d3c4a-0d0e-4b57-8f4e-{self._number:012d}",
            "remaining_ms": remaining_ms,
        }
        reply = self._ask(request)
        return Invocation(
            answer=reply.get("answer"),
            error=reply.get("error"),
            stack=reply.get("stack", ""),
            lines=tuple(json.loads(line) for line in reply["output"]),
        )

    def modules(self) -> frozenset[str]:
        """What is loaded by now."""
        return frozenset(self._ask({})["modules"])

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.terminate()
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        entrance = cast("IO[str]", self._process.stdin)
        entrance.write(json.dumps(request) + "\n")
        entrance.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = cast("IO[str]", self._process.stdout).readline()
        if not line:
            raise SandboxError(f"function {self.function} ended with {self._process.wait()}; see what it said above")
        reply: dict[str, Any] = json.loads(line)
        return reply
