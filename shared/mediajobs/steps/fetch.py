"""One result from the provider's link into S3, checked on the way. Nothing of it is seen before all of it is right.

A transfer that breaks goes on where it broke, if the server vouches that it is the same file still; in the same run
with all that was checked, in a later one by reading the whole back once it is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from mediajobs.errors import InvalidMedia, LinkDead, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.jobs.due import HOUR, SECOND
from mediajobs.jobs.model import Link, Output, Transfer
from mediajobs.media import Checker, Media, Truncated
from mediajobs.messages import LinkRules, Rest
from mediajobs.ports import Stream, World
from mediajobs.steps.place import Place
from mediajobs.steps.transfers import MOST_TIMES, Transfers, spent

DAY = 24 * HOUR
CLOSE_MS = 20 * SECOND
MOST_REQUESTS = 6  # in one run
LEAST_MS = 10 * SECOND

_PASSING = frozenset({408, 425, 429})
_FINAL = (InvalidMedia, UnsafeUrl)
_STRONG = re.compile(r'"[!#-~]*"')
_RANGE = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One result to fetch. `going` is asked at each piece: False where another output has failed already."""

    number: int
    link: Link
    rules: LinkRules
    headers: dict[str, str]
    key: str
    going: Callable[[], bool] = lambda: True


def fetch(world: World, order: Order, transfers: Transfers) -> Output:
    """Stores what the link serves under `order.key`, or stores nothing and raises.

    LinkDead: ask for a fresh link. InvalidMedia: what came is not the media asked for. Retryable: the same link may
    serve later; a transfer that was cut is one of these, since the file may be good where it lies, and is paid for.
    UnsafeUrl: it must not be fetched.
    """
    download = _Download(world, order, transfers)
    try:
        while not download.request():
            pass
        media = download.finish()
    except BaseException as fault:
        download.leave(final=isinstance(fault, _FINAL))
        raise
    return Output(
        key=download.place.key,
        content_type=media.content_type,
        size=media.size,
        sha256=media.sha256,
        width=media.width,
        height=media.height,
        duration_ms=media.duration_ms,
        kept_until=download.created + world.settings.result_days * DAY,
    )


