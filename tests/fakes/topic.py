"""SNS FIFO in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediajobs.errors import Retryable


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One send that reached the topic."""

    message: str
    group: str
    deduplication_id: str
    tenant: str = ""


@dataclass
class MemoryTopic:
    """Implements `ports.Topic`. `sends` has every send, `published` what a subscriber gets: one per deduplication id.

    `fail` makes that many next sends fail before they arrive, `cut` makes them arrive and fail all the same.
    """

    sends: list[Publication] = field(default_factory=list)
    fail: int = 0
    cut: int = 0

    def publish(self, message: str, *, group: str, deduplication_id: str, tenant: str) -> None:
        if self.fail:
            self.fail -= 1
            raise Retryable("the topic did not answer")
        self.sends.append(Publication(message=message, group=group, deduplication_id=deduplication_id, tenant=tenant))
        if self.cut:
            self.cut -= 1
            raise Retryable("the topic's answer was lost")

    @property
    def published(self) -> list[Publication]:
        """As a consumer that honours the deduplication id sees them."""
        first: dict[str, Publication] = {}
        for send in self.sends:
            first.setdefault(send.deduplication_id, send)
        return list(first.values())
