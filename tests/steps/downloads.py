"""Downloads from a server that knows ranges and breaks off as it is told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import LinkRules, Rest
from tests import samples
from tests.steps.kit import Stage

FILM = samples.mp4(filling=100_000)
OTHER = samples.mp4(filling=100_001)
PART = 1000
URL = "https://cdn.example/a.mp4"
NINE_TENTHS = len(FILM) * 9 // 10


@dataclass
class Serving:
    """Implements `ports.Stream`."""

    status: int
    headers: dict[str, str]
    body: bytes
    fault: BaseException | None = None
    pieces: Callable[[], None] = lambda: None

    def chunks(self) -> Iterator[bytes]:
        for at in range(0, len(self.body), 700):
            self.pieces()
            yield self.body[at : at + 700]
        if self.fault is not None:
            raise self.fault

    def close(self) -> None: ...


@dataclass
class Files:
    """Implements `ports.Http` as far as downloads: a server that knows ranges, and breaks off as it is told.

    `breaks`: at which byte of the file each next answer ends, and how. `headers` go with each answer.
    """

    bodies: dict[str, bytes]
    breaks: list[tuple[int, BaseException | None]] = field(default_factory=list)
    tag: str = '"v1"'
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[Rest] = field(default_factory=list)
    refusing: int = 0
    pieces: Callable[[], None] = lambda: None

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Serving:
        rest = rest or Rest()
        self.asked.append(rest)
        if self.refusing:
            return Serving(self.refusing, {}, b"")
        body = self.bodies[url.partition("?")[0]]
        ranged = rest.start > 0 and rest.validator == self.tag
        start = rest.start if ranged else 0
        end, fault = self.breaks.pop(0) if self.breaks else (len(body), None)
        told = {"content-length": str(len(body) - start), "etag": self.tag, **self.headers}
        if ranged:
            told["content-range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return Serving(206 if ranged else 200, told, body[start:end], fault, self.pieces)

    @property
    def starts(self) -> list[int]:
        return [rest.start for rest in self.asked]


def staged(files: Files, *, note_bytes: int = 20_000) -> Stage:
    stage = Stage()
    stage.objects.part_bytes = PART
    settings = replace(stage.world.settings, note_bytes=note_bytes)
    stage.world = replace(stage.world, http=files, settings=settings)  # type: ignore[arg-type]
    return stage


def whole(stage: Stage, job: Job, body: bytes = FILM) -> None:
    """The job succeeded with that film, nothing else is kept and nothing is open."""
    assert stage.state(job) is State.SUCCEEDED
    (output,) = stage.read(job).outputs
    assert {key: one.body for key, one in stage.objects.stored.items()} == {output.key: body}
    assert (output.size, output.sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert stage.objects.open == []
