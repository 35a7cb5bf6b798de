"""One question to a provider's API: with our key, asked again once where it was refused and a newer one is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from mediajobs import links
from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.answers import loose
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.vocabulary import Vocabulary
from mediajobs.errors import ConfigurationError, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.messages import LinkRules, Report, ReportKind, Request, Response
from mediajobs.ports import Http

# Names may have slashes and keep them; ids and keys are escaped.
_WHOLE = frozenset({"model", "endpoint"})
_BLOCKED = frozenset({401, 402, 403})
# By which vendors tell that they do not know a key, any more perhaps: 401, or 403 where they have no 401.
KEY_REFUSED = frozenset({401, 403})
_MISSING = frozenset({404, 410})


def filled(path: str, values: Mapping[str, str]) -> str:
    """`path` with its placeholders filled in, escaped so that a value stays within its segment."""
    return re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]], safe="/" if found[1] in _WHOLE else ""), path)


def unavailable(message: str, retry_after_s: float | None = None) -> Report:
    """No usable answer, which says nothing of the job."""
    return Report(kind=ReportKind.UNAVAILABLE, message=message[: reading.MOST_MESSAGE], retry_after_s=retry_after_s)


class Calls:
    """Everything that is asked with GET and the like; submits go another way."""

    def __init__(self, config: Provider, vocabulary: Vocabulary, credentials: Credentials, http: Http) -> None:
        self._config, self._vocabulary = config, vocabulary
        self._credentials, self._http = credentials, http
        self._elsewhere = LinkRules(hosts=tuple(config.poll.hosts), allow_http=config.results.allow_http)

    def url(self, path: str, values: Mapping[str, str]) -> str:
        return self._config.base_url.rstrip("/") + filled(path, values)

    def may_ask(self, url: str) -> bool:
        """Whether our key may go to this URL, which an answer named."""
        try:
            target = links.parse(url)
        except UnsafeUrl:
            return False
        rules = self._elsewhere
        return links.host_in(target.host, rules.hosts) and (target.scheme == "https" or rules.allow_http)

    def ask(self, method: str, url: str) -> Response | Report:
        """The answer, or a report that says why there is none. Never raises."""
        try:
            key = self._credentials.api_key()
        except ConfigurationError as fault:
            return Report(kind=ReportKind.BLOCKED, message=reading.words(str(fault)))
        except Retryable as fault:
            return unavailable(reading.words(str(fault)))
        answer = self._send(method, url, key)
        if isinstance(answer, Response) and answer.status in KEY_REFUSED:
            newer = self._credentials.newer_api_key(key)
            return answer if newer is None else self._send(method, url, newer)
        return answer

    def failure(self, answer: Response, *, missing: ReportKind) -> Report | None:
        """What an answer that is an error says; None where it is none. A code that is listed counts for more."""
        lists, body = self._config.answers, loose(answer.body)
        code = self._vocabulary.code(body)
        if code is not None and code in lists.blocked_codes:
            return Report(kind=ReportKind.BLOCKED, message=self.message(answer))
        if code is not None and code in lists.missing_codes:
            return Report(kind=missing, message=self.message(answer))
        if 200 <= answer.status < 300 and code is None:
            return None
        if answer.status in _BLOCKED:
            return Report(kind=ReportKind.BLOCKED, message=self.message(answer))
        if answer.status in _MISSING:
            return Report(kind=missing, message=self.message(answer))
        return unavailable(self.message(answer), reading.wait_s(answer.headers, None))

    def message(self, answer: Response) -> str:
        """The error's text in an answer, with its status."""
        said = self._vocabulary.message(loose(answer.body), self._credentials.seen)
        return f"HTTP {answer.status}: {said}".rstrip(": ")[: reading.MOST_MESSAGE]

    def _send(self, method: str, url: str, key: str) -> Response | Report:
        try:
            headers = {"Accept": "application/json", **self._config.headers, **self._credentials.headers(key)}
            return self._http.get(Request(method=method, url=url, headers=headers))
        except ConfigurationError as fault:
            return Report(kind=ReportKind.BLOCKED, message=reading.words(str(fault)))
        except (NotSent, NoAnswer, UnsafeUrl) as fault:
            return unavailable(reading.redacted(reading.words(str(fault), 2000), self._credentials.seen))
