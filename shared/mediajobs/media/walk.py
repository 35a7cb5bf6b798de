"""Runs a walk over a file that arrives in pieces: it asks for bytes and is given them, whatever the pieces are.

A walk is a generator that yields what it wants next. It holds a few bytes at the most, so a file of 2 GiB is walked
in constant memory, and it raises InvalidMedia at the first byte that cannot be.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from mediajobs.errors import InvalidMedia

# A film of hours has some ten thousand boxes; a file made of nothing but headers would cost minutes of work.
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Read:
    """These many bytes; fewer only where the file ends."""

    size: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Pass these many bytes; a file that ends before is refused."""

    size: int


@dataclass(frozen=True, slots=True)
class Find:
    """Pass everything up to and with this pair of bytes; answered with the pair, or with nothing at the end."""

    pair: bytes


@dataclass(frozen=True, slots=True)
class Rest:
    """Pass what is left of the file, refused if it is less than this; answered with how much it was, in 8 bytes."""

    least: int


Want = Read | Skip | Find | Rest
Walk = Generator[Want, bytes, None]


def exactly(size: int) -> Generator[Want, bytes, bytes]:
    """These many bytes; a file that ends before is refused."""
    data = yield Read(size)
    if len(data) < size:
        raise InvalidMedia("the file ends in the middle of a part")
    return data


class Walker:
    """One walk over one file."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._want: Want | None = next(walk)  # None: the walk has seen enough
        self._held = bytearray()
        self._passed = 0
        self._steps = 0

    def feed(self, data: bytes) -> None:
        """Goes on with these bytes."""
        at = 0
        while self._want is not None:
            used, answer = self._try(self._want, data, at)
            at += used
            if answer is None:
                return
            self._go_on(answer)

    def end(self) -> None:
        """The file is over; raises if the walk is not."""
        while self._want is not None:
            if isinstance(self._want, Skip) and self._passed < self._want.size:
                raise InvalidMedia("the file ends in the middle of a part")
            if isinstance(self._want, Rest) and self._passed < self._want.least:
                raise InvalidMedia("the file has headers and nothing in them")
            match self._want:
                case Read():
                    self._go_on(bytes(self._held))
                case Rest():
                    self._go_on(self._passed.to_bytes(8, "big"))
                case _:
                    self._go_on(b"")

    def _try(self, want: Want, data: bytes, at: int) -> tuple[int, bytes | None]:
        """How many bytes from `at` on are used, and the answer once it is complete."""
        left = len(data) - at
        match want:
            case Read(size):
                used = min(size - len(self._held), left)
                self._held += data[at : at + used]
                return used, bytes(self._held) if len(self._held) == size else None
            case Skip(size):
                used = min(size - self._passed, left)
                self._passed += used
                return used, b"" if self._passed == size else None
            case Find(pair):
                return self._find(pair, data, at)
            case Rest():
                self._passed += left
                return left, None

    def _find(self, pair: bytes, data: bytes, at: int) -> tuple[int, bytes | None]:
        if at == len(data):
            return 0, None
        if self._held == pair[:1] and data[at : at + 1] == pair[1:]:  # the pair lies across two pieces
            return 1, pair
        found = data.find(pair, at)
        if found >= 0:
            return found + 2 - at, pair
        self._held[:] = data[-1:]
        return len(data) - at, None

    def _go_on(self, answer: bytes) -> None:
        self._held.clear()
        self._passed = 0
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise InvalidMedia("the file is made of too many parts")
        try:
            self._want = self._walk.send(answer)
        except StopIteration:
            self._want = None
