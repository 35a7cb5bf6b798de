"""What one field of a provider's configuration cannot know of another. Pure; each check names its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mediajobs.adapters.providers.config import Configuration, Provider
from mediajobs.adapters.providers.webhook_config import HINTS, WITH_HEADER, Webhook

_NAME = re.compile(r"[a-z0-9-]{1,32}")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# One attempt's lease, HTTP timeout and skew: a key that lives no longer protects nothing.
_SHORTEST_KEY_LIFE_S = 100
_SHORTEST_POLL_S, _LONGEST_POLL_S = 1, 300
_CODE_LISTS = ("ok_codes", "rejected_codes", "blocked_codes", "not_accepted_codes")
_ANSWER_LISTS = ("rejected", "blocked", "not_accepted", "not_accepted_with_retry_after")
_OWN_HEADERS = frozenset({"accept", "content-type", "content-length", "host", "connection", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in the file: where, and what to write instead."""

    table: tuple[str, ...]
    field: str
    text: str


def faults(configuration: Configuration) -> Iterator[Fault]:
    """Everything wrong between the fields of a file whose fields are each well-formed."""
    if not configuration.providers:
        yield Fault((), "providers", "is empty; add a table [providers.NAME]")
    for name, provider in configuration.providers.items():
        for check in CHECKS:
            for table, field, text in check(name, provider):
                yield Fault(("providers", name, *table), field, text)


Found = Iterator[tuple[tuple[str, ...], str, str]]


def _name(name: str, provider: Provider) -> Found:
    if not _NAME.fullmatch(name):
        yield (), "NAME", "a provider's name has 1 to 32 of the characters a-z, 0-9 and -"
    if not provider.models:
        yield (), "models", "is empty; add a table [providers.NAME.models.MODEL] with its kind"
    for model in provider.models:
        if len(model) > 100 or not model.isprintable() or model != model.strip():
            yield ("models", model), "MODEL", "a model's name has 1 to 100 printable characters"


def _address(_: str, provider: Provider) -> Found:
    url = provider.base_url
    if url.startswith("http://") and not provider.results.allow_http:
        yield (), "base_url", "must begin with https:// (http:// only with results.allow_http = true, on a laptop)"
    rest = url.split("://", 1)[1]
    if rest.startswith("/") or not set(rest).isdisjoint("?#@{}\\"):
        yield (), "base_url", "is a host and perhaps a path, without user, query or placeholder"


def _paths(_: str, provider: Provider) -> Found:
    places = [("submit", provider.submit.path, "model", False), ("poll", provider.poll.path, "id", True)]
    if provider.lookup:
        places.append(("lookup", provider.lookup.path, "reference", True))
    if provider.cancel:
        places.append(("cancel", provider.cancel.path, "id", True))
    if provider.result:
        places.append(("result", provider.result.path, "key" if provider.result.key else "id", True))
    for table, path, known, needed in places:
        for text in _path(path, known, needed=needed):
            yield (table,), "path", text
    if any("{endpoint}" in path for _, path, _, _ in places) and provider.adapter != "fal":
        yield from _endpoints(provider)


def _path(path: str, known: str, *, needed: bool) -> Iterator[str]:
    names = _PLACEHOLDER.findall(path)
    odd = [name for name in names if name not in (known, "model", "endpoint")]
    yield from (f"{{{name}}} is no placeholder here; there is {{{known}}}" for name in odd)
    if not set(_PLACEHOLDER.sub("", path)).isdisjoint("{}"):
        yield f"has a brace too many; a placeholder is written {{{known}}}"
    if needed and known not in names:
        yield f"must contain {{{known}}}"
    if "#" in path:
        yield "must not contain #"


def _endpoints(provider: Provider) -> Found:
    for name, model in provider.models.items():
        if model.endpoint is None:
            yield ("models", name), "endpoint", "is missing; paths of this provider have {endpoint}"


def _submit(_: str, provider: Provider) -> Found:
    submit = provider.submit
    seen: dict[str, str] = dict.fromkeys(submit.extra, "extra")
    for field in ("model_field", "input_field", "webhook_field", "reference_field"):
        name = getattr(submit, field)
        if name is None:
            continue
        if name in seen:
            yield ("submit",), field, f'"{name}" is used by {seen[name]} too'
        seen[name] = field
    if submit.webhook_field and submit.webhook_query:
        yield ("submit",), "webhook_query", "the webhook URL goes in one place; leave out this or webhook_field"
    told = submit.model_field is not None or "{model}" in submit.path or "{endpoint}" in submit.path
    if not told and len(provider.models) > 1:
        yield ("submit",), "model_field", "is missing: nothing would tell the provider which of the models is meant"


def _headers(_: str, provider: Provider) -> Found:
    seen = dict.fromkeys(_OWN_HEADERS, "a header of this service")
    for name in provider.headers:
        if name.lower() in seen:
            yield ("headers",), name, f"is {seen[name.lower()]}; leave it out"
        seen[name.lower()] = f"used by headers.{name}"
    if provider.auth.header.lower() in seen:
        yield ("auth",), "header", f"{provider.auth.header} is {seen[provider.auth.header.lower()]}"
    seen[provider.auth.header.lower()] = "used by auth"
    if provider.idempotency and provider.idempotency.header.lower() in seen:
        header = provider.idempotency.header
        yield ("idempotency",), "header", f"{header} is {seen[header.lower()]}"


