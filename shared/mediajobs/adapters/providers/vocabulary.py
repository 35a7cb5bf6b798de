"""Reads one provider's JSON by the expressions of its configuration: a vendor's words in, ours out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import jmespath
from jmespath.exceptions import JMESPathError

from mediajobs import expiry, links
from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Link
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Report, ReportKind

MOST_LINKS = 50


class _Compiled(Protocol):
    def search(self, value: Any) -> Any: ...


class Path:
    """One JMESPath expression; finds None where there is none (no expression, or nothing there)."""

    def __init__(self, expression: str | None) -> None:
        self._compiled: _Compiled | None = jmespath.compile(expression) if expression else None

    def find(self, value: object) -> object:
        if self._compiled is None:
            return None
        try:
            found: object = self._compiled.search(value)
        except (JMESPathError, ArithmeticError, TypeError, ValueError, AttributeError):
            return None  # a function of JMESPath was given what it does not take
        return found


class Vocabulary:
    """What a provider says of a job, wherever it says it."""

    def __init__(self, provider: Provider) -> None:
        read = provider.read
        self._provider = provider
        self._id, self._status = Path(read.id), Path(read.status)
        self._progress, self._stage = Path(read.progress), Path(read.stage)
        self._outputs, self._url = Path(read.outputs), Path(read.url)
        self._content_type, self._size = Path(read.content_type), Path(read.size)
        self._expires_at = Path(read.expires_at)
        self._error_code, self._error_message = Path(read.error_code), Path(read.error_message)
        self._reference = Path(read.reference)
        self._poll_url, self._completed_at = Path(read.poll_url), Path(read.completed_at)
        self._code = Path(provider.answers.code)

    def id(self, value: object) -> str | None:
        """The job's id, None where there is none; raises Unusable for one that is no id."""
        found = self._id.find(value)
        return None if found is None else reading.identifier(found)

    def message(self, value: object, secrets: Iterable[str]) -> str:
        """The error's text in at most 200 characters, without a secret."""
        # Secrets go before the cut: half of one is still too much.
        whole = reading.words(self._error_message.find(value), 100_000)
        return reading.redacted(whole, secrets)[: reading.MOST_MESSAGE]

    def moderated(self, value: object) -> bool:
        """The provider refused the content, by error code or by status word."""
        told = (self._error_code.find(value), self._status.find(value), self._code.find(value))
        listed = self._provider.answers.moderated_codes
        return any(_listed(reading.words(one), listed) for one in told if one is not None)

    def code(self, value: object) -> str | None:
        """The code of an answer that is an error by it, whatever its status; None where there is none."""
        found = self._code.find(value)
        code = None if found is None else reading.words(found)
        return code if code and code not in self._provider.answers.ok_codes else None

    def poll_url(self, value: object) -> str | None:
        """Where the answer to a submit says that the job is to be asked for."""
        found = self._poll_url.find(value)
        return found if isinstance(found, str) and 0 < len(found) <= reading.MOST_URL else None

    def reference(self, value: object) -> str | None:
        """Our own reference, where it is echoed."""
        found = self._reference.find(value)
        return found if isinstance(found, str) and found else None

    def status(self, value: object) -> tuple[ReportKind, Status, str] | None:
        """What the provider's word means, and the word; None where there is no word at all."""
        word = self._status.find(value)
        if not isinstance(word, str) or not word:
            return None
        ours = self._provider.statuses.get(word)
        shown = reading.words(word, reading.MOST_WORD)
        if ours == "gone":
            return ReportKind.GONE, Status.UNKNOWN, shown
        return ReportKind.WORD, Status(ours) if ours else Status.UNKNOWN, shown

    def report(self, value: object, secrets: Iterable[str] = (), *, strict: bool = False) -> Report:
        """All that is said of one job. Raises Unusable where that is no object or has no status word.

        Links are read of a success only. Strict, ones that cannot be used make the whole unusable; else they are left
        out, all of them: the success counts, and a person sees that it has no result.
        """
        said = self.status(value)
        if not isinstance(value, dict) or said is None:
            raise Unusable("there is no status word")
        kind, status, raw = said
        moderated = status is Status.FAILED and self.moderated(value)
        return Report(
            kind=kind,
            provider_job_id=self.id(value),
            status=status,
            raw=raw,
            stage=reading.words(self._stage.find(value), reading.MOST_WORD) or None,
            progress=reading.percent(self._progress.find(value), self._provider.read.progress_scale),
            links=self.links(value, strict=strict) if status is Status.SUCCEEDED else (),
            code=ErrorCode.CONTENT_MODERATED if moderated else ErrorCode.PROVIDER_ERROR,
            message=self.message(value, secrets),
            reference=self.reference(value),
        )

    def links(self, value: object, *, strict: bool) -> tuple[Link, ...]:
        """The results that a job has. Not strict: none where one of them cannot be used."""
        found = self._outputs.find(value)
        ended = expiry.moment(self._completed_at.find(value))
        items = found if isinstance(found, list) else [] if found is None else [found]
        try:
            if len(items) > MOST_LINKS:
                raise Unusable(f"there are more than {MOST_LINKS} results")
            return tuple(self._link(item, ended) for item in items)
        except Unusable:
            if strict:
                raise
            return ()

    def _link(self, item: object, ended: int | None) -> Link:
        url = item if isinstance(item, str) else self._url.find(item)
        if not isinstance(url, str) or not url or not url.isprintable() or len(url) > _longest(url):
            raise Unusable("a result has no usable link")
        ends = (expiry.moment(self._expires_at.find(item)) or self._end_of_life(ended), expiry.of_url(url))
        return Link(
            url=url,
            content_type=reading.words(self._content_type.find(item), 100),
            size=reading.size(self._size.find(item)),
            expires_at=min((end for end in ends if end is not None), default=None),
        )

    def _end_of_life(self, ended: int | None) -> int | None:
        life = self._provider.results.life_s
        return None if ended is None or life is None else ended + round(life * 1000)


def _longest(url: str) -> int:
    return links.MOST_DATA if links.is_data(url) else reading.MOST_URL


def _listed(word: str, listed: Iterable[str]) -> bool:
    """Whether a list has the word, or an entry that ends with * and begins like it."""
    return any(word == entry or (entry.endswith("*") and word.startswith(entry[:-1])) for entry in listed)
