"""Asks a provider about a job: poll, lookup, cancel. Every answer becomes a Report; nothing is raised.

A call that fails says nothing about the job: only the provider's own word does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.vocabulary import Path, Vocabulary
from mediajobs.errors import ConfigurationError, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.jobs.events import Status
from mediajobs.messages import Report, ReportKind, Request, Response
from mediajobs.ports import Http

_BLOCKED = frozenset({401, 402, 403})
_MISSING = frozenset({404, 410})
_REFUSED = frozenset({400, 405, 409, 422})
# Of several jobs under one reference the one that matters most: a live or paid one is never hidden by a dead one.
_WEIGHT = {Status.SUCCEEDED: 0, Status.RUNNING: 1, Status.UNKNOWN: 2, Status.CANCELED: 3, Status.FAILED: 4}


def filled(path: str, **values: str) -> str:
    """`path` with its placeholders filled in, escaped so that a value stays within its segment.

    A model's name may have slashes and keeps them; an id's are escaped.
    """
    return re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]], safe="/" if found[1] == "model" else ""), path)


class Asking:
    """The questions that one provider's configuration allows."""

    def __init__(self, config: Provider, vocabulary: Vocabulary, credentials: Credentials, http: Http) -> None:
        self._config, self._vocabulary = config, vocabulary
        self._credentials, self._http = credentials, http
        self._items = Path(config.lookup.items if config.lookup else None)

    def poll(self, provider_job_id: str) -> Report:
        """What the provider says of this id."""
        try:
            reading.identifier(provider_job_id)
        except Unusable as fault:
            return Report(kind=ReportKind.REFUSED, message=str(fault))
        answer = self._ask("GET", filled(self._config.poll.path, id=provider_job_id))
        if isinstance(answer, Report):
            return answer
        return self._failure(answer, missing=ReportKind.GONE) or self._word(answer, provider_job_id)

    def lookup(self, reference: str) -> Report:
        """The job under our reference. Absent proves nothing: a request may still be on its way."""
        if self._config.lookup is None:
            return _unavailable("this provider has no lookup")
        answer = self._ask("GET", filled(self._config.lookup.path, reference=reference))
        if isinstance(answer, Report):
            return answer
        return self._failure(answer, missing=ReportKind.ABSENT) or self._found(answer, reference)

    def cancel(self, provider_job_id: str | None) -> Report:
        """Ask for a cancel; the provider's word decides, so an answer without one says UNKNOWN."""
        if self._config.cancel is None or provider_job_id is None:
            return Report(kind=ReportKind.REFUSED, message="there is nothing to cancel, or no way to")
        cancel = self._config.cancel
        answer = self._ask(cancel.method, filled(cancel.path, id=provider_job_id))
        if isinstance(answer, Report):
            return answer
        if answer.status in _REFUSED:
            return Report(kind=ReportKind.REFUSED, provider_job_id=provider_job_id, message=self._message(answer))
        failure = self._failure(answer, missing=ReportKind.GONE)
        if failure is not None:
            return failure
        word = self._word(answer, provider_job_id)
        if word.kind is ReportKind.WORD:
            return word
        return Report(kind=ReportKind.WORD, provider_job_id=provider_job_id)

    def _ask(self, method: str, path: str) -> Response | Report:
        """The answer; asked again once, with a newer key, where ours was refused and another is there."""
        try:
            key = self._credentials.api_key()
        except ConfigurationError as fault:
            return Report(kind=ReportKind.BLOCKED, message=reading.words(str(fault)))
        except Retryable as fault:
            return _unavailable(reading.words(str(fault)))
        answer = self._send(method, path, key)
        if isinstance(answer, Response) and answer.status == 401:
            newer = self._credentials.newer_api_key(key)
            return answer if newer is None else self._send(method, path, newer)
        return answer

    def _send(self, method: str, path: str, key: str) -> Response | Report:
        headers = {"Accept": "application/json", **self._config.headers, **self._credentials.headers(key)}
        url = self._config.base_url.rstrip("/") + path
        try:
            return self._http.get(Request(method=method, url=url, headers=headers))
        except (NotSent, NoAnswer, UnsafeUrl) as fault:
            return _unavailable(reading.redacted(reading.words(str(fault), 2000), self._credentials.seen)[:200])

    def _failure(self, answer: Response, *, missing: ReportKind) -> Report | None:
        """What an answer other than 2xx says; None for a 2xx."""
        if 200 <= answer.status < 300:
            return None
        if answer.status in _BLOCKED:
            return Report(kind=ReportKind.BLOCKED, message=self._message(answer))
        if answer.status in _MISSING:
            return Report(kind=missing, message=self._message(answer))
        return _unavailable(self._message(answer), reading.wait_s(answer.headers, None))

    def _word(self, answer: Response, provider_job_id: str) -> Report:
        try:
            value = reading.document(answer.body, strict=False)
            report = self._vocabulary.report(value, self._credentials.seen)
            if report.provider_job_id not in (None, provider_job_id):
                raise Unusable("the answer is about another job")
        except Unusable as fault:
            return _unavailable(f"HTTP {answer.status}, but {fault}", reading.wait_s(answer.headers, None))
        return replace(report, provider_job_id=provider_job_id)

    def _found(self, answer: Response, reference: str) -> Report:
        try:
            found = self._items.find(reading.document(answer.body, strict=False))
            items = found if isinstance(found, list) else [] if found is None else [found]
            reports = [self._item(item, reference) for item in items]
        except Unusable as fault:
            return _unavailable(f"HTTP {answer.status}, but {fault}")
        unmarked = [report for report in reports if report is not None]
        marked = [report for report in unmarked if report.reference == reference]
        if not unmarked:
            return Report(kind=ReportKind.ABSENT)
        if not marked and len(unmarked) > 1:
            return _unavailable("several jobs were found, and none says whose it is")
        return min(marked or unmarked, key=lambda report: _WEIGHT[report.status])

    def _item(self, item: object, reference: str) -> Report | None:
        """One job of a lookup, None where it says that it is another's.

        Its id is the evidence: a job with an unknown word is there all the same, so it counts as running.
        """
        if self._vocabulary.reference(item) not in (None, reference):
            return None
        report = self._vocabulary.report(item, self._credentials.seen)
        if report.provider_job_id is None:
            raise Unusable("a job has no id")
        return replace(report, status=Status.RUNNING) if report.status is Status.UNKNOWN else report

    def _message(self, answer: Response) -> str:
        try:
            value = reading.document(answer.body, strict=False)
        except Unusable:
            value = None
        message = self._vocabulary.message(value, self._credentials.seen)
        return f"HTTP {answer.status}: {message}".rstrip(": ")[: reading.MOST_MESSAGE]


def _unavailable(message: str, retry_after_s: float | None = None) -> Report:
    return Report(kind=ReportKind.UNAVAILABLE, message=message, retry_after_s=retry_after_s)
