"""The generic adapter: a provider that takes a JSON submit and answers with JSON, mapped by configuration alone.

A vendor's adapter is this one with the vendor's own configuration (`presets/`) and, in a module of its own, what no
configuration says.
"""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import quote

from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.answers import Attempt, read_answer
from mediajobs.adapters.providers.asking import Asking, Place
from mediajobs.adapters.providers.calls import KEY_REFUSED, filled
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.proving import proof
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.traits import traits
from mediajobs.adapters.providers.vocabulary import Path, Vocabulary
from mediajobs.clock import Clock
from mediajobs.errors import (
    BadRequest,
    ConfigurationError,
    NoAnswer,
    NotSent,
    Retryable,
    Unauthorized,
    Unprocessable,
    UnsafeUrl,
)
from mediajobs.jobs.events import Answered, AnswerKind, Status, Traits
from mediajobs.jobs.model import Job
from mediajobs.messages import Delivery, LinkRules, Report, ReportKind, Request, Response, Verified
from mediajobs.ports import Http, Secrets

MOST_CHALLENGE = 500
MOST_CHALLENGE_BYTES = 8192  # of a whole test delivery: it is looked at before anybody has proved who they are


class GenericAdapter:
    """Implements `ports.ProviderAdapter`. `body` is the caller's `input` object."""

    asking: type[Asking] = Asking

    def __init__(
        self, name: str, config: Provider, http: Http, secrets: Secrets, *, clock: Clock, webhooks: bool = True
    ) -> None:
        self.name = name
        self.config, self.http, self.clock = config, http, clock
        self._webhooks = webhooks
        self.vocabulary = Vocabulary(config)
        self.credentials = self.credentials_of(secrets)
        self._asking = self.asking(config, self.vocabulary, self.credentials, http)
        self._data = Path(config.webhook.data if config.webhook else None)
        self._proof = proof(config.webhook, self.credentials, http) if config.webhook else None

    def credentials_of(self, secrets: Secrets) -> Credentials:
        """How this provider is told who we are."""
        return Credentials(self.name, self.config.auth, secrets)

    def models(self) -> tuple[str, ...]:
        return tuple(self.config.models)

    def traits(self, model: str) -> Traits:
        return traits(self.name, self.config, model, webhooks=self._webhooks)

    def check_input(self, model: str, body: dict[str, object]) -> None:
        """Raise Unprocessable where the model is unknown, a field is missing, or one is ours to set."""
        entry = self.config.models.get(model)
        if entry is None:
            known = ", ".join(self.config.models)
            raise Unprocessable(f"model: {self.name} has no such model; it has: {known}.")
        for field in entry.input_required:
            if body.get(field) in (None, "", [], {}):
                raise Unprocessable(f"input.{field}: is missing; {model} needs it.")
        for field in self.set_by_us():
            if self.config.submit.input_field is None and field in body:
                raise Unprocessable(f"input.{field}: is set by this service; leave it out.")

    def input_limits(self, model: str) -> dict[str, int]:
        entry = self.config.models.get(model)
        return {kind: self.config.inputs.limit(kind) for kind in (entry.inputs if entry else ())}

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        """The submit, the same bytes for the same job and submission; `submit` adds the API key."""
        submit, place = self.config.submit, self.place(job)
        document = self.document(job, body, webhook_url)
        url = self.config.base_url.rstrip("/") + filled(submit.path, place.names())
        if submit.webhook_query and webhook_url:
            url += f"{'&' if '?' in url else '?'}{submit.webhook_query}={quote(webhook_url, safe='')}"
        headers = {"Accept": "application/json", "Content-Type": "application/json", **self.config.headers}
        if self.config.idempotency:
            headers[self.config.idempotency.header] = job.reference
        return Request(method=submit.method, url=url, headers=headers, body=canonical(document))

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered:
        """Send once; again only where the answer proves that our key was refused, and the secret has a newer one."""
        attempt = Attempt(token=token, submission=submission, now=now)
        try:
            key = self.credentials.api_key()
            answered, refused = self._send(request, key, attempt)
            if refused:
                newer = self.credentials.newer_api_key(key)
                if newer is not None and answered.kind is AnswerKind.BLOCKED:
                    answered, _ = self._send(request, newer, attempt)
        except ConfigurationError as fault:
            return attempt.answered(AnswerKind.BLOCKED, str(fault))
        except Retryable as fault:
            return attempt.answered(AnswerKind.NOT_ACCEPTED, f"nothing was sent: {fault}")
        return answered

    def poll(self, job: Job, provider_job_id: str) -> Report:
        return self._asking.poll(self.place(job, provider_job_id), provider_job_id)

    def lookup(self, job: Job) -> Report:
        return self._asking.lookup(self.place(job), job.reference)

    def cancel(self, job: Job) -> Report:
        return self._asking.cancel(self.place(job, job.provider_job_id), job.provider_job_id)

    def verify(self, delivery: Delivery, now: int) -> Verified:
        """Raises Unauthorized for everything that is not rightly signed and fresh."""
        if self._proof is None:
            raise Unauthorized("This provider sends no webhooks.")
        return self._proof(delivery, now)

    def challenge(self, delivery: Delivery) -> dict[str, str] | None:
        """What a test delivery wants to be sent back; None for every other one."""
        field = self.config.webhook.challenge if self.config.webhook else None
        if field is None or len(delivery.body) > MOST_CHALLENGE_BYTES:
            return None
        try:
            value = reading.document(delivery.body, strict=True)
        except Unusable:
            return None
        found = value.get(field) if isinstance(value, dict) and self.vocabulary.status(value) is None else None
        return {field: found} if isinstance(found, str) and 0 < len(found) <= MOST_CHALLENGE else None

    def read(self, delivery: Delivery) -> Report:
        """What a verified webhook says of which job; BadRequest for what cannot be used."""
        try:
            return self.report(reading.document(delivery.body, strict=True))
        except Unusable as fault:
            raise BadRequest(f"The webhook cannot be used: {fault}.") from None

    def report(self, document: object) -> Report:
        """The same of a webhook's document; raises Unusable."""
        value = self._data.find(document)
        if self.config.webhook is not None and self.config.webhook.confirm:
            return self._named(value)
        report = self.vocabulary.report(value, self.credentials.seen, strict=True)
        reading.identifier(report.provider_job_id)
        told_elsewhere = self.config.result is not None and report.status is Status.SUCCEEDED
        return replace(report, kind=ReportKind.WORD, confirm=told_elsewhere)

    def link_rules(self, model: str) -> LinkRules:
        results = self.config.results
        entry = self.config.models.get(model)
        kind = entry.kind if entry else "video"
        return LinkRules(
            hosts=tuple(results.hosts),
            allow_http=results.allow_http,
            allow_private=results.allow_private,
            credential_hosts=tuple(results.credential_hosts),
            max_bytes=int(getattr(results.max_bytes, kind)),
            kind=kind,
        )

    def link_headers(self) -> dict[str, str]:
        """Read only where some host of result links wants it, so that no other function needs the secret."""
        if not self.config.results.credential_hosts:
            return {}
        return self.credentials.headers(self.credentials.api_key())

    def place(self, job: Job, provider_job_id: str | None = None) -> Place:
        """Where this job is asked for; at its own URL only under the id that the URL was told with."""
        entry = self.config.models.get(job.model)
        url = job.poll_url if provider_job_id and provider_job_id == job.provider_job_id else None
        model = entry.name if entry and entry.name else job.model
        return Place(model=model, endpoint=entry.endpoint or "" if entry else "", url=url)

    def document(self, job: Job, body: dict[str, object], webhook_url: str | None) -> dict[str, object]:
        """The submit's JSON, without secrets."""
        submit = self.config.submit
        given: dict[str, object] = body if submit.input_field is None else {submit.input_field: body}
        ours = {
            submit.model_field: self.place(job).model,
            submit.webhook_field: webhook_url,
            submit.reference_field: job.reference,
        }
        return {**given, **submit.extra, **{name: value for name, value in ours.items() if name and value}}

    def authorized(self, request: Request, key: str) -> Request:
        """The request as it is sent, our key in it. Raises ConfigurationError where that cannot be."""
        return replace(request, headers={**request.headers, **self.credentials.headers(key)})

    def outcome(self, response: Response, attempt: Attempt) -> Answered:
        """What an answer to the submit proves."""
        lists, seen = self.config.answers, self.credentials.seen
        return read_answer(response, attempt, lists=lists, vocabulary=self.vocabulary, secrets=seen)

    def set_by_us(self) -> tuple[str, ...]:
        """Fields at the top of the submit that no caller may give."""
        submit = self.config.submit
        named = (submit.model_field, submit.webhook_field, submit.reference_field)
        return (*submit.extra, *(name for name in named if name))

    def _named(self, value: object) -> Report:
        """The job that a thin event is about. What it says of it is not heard."""
        provider_job_id = reading.identifier(self.vocabulary.id(value))
        said = self.vocabulary.status(value)
        return Report(
            kind=ReportKind.WORD,
            provider_job_id=provider_job_id,
            raw=said[2] if said else "",
            reference=self.vocabulary.reference(value),
            confirm=True,
        )

    def _send(self, request: Request, key: str, attempt: Attempt) -> tuple[Answered, bool]:
        """What one request came to, and whether our key was refused."""
        signed = self.authorized(request, key)
        seen = self.credentials.seen
        try:
            response = self.http.submit(signed)
        except NotSent as fault:
            return attempt.answered(AnswerKind.NOT_ACCEPTED, reading.redacted(str(fault), seen)), False
        except UnsafeUrl as fault:  # refused by us before a byte was sent: our configuration
            return attempt.answered(AnswerKind.BLOCKED, reading.redacted(str(fault), seen)), False
        except NoAnswer as fault:
            return attempt.answered(AnswerKind.AMBIGUOUS, reading.redacted(str(fault), seen)), False
        answered = self.outcome(response, attempt)
        told_inside = response.status < 300 and answered.kind is AnswerKind.BLOCKED
        return answered, response.status in KEY_REFUSED or told_inside


def canonical(document: dict[str, object]) -> bytes:
    """Sorted, without spaces, ASCII: the same document is the same bytes in every release."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
