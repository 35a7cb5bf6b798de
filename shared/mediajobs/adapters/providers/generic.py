"""The generic adapter: a provider that takes a JSON submit and answers with JSON, mapped by configuration alone."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import quote

from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.answers import Attempt, read_answer
from mediajobs.adapters.providers.asking import Asking, filled
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.vocabulary import Path, Vocabulary
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
from mediajobs.jobs.events import Answered, AnswerKind, Traits
from mediajobs.jobs.model import Job
from mediajobs.messages import Delivery, Report, Request, Verified
from mediajobs.ports import Http, LinkRules, Secrets
from mediajobs.signatures import verify_standard


class GenericAdapter:
    """Implements `ports.ProviderAdapter`. `body` is the caller's `input` object."""

    def __init__(self, name: str, config: Provider, http: Http, secrets: Secrets, *, webhooks: bool = True) -> None:
        self.name = name
        self._config, self._http, self._webhooks = config, http, webhooks
        self._vocabulary = Vocabulary(config)
        self._credentials = Credentials(name, config.auth, secrets)
        self._asking = Asking(config, self._vocabulary, self._credentials, http)
        self._data = Path(config.webhook.data if config.webhook else None)

    def models(self) -> tuple[str, ...]:
        return tuple(self._config.models)

    def traits(self, model: str) -> Traits:
        """What the rules need to know; a model that left the configuration has the provider's own times."""
        config, timing = self._config, self._config.timing
        entry = config.models.get(model)
        return Traits(
            provider=self.name,
            idempotent=config.idempotency is not None,
            key_life_s=int(config.idempotency.key_life_s) if config.idempotency else 0,
            lookup=config.lookup is not None,
            cancel=config.cancel is not None,
            webhooks=self._webhooks and config.webhook is not None and config.webhook.trusted,
            expected_s=entry.expected_s if entry and entry.expected_s is not None else timing.expected_s,
            max_run_s=timing.max_run_s,
            poll_floor_s=timing.poll_floor_s,
            lost_after=timing.lost_after,
            limit=config.limit,
        )

    def check_input(self, model: str, body: dict[str, object]) -> None:
        """Raise Unprocessable where the model is unknown, a field is missing, or one is ours to set."""
        entry = self._config.models.get(model)
        if entry is None:
            known = ", ".join(self._config.models)
            raise Unprocessable(f"model: {self.name} has no such model; it has: {known}.")
        for field in entry.input_required:
            if body.get(field) in (None, "", [], {}):
                raise Unprocessable(f"input.{field}: is missing; {model} needs it.")
        for field in self._set_by_us():
            if self._config.submit.input_field is None and field in body:
                raise Unprocessable(f"input.{field}: is set by this service; leave it out.")

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        """The submit, the same bytes for the same job and submission; `submit` adds the API key."""
        submit = self._config.submit
        given: dict[str, object] = body if submit.input_field is None else {submit.input_field: body}
        ours = {
            submit.model_field: job.model,
            submit.webhook_field: webhook_url,
            submit.reference_field: job.reference,
        }
        document = {**given, **submit.extra, **{name: value for name, value in ours.items() if name and value}}
        url = self._config.base_url.rstrip("/") + filled(submit.path, model=job.model)
        if submit.webhook_query and webhook_url:
            url += f"{'&' if '?' in url else '?'}{submit.webhook_query}={quote(webhook_url, safe='')}"
        headers = {"Accept": "application/json", "Content-Type": "application/json", **self._config.headers}
        if self._config.idempotency:
            headers[self._config.idempotency.header] = job.reference
        return Request(method=submit.method, url=url, headers=headers, body=_canonical(document))

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered:
        """Send once; again only where the answer proves that our key was refused, and the secret has a newer one."""
        attempt = Attempt(token=token, submission=submission, now=now)
        try:
            key = self._credentials.api_key()
        except ConfigurationError as fault:
            return attempt.answered(AnswerKind.BLOCKED, str(fault))
        except Retryable as fault:
            return attempt.answered(AnswerKind.NOT_ACCEPTED, f"nothing was sent: {fault}")
        answered, refused = self._send(request, key, attempt)
        if refused:
            newer = self._credentials.newer_api_key(key)
            if newer is not None and answered.kind is AnswerKind.BLOCKED:
                answered, _ = self._send(request, newer, attempt)
        return answered

    def poll(self, job: Job, provider_job_id: str) -> Report:  # noqa: ARG002 other vendors need the job
        return self._asking.poll(provider_job_id)

    def lookup(self, job: Job) -> Report:
        return self._asking.lookup(job.reference)

    def cancel(self, job: Job) -> Report:
        return self._asking.cancel(job.provider_job_id)

    def verify(self, delivery: Delivery, now: int) -> Verified:
        """Checked with the secrets as cached; where that fails, once more if a forced look brings others."""
        if self._config.webhook is None:
            raise Unauthorized("This provider sends no webhooks.")
        secrets = self._credentials.webhook_secrets()
        try:
            return verify_standard(secrets, delivery.headers, delivery.body, now)
        except (Unauthorized, ConfigurationError):
            newer = self._credentials.newer_webhook_secrets(secrets)
            if newer is None:
                raise
        return verify_standard(newer, delivery.headers, delivery.body, now)

    def read(self, delivery: Delivery) -> Report:
        """What a verified webhook says of which job; BadRequest for what cannot be used."""
        try:
            value = self._data.find(reading.document(delivery.body, strict=True))
            report = self._vocabulary.report(value, self._credentials.seen, strict=True)
            reading.identifier(report.provider_job_id)
        except Unusable as fault:
            raise BadRequest(f"The webhook cannot be used: {fault}.") from None
        return report

    def link_rules(self, model: str) -> LinkRules:
        results = self._config.results
        entry = self._config.models.get(model)
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
        if not self._config.results.credential_hosts:
            return {}
        return self._credentials.headers(self._credentials.api_key())

    def _send(self, request: Request, key: str, attempt: Attempt) -> tuple[Answered, bool]:
        """What one request came to, and whether our key was refused."""
        signed = replace(request, headers={**request.headers, **self._credentials.headers(key)})
        seen = self._credentials.seen
        try:
            response = self._http.submit(signed)
        except NotSent as fault:
            return attempt.answered(AnswerKind.NOT_ACCEPTED, reading.redacted(str(fault), seen)), False
        except UnsafeUrl as fault:  # refused by us before a byte was sent: our configuration
            return attempt.answered(AnswerKind.BLOCKED, reading.redacted(str(fault), seen)), False
        except NoAnswer as fault:
            return attempt.answered(AnswerKind.AMBIGUOUS, reading.redacted(str(fault), seen)), False
        lists = self._config.answers
        answered = read_answer(response, attempt, lists=lists, vocabulary=self._vocabulary, secrets=seen)
        return answered, response.status == 401

    def _set_by_us(self) -> tuple[str, ...]:
        submit = self._config.submit
        named = (submit.model_field, submit.webhook_field, submit.reference_field)
        return (*submit.extra, *(name for name in named if name))


def _canonical(document: dict[str, object]) -> bytes:
    """Sorted, without spaces, ASCII: the same document is the same bytes in every release."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
