"""The idempotency table, as Powertools keeps it: a record is put, the work runs, its answer is noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mediajobs.errors import InProgress, Retryable

HOUR = 3_600_000
EXPIRES_MS = {"intake": 72 * HOUR, "publish": 168 * HOUR, "reconcile": HOUR}

RoundTrip = Callable[[str, Callable[[], "object"]], "object"]


@dataclass
class Record:
    """One key: running until that time, or done with this answer."""

    until: int  # in progress: when its run was surely killed; done: when it is forgotten
    answer: str | None = None


class Records:
    """The table of records."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, ...], Record] = {}

    def begin(self, key: tuple[str, ...], now: int, run_until: int) -> Record | None:
        """None: this run has the key. Else the record that stands."""
        standing = self.kept.get(key)
        if standing is not None and standing.until > now:
            return standing
        self.kept[key] = Record(run_until)
        return None

    def end(self, key: tuple[str, ...], answer: str, until: int) -> None:
        self.kept[key] = Record(until, answer)

    def forget(self, key: tuple[str, ...]) -> None:
        self.kept.pop(key, None)


class RecordedOnce:
    """Implements `ports.Once` for one process. `trip` makes each call to the table a call that can fail."""

    def __init__(
        self, records: Callable[[], Records], now: Callable[[], int], deadline: Callable[[], int], trip: RoundTrip
    ) -> None:
        self._records, self._now, self._deadline, self._trip = records, now, deadline, trip

    def __call__(self, name: str, key: Sequence[str], function: Callable[[], str]) -> str:
        if not key or not all(key):
            raise ValueError(f"the key of {name!r} has an empty part: {list(key)!r}")
        whole, records = (name, *key), self._records()
        standing = self._trip("once.begin", lambda: records.begin(whole, self._now(), self._deadline()))
        if isinstance(standing, Record):
            if standing.answer is None:
                raise InProgress(f"{name} is running for {list(key)!r}")
            return standing.answer
        try:
            answer = function()
        except Exception as error:
            self._clean_up(whole, error)
            raise
        until = self._now() + EXPIRES_MS[name]
        self._trip("once.end", lambda: records.end(whole, answer, until))
        return answer

    def _clean_up(self, whole: tuple[str, ...], error: Exception) -> None:
        """What failed leaves the key free; a failure to do so does not hide the work's own."""
        try:
            self._trip("once.forget", lambda: self._records().forget(whole))
        except Retryable:
            raise error from None
