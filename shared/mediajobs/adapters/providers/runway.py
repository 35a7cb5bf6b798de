"""Runway: what `presets/runway.toml` cannot say.

- DELETE cancels a task that runs and deletes one that is done, its paid result too: its status is asked for first.
- A canceled task is not known any more.
- An account without credits is told by a 400, which is no fault of the request; one whose generations of the day are
  used up by a 429, which does not pass in a moment.
"""

from __future__ import annotations

from dataclasses import replace

from mediajobs.adapters.providers.answers import Attempt, loose
from mediajobs.adapters.providers.asking import Asking, Place
from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.jobs.events import Answered, AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Report, ReportKind, Response

# By which word a status that else is the request's, or the moment's, speaks of the account.
_OF_THE_ACCOUNT = {400: "credits", 429: "daily"}


class RunwayAsking(Asking):
    """The questions to Runway's tasks."""

    def cancel(self, place: Place, provider_job_id: str | None) -> Report:
        if provider_job_id is None:
            return super().cancel(place, provider_job_id)
        before = self.poll(place, provider_job_id)
        if before.kind is not ReportKind.WORD or before.status is not Status.RUNNING:
            return before  # done, unknown, or no answer: nothing is deleted on a guess
        asked = super().cancel(place, provider_job_id)
        if asked.kind is ReportKind.WORD and asked.status is Status.UNKNOWN:
            # They say no more than 204, and afterwards they do not know the task.
            return replace(asked, status=Status.CANCELED, raw="deleted while it ran")
        return asked


class RunwayAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    asking = RunwayAsking

    def poll(self, job: Job, provider_job_id: str) -> Report:
        report = super().poll(job, provider_job_id)
        known_to_be_lost = job.misses + 1 >= self.config.timing.lost_after
        ours = provider_job_id == job.provider_job_id
        if report.kind is ReportKind.GONE and job.cancel_requested and ours and known_to_be_lost:
            # A cancel whose answer was lost: the task is gone for good, as a canceled one is.
            return Report(
                kind=ReportKind.WORD, provider_job_id=provider_job_id, status=Status.CANCELED, raw="gone after cancel"
            )
        return report

    def outcome(self, response: Response, attempt: Attempt) -> Answered:
        answered = super().outcome(response, attempt)
        word = _OF_THE_ACCOUNT.get(response.status)
        if word is None or answered.code is ErrorCode.CONTENT_MODERATED:
            return answered
        if word in self.vocabulary.message(loose(response.body), ()).lower():
            return attempt.answered(AnswerKind.BLOCKED, answered.message)
        return answered
