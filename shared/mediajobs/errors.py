"""Every error the product raises; this module imports nothing of ours.

Two questions are answered by the class alone: is the caller told (`Problem`), and is trying again
the cure (`Retryable`). Everything else is a fault of configuration or of ours and is raised as such.

    MediaJobsError
    ├── Problem             told to the API's caller as RFC 9457, with a stable `type`
    ├── Retryable           raised so that SQS, the stream or the provider tries again
    │   ├── Throttled · WriteConflict · InProgress
    ├── NotSent             HTTP: no byte of the request left this machine
    ├── NoAnswer            HTTP: the request may have arrived; nobody can tell
    ├── UnsafeUrl           a URL that must not be fetched (SSRF)
    ├── InvalidMedia        a result that is not the media it should be
    ├── LinkDead            a result link that no longer serves
    └── ConfigurationError  names the field and what to write there
"""

from __future__ import annotations


class MediaJobsError(Exception):
    """Root of every error of the product."""


class Problem(MediaJobsError):
    """An answer to the API's caller: HTTP status, stable slug and a detail that says what to do next."""

    status = 500
    slug = "internal"
    title = "Internal error"

    def __init__(self, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members = members


class BadRequest(Problem):
    """The request cannot be read at all."""

    status, slug, title = 400, "bad-request", "The request cannot be read"


class Unauthorized(Problem):
    """The caller did not prove who it is; the answer tells an attacker nothing more."""

    status, slug, title = 401, "unauthorized", "Not authorized"


class Forbidden(Problem):
    """The caller is known and may not do this."""

    status, slug, title = 403, "forbidden", "Not allowed"


class NotFound(Problem):
    """No such thing, or it belongs to another tenant; the two look alike on purpose."""

    status, slug, title = 404, "not-found", "Not found"


class Conflict(Problem):
    """The job is not in a state in which this can be done."""

    status, slug, title = 409, "conflict", "Not possible in the job's present state"


class TooLarge(Problem):
    """The body is larger than accepted."""

    status, slug, title = 413, "too-large", "The request is too large"


class Unprocessable(Problem):
    """Well-formed, but a field or the key's earlier payload says otherwise."""

    status, slug, title = 422, "unprocessable", "The request is well-formed but wrong"


class TooManyRequests(Problem):
    """Ask again after `retry_after_s` seconds."""

    status, slug, title = 429, "too-many-requests", "Too many requests"


class Unavailable(Problem):
    """A passing fault; the same request may succeed after `retry_after_s` seconds."""

    status, slug, title = 503, "unavailable", "Try again shortly"


class Retryable(MediaJobsError):
    """Nothing was decided; doing the same again later is safe and is the cure."""


class Throttled(Retryable):
    """AWS refused for load."""


class WriteConflict(Retryable):
    """DynamoDB TransactionConflict, still there after our own tries."""


class InProgress(Retryable):
    """A twin of this very piece of work is running; in progress is never done."""


class NotSent(MediaJobsError):
    """No byte of the request left: DNS, refused or TLS. Proof that nothing was accepted."""


class NoAnswer(MediaJobsError):
    """The request may have been accepted: timeout, reset or a broken answer."""


class UnsafeUrl(MediaJobsError):
    """The URL is refused before any byte is sent to it."""


class UnlistedHost(UnsafeUrl):
    """It leads to a host that our configuration does not list: no fault of the file that lies there."""


class InvalidMedia(MediaJobsError):
    """Downloaded bytes are not what the job asked for."""


class LinkDead(MediaJobsError):
    """The result link does not serve the media (401, 403, 404, 410, an error page)."""


class ConfigurationError(MediaJobsError):
    """A setting is missing or wrong; the message names it and says what to write."""