class _Download:
    """One file on its way. `checker` is None where an earlier run saw its first bytes."""

    def __init__(self, world: World, order: Order, transfers: Transfers) -> None:
        self._world, self._order, self._transfers = world, order, transfers
        self._requests = self._attempts = self._received = 0
        self.created = world.clock.now()
        self.place: Place
        self.checker: Checker | None
        self._validator: str  # empty: what breaks has to start again
        self._length: int | None
        self._noted: bool | None  # None: not asked for yet
        self._restart()
        self._take_up()

    def request(self) -> bool:
        """One request for what is missing; False where it broke and may be made again. Else raises."""
        self._may_ask()
        self._requests += 1
        self._attempts += 1
        rest = Rest(start=self.place.size, validator=self._validator, seconds=self._left_ms() / SECOND)
        order = self._order
        try:
            if self._is_whole():
                return True
            with closing(self._world.http.stream(order.link.url, order.headers, order.rules, rest)) as stream:
                self._begin(stream)
                self._copy(stream)
            if self._length is not None and self.place.size < self._length:
                raise Truncated(f"{self._length} bytes were declared and {self.place.size} came")
        except (NotSent, NoAnswer, Truncated) as fault:
            return self._broke(fault)
        return True

    def finish(self) -> Media:
        """All bytes are there: what are they? An upload that is finished here is whole."""
        if self.checker is not None:
            try:
                media = self.checker.finish(self._length)
            except Truncated as fault:
                raise Retryable(f"the download failed: {fault}") from fault
            self._check_stated()
            self.place.finish(media.content_type)
            return media
        self.place.finish("")
        return self._read_back()

    def leave(self, *, final: bool) -> None:
        """Nothing is left but what another run can use."""
        self._transfers.count(self._order.number, attempts=self._attempts, received=self._received)
        if final or not self._noted:
            self.place.abort()

    def _take_up(self) -> None:
        """Goes on with what an earlier run left, if it is the same file and its upload is still open."""
        known = self._transfers.of(self._order.number)
        if known is None:
            return
        self._attempts, self._received = known.attempts, known.received
        place = Place.resumed(self._world.objects, known.key, known.upload_id)
        if place is None or known.address != _address(self._order.link) or spent(known):
            if place is not None:
                place.abort()
            if spent(known):
                raise LinkDead(f"tried {known.attempts} times and never whole: {known.received} bytes came")
            return
        self.place, self.checker = place, None
        self._validator, self._length, self._noted = known.validator, known.length, True
        self.created = known.created
        self._world.log.info("download goes on", number=known.number, at=place.size, length=known.length)

    def _restart(self) -> None:
        self.place = Place(self._world.objects, self._order.key)
        self.checker = Checker(self._order.rules.kind, self._order.rules.max_bytes)
        self._validator, self._length, self._noted = "", None, None

    def _may_ask(self) -> None:
        if self._left_ms() < LEAST_MS:
            raise Retryable("the download failed: this run's time is over")
        end = self._order.link.expires_at
        if self._requests and end is not None and end - CLOSE_MS < self._world.clock.now():
            raise LinkDead("the link ends before the file is whole")

    def _left_ms(self) -> int:
        return self._transfers.until - self._world.clock.now()

    def _is_whole(self) -> bool:
        return self._length is not None and self.place.size == self._length

    def _broke(self, fault: Exception) -> bool:
        """Whether the rest may be asked for: raises where it may not."""
        goes_on = bool(self._validator) and self.place.size > 0
        many = self._requests >= MOST_REQUESTS or self._received > MOST_TIMES * (self._length or 0)
        if not goes_on or many:
            raise Retryable(f"the download failed: {fault}") from fault
        self._world.log.info("download broke", number=self._order.number, at=self.place.size, reason=str(fault)[:200])
        return False

    def _begin(self, stream: Stream) -> None:
        """Raises unless the file follows, from its start or from where we are."""
        status, start = stream.status, self.place.size
        plain = stream.headers.get("content-encoding", "identity").strip().lower() in ("", "identity")
        if start and status == 206 and plain and self._is_our_rest(stream, start):
            return
        if start and (status in (200, 206, 416)):
            self.place.abort()  # another file, or a server that knows no ranges after all: from the start
            self._restart()
            if status != 200:
                raise Retryable(f"the link answered {status} and not the rest that was asked for")
        _check_status(status)
        length = stream.headers.get("content-length", "")
        self._length = int(length) if plain and length.isascii() and length.isdigit() else None
        tag = stream.headers.get("etag", "")
        ranges = stream.headers.get("accept-ranges", "bytes").strip().lower() == "bytes"
        self._validator = tag if self._length and ranges and _STRONG.fullmatch(tag) else ""
        self._check_length()

    def _is_our_rest(self, stream: Stream, start: int) -> bool:
        match = _RANGE.fullmatch(stream.headers.get("content-range", ""))
        if match is None or stream.headers.get("etag", self._validator) != self._validator:
            return False
        first, last, length = map(int, match.groups())
        return first == start and length == self._length and last == length - 1

    def _check_length(self) -> None:
        """Before a byte of it is read."""
        most = self._order.rules.max_bytes
        if self._length is None:
            self._length = self._order.link.size
        if self._length is not None and self._length > most:
            raise InvalidMedia(f"{self._length} bytes, larger than the limit of {most}")

    def _check_stated(self) -> None:
        """Once it is known that media comes: an error page has a length of its own, and is told by its content."""
        stated = self._order.link.size
        if stated is not None and self._length is not None and stated != self._length:
            raise Retryable(f"the provider says {stated} bytes and its server {self._length}")

    def _copy(self, stream: Stream) -> None:
        for chunk in stream.chunks():
            self._received += len(chunk)
            if self.checker is not None:
                self.checker.feed(chunk)
                if self.checker.content_type is not None:
                    self._check_stated()
            elif self.place.size + len(chunk) > (self._length or 0):
                raise Truncated(f"more than the {self._length} bytes came that were declared")
            self.place.write(chunk, None if self.checker is None else self.checker.content_type)
            if self._noted is None and self._validator and self.place.kept >= self._world.settings.note_bytes:
                self._note()
            if not self._order.going():
                raise Retryable("another output of the job has failed")

    def _note(self) -> None:
        """Asked for once: where another run keeps one, it does so to its end."""
        self._noted = False
        if self.place.upload_id is None or self._length is None:
            return
        self._noted = self._transfers.note(
            Transfer(
                number=self._order.number,
                key=self.place.key,
                upload_id=self.place.upload_id,
                address=_address(self._order.link),
                validator=self._validator,
                length=self._length,
                created=self.created,
                owner=self._transfers.run,
                lease_until=0,
                attempts=self._attempts,
                received=self._received,
            )
        )

    def _read_back(self) -> Media:
        """What an earlier run fed to its checker is gone with it; the object itself is as good, and better."""
        checker = Checker(self._order.rules.kind, self._order.rules.max_bytes)
        try:
            for chunk in self._world.objects.read(self.place.key):
                checker.feed(chunk)
            return checker.finish(self._length)
        except BaseException as fault:
            self._world.objects.delete([self.place.key])
            if isinstance(fault, Truncated):
                raise Retryable(f"what was stored is not what was sent: {fault}") from fault
            raise


def _check_status(status: int) -> None:
    if status == 200:
        return
    if status in _PASSING or status >= 500:
        raise Retryable(f"the link answered {status}")
    if 200 < status < 300:  # nothing, or a part that nobody asked for
        raise InvalidMedia(f"the link answered {status} instead of the whole file")
    raise LinkDead(f"the link answered {status}")


def _address(link: Link) -> str:
    return re.split(r"[?#]", link.url, maxsplit=1)[0]
