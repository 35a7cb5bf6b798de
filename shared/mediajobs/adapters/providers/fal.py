"""fal.ai: what `presets/fal.toml` cannot say.

- Status, result and cancel drop the path of an endpoint's id. The address that an answer names counts where it differs.
- COMPLETED may mean failed: then the status has an error, or the result's address answers with the job's own error.
- OK and ERROR are words of webhooks alone. In an answer to a cancel OK says that the request has left the queue.
- A webhook may come without its payload: then the result is asked for.
"""

from __future__ import annotations

from dataclasses import replace

from mediajobs.adapters.providers.answers import Attempt, loose
from mediajobs.adapters.providers.asking import Asking, Place
from mediajobs.adapters.providers.calls import filled
from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.jobs.events import Answered, AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Report, ReportKind, Response

_NAMESPACES = frozenset({"workflows", "comfy"})
_CANCELED = frozenset({"client_cancelled"})
# Every error_type that fal documents. Another one is a new word, and no word for the job.
_ERRORS = _CANCELED | {
    "bad_request",
    "client_disconnected",
    "internal_error",
    "request_timeout",
    "runner_connection_error",
    "runner_connection_refused",
    "runner_connection_timeout",
    "runner_disconnected",
    "runner_incomplete_response",
    "runner_scheduling_failure",
    "runner_server_error",
    "startup_timeout",
}
_OF_THE_CALL = frozenset({401, 402, 403, 404, 410, 429})
_OF_WEBHOOKS = frozenset({"OK", "ERROR"})
_REMOVED = "OK"
_STATUS = "/status"


class FalAsking(Asking):
    """The questions to fal's queue."""

    def poll(self, place: Place, provider_job_id: str) -> Report:
        return _of_the_queue(super().poll(place, provider_job_id))

    def cancel(self, place: Place, provider_job_id: str | None) -> Report:
        """Removed from the queue it never runs; everything else is a request, and a poll tells what came of it."""
        report = super().cancel(place, provider_job_id)
        if report.kind is ReportKind.WORD and report.raw == _REMOVED:
            return replace(report, status=Status.CANCELED, links=())
        return _of_the_queue(report)

    def cancel_url(self, place: Place, provider_job_id: str) -> str:
        base = self._base(place)
        return f"{base}/cancel" if base else super().cancel_url(place, provider_job_id)

    def succeeded(self, place: Place, report: Report, value: object) -> Report:
        """COMPLETED: failed where it comes with an error, else what the result's address says."""
        ended = self._error(report, value)
        if ended is not None:
            return ended
        base = self._base(place)
        if base is None:
            return super().succeeded(place, report, value)
        return self.result(report, self.calls.ask("GET", base))

    def result(self, report: Report, answer: Response | Report) -> Report:
        """The job's own error comes as the status of its result. Everything else that fails is ours or fal's."""
        if isinstance(answer, Response) and answer.status >= 400:
            body = loose(answer.body)
            told: dict[str, object] = {"error_type": answer.headers.get("x-fal-error-type")}
            told |= body if isinstance(body, dict) else {}
            if _is_the_jobs(answer.status, told):
                return self._failed(report, told, self.calls.message(answer))
        return super().result(report, answer)

    def _error(self, report: Report, value: object) -> Report | None:
        if _text(value, "error") is None and _text(value, "error_type") is None:
            return None
        return self._failed(report, value, report.message)

    def _failed(self, report: Report, value: object, message: str) -> Report:
        canceled = _text(value, "error_type") in _CANCELED
        code = ErrorCode.CONTENT_MODERATED if self.vocabulary.moderated(value) else ErrorCode.PROVIDER_ERROR
        status = Status.CANCELED if canceled else Status.FAILED
        return replace(report, status=status, links=(), code=code, message=message)

    def _base(self, place: Place) -> str | None:
        """The address of the result, where the answer to the submit named another than the rule makes."""
        if place.url is None or not self.calls.may_ask(place.url):
            return None
        return place.url.removesuffix(_STATUS)


class FalAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    asking = FalAsking

    def place(self, job: Job, provider_job_id: str | None = None) -> Place:
        place = super().place(job, provider_job_id)
        parts = place.model.split("/")
        most = 3 if parts[0] in _NAMESPACES else 2
        return replace(place, endpoint="/".join(parts[:most]))

    def outcome(self, response: Response, attempt: Attempt) -> Answered:
        """The named address is kept only where the rule would make another one: it costs a hundred bytes a job."""
        answered = super().outcome(response, attempt)
        url, provider_job_id = answered.poll_url, answered.provider_job_id
        if answered.kind is not AnswerKind.ACCEPTED or url is None or provider_job_id is None:
            return answered
        usual = any(
            url == self.config.base_url.rstrip("/") + filled(self.config.poll.path, names)
            for names in self._names(provider_job_id)
        )
        return replace(answered, poll_url=None) if usual or not url.endswith(_STATUS) else answered

    def report(self, document: object) -> Report:
        report = super().report(document)
        if report.status is Status.SUCCEEDED:
            payload = document.get("payload") if isinstance(document, dict) else None
            told = payload is not None and _text(document, "payload_error") is None
            return replace(report, confirm=not (told and report.links))
        if report.status is Status.FAILED and _text(document, "error_type") in _CANCELED:
            return replace(report, status=Status.CANCELED)
        return report

    def _names(self, provider_job_id: str) -> list[dict[str, str]]:
        """What placeholders may stand for, over all models: the answer does not say which one it is about."""
        found = []
        for name, model in self.config.models.items():
            parts = (model.name or name).split("/")
            most = 3 if parts[0] in _NAMESPACES else 2
            found.append({"endpoint": "/".join(parts[:most]), "model": model.name or name, "id": provider_job_id})
        return found


def _of_the_queue(report: Report) -> Report:
    """A word that only webhooks have says nothing in another answer."""
    return replace(report, status=Status.UNKNOWN, links=()) if report.raw in _OF_WEBHOOKS else report


def _is_the_jobs(status: int, told: dict[str, object]) -> bool:
    """Whether an error at the result's address is the job's: by a name that is documented, or a model's list of errors.

    A text alone may be about the question: a result that is asked for too early is answered with a 400.
    """
    if status in _OF_THE_CALL:
        return False
    name, detail = _text(told, "error_type"), told.get("detail")
    listed = isinstance(detail, list) and bool(detail) and all(_text(one, "type") for one in detail)
    return name in _ERRORS if name is not None else status == 422 or listed


def _text(value: object, name: str) -> str | None:
    """A field that is a text with something in it."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) and found.strip() else None
