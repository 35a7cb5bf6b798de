"""The way out, scripted: what each call is answered, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from mediajobs.messages import LinkRules, Request, Response, Rest

T = TypeVar("T")


@dataclass
class Download:
    """What a link serves: `body` in pieces of `piece` bytes, then `fault` if there is one. `closed` once left."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    piece: int = 65536
    fault: Exception | None = None
    closed: bool = False

    def chunks(self) -> Iterator[bytes]:
        for at in range(0, len(self.body), self.piece):
            yield self.body[at : at + self.piece]
        if self.fault is not None:
            raise self.fault

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True, slots=True)
class Opened:
    """One result link that was opened."""

    url: str
    headers: dict[str, str]
    rules: LinkRules
    rest: Rest


@dataclass
class ScriptedHttp:
    """Implements `ports.Http`. Each list is used up in order; an exception in it is raised.

    A call that the script does not foresee fails the test: nothing goes out by accident.
    """

    submits: list[Response | Exception] = field(default_factory=list)
    gets: list[Response | Exception] = field(default_factory=list)
    downloads: list[Download | Exception] = field(default_factory=list)
    submitted: list[Request] = field(default_factory=list)
    got: list[Request] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)

    def submit(self, request: Request) -> Response:
        self.submitted.append(request)
        return _next(self.submits, f"submit {request.url}")

    def get(self, request: Request) -> Response:
        self.got.append(request)
        return _next(self.gets, f"{request.method} {request.url}")

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Download:
        self.opened.append(Opened(url, headers, rules, rest or Rest()))
        return _next(self.downloads, f"download {url}")


def _next(script: list[T | Exception], call: str) -> T:
    assert script, f"not in the script: {call}"
    answer = script.pop(0)
    if isinstance(answer, Exception):
        raise answer
    return answer