def _webhook(_: str, provider: Provider) -> Found:
    if provider.webhook is not None:
        for field, text in _proof(provider, provider.webhook):
            yield ("webhook",), field, text
    per_job = provider.submit.webhook_field or provider.submit.webhook_query
    if per_job and provider.webhook is None:
        field = "webhook_field" if provider.submit.webhook_field else "webhook_query"
        yield ("submit",), field, "asks for webhooks; add a table [providers.NAME.webhook] that says how to read them"


def _proof(provider: Provider, webhook: Webhook) -> Iterator[tuple[str, str]]:
    """What a strategy needs, and how far what it proves can be trusted."""
    strategy = f'strategy = "{webhook.strategy}"'
    per_job = provider.submit.webhook_field or provider.submit.webhook_query
    if webhook.strategy in HINTS and webhook.trusted:
        yield "trusted", f"must be false: {strategy} does not prove that a delivery is new"
    if webhook.strategy in WITH_HEADER and webhook.header is None:
        yield "header", f'is missing: {strategy} needs its name, for example "X-Signature"'
    if webhook.strategy == "none" and per_job is None:
        yield "strategy", '"none" needs a URL for each job: set submit.webhook_field or submit.webhook_query'
    if webhook.strategy == "ed25519-jwks" and webhook.jwks_url is None:
        yield "jwks_url", f"is missing: {strategy} needs the address of the provider's keys"
    if webhook.jwks_url and webhook.jwks_url.startswith("http://") and not provider.results.allow_http:
        yield "jwks_url", "must begin with https:// (http:// only with results.allow_http = true, on a laptop)"
    if webhook.confirm and webhook.strategy in HINTS:
        yield "confirm", f"is of no use: what {strategy} proves is confirmed anyway; leave it out"


def _codes(_: str, provider: Provider) -> Found:
    places: dict[str, str] = {}
    for field in _CODE_LISTS:
        for code in getattr(provider.answers, field):
            if code in places:
                yield ("answers",), field, f'"{code}" is listed in {places[code]} too'
            places.setdefault(code, field)
    if places and provider.answers.code is None:
        yield ("answers",), "code", "is missing: nothing says where the codes stand that are listed here"


def _elsewhere(_: str, provider: Provider) -> Found:
    if provider.read.poll_url and not provider.poll.hosts:
        yield ("poll",), "hosts", "is missing: read.poll_url is only followed to the hosts that are listed here"
    if provider.results.life_s and not provider.read.completed_at:
        yield ("read",), "completed_at", "is missing: results.life_s counts from it"


def _key(_: str, provider: Provider) -> Found:
    key = provider.idempotency
    if key and key.key_life_s <= _SHORTEST_KEY_LIFE_S:
        text = f"must be more than {_SHORTEST_KEY_LIFE_S} (a key is not used in its last {_SHORTEST_KEY_LIFE_S} s)"
        yield ("idempotency",), "key_life_s", f"{text}; leave the table out if keys live no longer"
    if key and 409 in provider.answers.rejected:
        text = "409 may say that the first request with this key is still running; leave it out"
        yield ("answers",), "rejected", text
    if provider.lookup and not provider.submit.reference_field and not key:
        text = "is missing: a job cannot be found by a reference that was never sent"
        yield ("submit",), "reference_field", f'{text}; write the field\'s name, for example "reference"'


def _statuses(_: str, provider: Provider) -> Found:
    for word in ("succeeded", "failed"):
        if word not in provider.statuses.values():
            yield ("statuses",), word, f'no word of the provider means "{word}"; add one, for example done = "{word}"'


def _answers(_: str, provider: Provider) -> Found:
    places: dict[int, str] = {}
    for field in _ANSWER_LISTS:
        for status in getattr(provider.answers, field):
            if status in places:
                where = "twice" if places[status] == field else f"in two places ({places[status]} and {field})"
                yield ("answers",), field, f"{status} is listed {where}"
            places.setdefault(status, field)
            if field in ("rejected", "blocked") and status >= 500:
                yield ("answers",), field, f"{status} proves nothing of the request or the account; list 400 to 499"
            if field.startswith("not_accepted") and status >= 500 and status != 503:
                text = f"{status} may come after the job was made; of 500 and more only 503 can be listed"
                yield ("answers",), field, text


def _timing(_: str, provider: Provider) -> Found:
    timing = provider.timing
    if not _SHORTEST_POLL_S <= timing.poll_floor_s <= _LONGEST_POLL_S:
        text = f"must be from {_SHORTEST_POLL_S} to {_LONGEST_POLL_S} seconds"
        yield ("timing",), "poll_floor_s", text
    longest = f"must be less than timing.max_run_s ({timing.max_run_s:g})"
    if timing.expected_s >= timing.max_run_s:
        yield ("timing",), "expected_s", longest
    for name, model in provider.models.items():
        if model.expected_s is not None and model.expected_s >= timing.max_run_s:
            yield ("models", name), "expected_s", longest


def _links(_: str, provider: Provider) -> Found:
    results = provider.results
    for host in results.credential_hosts:
        if results.hosts and not any(_covers(pattern, host) for pattern in results.hosts):
            yield ("results",), "credential_hosts", f'"{host}" is not among hosts; add it there too'


def _covers(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


Check = Callable[[str, Provider], Found]
CHECKS: tuple[Check, ...] = (
    _name,
    _address,
    _paths,
    _submit,
    _headers,
    _webhook,
    _key,
    _statuses,
    _answers,
    _codes,
    _timing,
    _links,
    _elsewhere,
)
