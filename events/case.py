"""One case: an event, what stands before it, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

URN = "urn:mediajobs:problem:"
DONE: dict[str, Any] = {"batchItemFailures": []}


_TOLD = (
    "given", "objects", "provider", "answer", "raises", "after", "registration", "sent", "asked", "published", "told",
    "stored",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`answer` is what the function returns, as far as it is given; `raises` the text of what it raises instead.

    Names in `given` are scenes. `provider` are the answers to the calls that the provider gets, in turn; what it is
    asked is in `asked`. `after` is the job (its id, and fields as `jobs.Job` has them), `sent` the messages put into
    queues, `published`, `told` and `stored` how many jobs were published, events told live and objects stored.
    `objects` stand in the bucket before: what each is, by its key. `registration` is what comes of the tenant's
    callback.
    """

    function: str
    name: str
    says: str
    event: dict[str, Any]
    given: tuple[str, ...] = ()
    objects: dict[str, str] | None = None
    provider: tuple[dict[str, Any], ...] = ()
    answer: dict[str, Any] | None = None
    raises: str | None = None
    after: dict[str, Any] | None = None
    registration: dict[str, Any] | None = None
    sent: tuple[dict[str, Any], ...] = ()
    asked: tuple[str, ...] = ()
    published: int = 0
    told: int = 0
    stored: int = 0

    @property
    def path(self) -> str:
        return f"{self.function}/{self.name}"

    def expected(self) -> dict[str, Any]:
        """What expected.json says of this case."""
        told: dict[str, Any] = {"says": self.says}
        for name in _TOLD:
            value = getattr(self, name)
            if value not in (None, (), 0):
                told[name] = list(value) if isinstance(value, tuple) else value
        return told


def problem(status: int, slug: str) -> dict[str, Any]:
    return {"statusCode": status, "body": {"type": URN + slug, "status": status}}


def document(status: int, headers: dict[str, str] | None = None, /, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"statusCode": status, "body": body}
    return answer | ({"headers": headers} if headers else {})
