"""Asks a provider about a job: poll, lookup, cancel. Every answer becomes a Report; nothing is raised.

A call that fails says nothing about the job: only the provider's own word does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.calls import Calls, filled, unavailable
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.vocabulary import Path, Vocabulary
from mediajobs.jobs.events import Status
from mediajobs.messages import Report, ReportKind, Response
from mediajobs.ports import Http

__all__ = ["Asking", "Place", "filled"]

_REFUSED = frozenset({400, 405, 409, 422})
# Of several jobs under one reference the one that matters most: a live or paid one is never hidden by a dead one.
_WEIGHT = {Status.SUCCEEDED: 0, Status.RUNNING: 1, Status.UNKNOWN: 2, Status.CANCELED: 3, Status.FAILED: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a job of a model is asked for. `url` is what the provider named for this very job, if it did."""

    model: str = ""
    endpoint: str = ""
    url: str | None = None

    def names(self, **more: str) -> dict[str, str]:
        """What the placeholders of a path stand for."""
        return {"model": self.model, "endpoint": self.endpoint, **more}


class Asking:
    """The questions that one provider's configuration allows. A vendor's own answers override `succeeded`."""

    def __init__(self, config: Provider, vocabulary: Vocabulary, credentials: Credentials, http: Http) -> None:
        self.config, self.vocabulary, self.credentials = config, vocabulary, credentials
        self.calls = Calls(config, vocabulary, credentials, http)
        self._items = Path(config.lookup.items if config.lookup else None)
        self._key = Path(config.result.key if config.result else None)

    def poll(self, place: Place, provider_job_id: str) -> Report:
        """What the provider says of this id."""
        try:
            reading.identifier(provider_job_id)
        except Unusable as fault:
            return Report(kind=ReportKind.REFUSED, message=str(fault))
        url = place.url
        if url is None or not self.calls.may_ask(url):
            url = self.calls.url(self.config.poll.path, place.names(id=provider_job_id))
        answer = self.calls.ask("GET", url)
        if isinstance(answer, Report):
            return answer
        return self.calls.failure(answer, missing=ReportKind.GONE) or self._word(place, answer, provider_job_id)

    def lookup(self, place: Place, reference: str) -> Report:
        """The job under our reference. Absent proves nothing: a request may still be on its way."""
        if self.config.lookup is None:
            return unavailable("this provider has no lookup")
        answer = self.calls.ask("GET", self.calls.url(self.config.lookup.path, place.names(reference=reference)))
        if isinstance(answer, Report):
            return answer
        return self.calls.failure(answer, missing=ReportKind.ABSENT) or self._found(answer, reference)

    def cancel(self, place: Place, provider_job_id: str | None) -> Report:
        """Ask for a cancel; the provider's word decides, so an answer without one says UNKNOWN."""
        if self.config.cancel is None or provider_job_id is None:
            return Report(kind=ReportKind.REFUSED, message="there is nothing to cancel, or no way to")
        cancel = self.config.cancel
        answer = self.calls.ask(cancel.method, self.cancel_url(place, provider_job_id))
        if isinstance(answer, Report):
            return answer
        if answer.status in _REFUSED:
            message = self.calls.message(answer)
            return Report(kind=ReportKind.REFUSED, provider_job_id=provider_job_id, message=message)
        failure = self.calls.failure(answer, missing=ReportKind.GONE)
        if failure is not None:
            return failure
        return self._word_of_cancel(answer, provider_job_id)

    def cancel_url(self, place: Place, provider_job_id: str) -> str:
        """Where this job is canceled."""
        assert self.config.cancel is not None  # noqa: S101 the caller has looked
        return self.calls.url(self.config.cancel.path, place.names(id=provider_job_id))

    def succeeded(self, place: Place, report: Report, value: object) -> Report:
        """The word "succeeded" in an answer to a poll, with its links: here they stand, or elsewhere."""
        if self.config.result is None or report.provider_job_id is None:
            return report
        key = reading.words(self._key.find(value), reading.MOST_ID_BYTES)
        if not key and "{key}" in self.config.result.path:
            return report
        names = place.names(id=report.provider_job_id, key=key)
        return self.result(report, self.calls.ask("GET", self.calls.url(self.config.result.path, names)))

    def result(self, report: Report, answer: Response | Report) -> Report:
        """The links that a second address tells. That it fails is no failure of the job, which has succeeded.

        Where the provider has no result any more, the job has none: a person is asked about that.
        """
        failure = answer if isinstance(answer, Report) else self.calls.failure(answer, missing=ReportKind.GONE)
        if failure is not None:
            return replace(report, links=()) if failure.kind is ReportKind.GONE else failure
        assert isinstance(answer, Response)  # noqa: S101 a report is a failure
        try:
            value = reading.document(answer.body, strict=False)
        except Unusable as fault:
            return unavailable(f"HTTP {answer.status}, but {fault}")
        return replace(report, links=self.vocabulary.links(value, strict=False))

    def _word(self, place: Place, answer: Response, provider_job_id: str) -> Report:
        try:
            value = reading.document(answer.body, strict=False)
            report = self.vocabulary.report(value, self.credentials.seen)
            if report.provider_job_id not in (None, provider_job_id):
                raise Unusable("the answer is about another job")
        except Unusable as fault:
            return unavailable(f"HTTP {answer.status}, but {fault}", reading.wait_s(answer.headers, None))
        report = replace(report, provider_job_id=provider_job_id)
        return self.succeeded(place, report, value) if report.status is Status.SUCCEEDED else report

    def _word_of_cancel(self, answer: Response, provider_job_id: str) -> Report:
        """The status word in an answer to a cancel, where there is one that we know.

        Without the job's id it may be about the request ("success"): then no more is believed than that it is canceled.
        """
        word = Report(kind=ReportKind.WORD, provider_job_id=provider_job_id)
        try:
            report = self.vocabulary.report(reading.document(answer.body, strict=False), self.credentials.seen)
        except Unusable:
            return word
        if report.provider_job_id is None and report.status is not Status.CANCELED:
            return replace(word, raw=report.raw)
        about_it = report.provider_job_id in (None, provider_job_id)
        return replace(report, provider_job_id=provider_job_id) if about_it else word

    def _found(self, answer: Response, reference: str) -> Report:
        try:
            found = self._items.find(reading.document(answer.body, strict=False))
            items = found if isinstance(found, list) else [] if found is None else [found]
            reports = [self._item(item, reference) for item in items]
        except Unusable as fault:
            return unavailable(f"HTTP {answer.status}, but {fault}")
        unmarked = [report for report in reports if report is not None]
        marked = [report for report in unmarked if report.reference == reference]
        if not unmarked:
            return Report(kind=ReportKind.ABSENT)
        if not marked and len(unmarked) > 1:
            return unavailable("several jobs were found, and none says whose it is")
        return min(marked or unmarked, key=lambda report: _WEIGHT[report.status])

    def _item(self, item: object, reference: str) -> Report | None:
        """One job of a lookup, None where it says that it is another's.

        Its id is the evidence: a job with an unknown word is there all the same, so it counts as running.
        """
        if self.vocabulary.reference(item) not in (None, reference):
            return None
        report = self.vocabulary.report(item, self.credentials.seen)
        if report.kind is ReportKind.GONE:
            return None
        if report.provider_job_id is None:
            raise Unusable("a job has no id")
        return replace(report, status=Status.RUNNING) if report.status is Status.UNKNOWN else report
