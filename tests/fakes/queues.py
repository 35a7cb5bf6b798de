"""SQS in memory: what was sent, in order, until it is taken."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediajobs.errors import Retryable
from mediajobs.messages import Do


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One message to dispatch."""

    job: str
    do: Do
    delay_s: int = 0


@dataclass
class MemoryQueues:
    """Implements `ports.Queues`. `fail` sends that many next sends astray."""

    dispatched: list[Sent] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    store_delays: list[int] = field(default_factory=list)
    urgent: list[str] = field(default_factory=list)  # of those to store
    fail: int = 0

    def dispatch(self, job_id: str, do: Do, delay_s: int = 0) -> None:
        self._may_fail()
        self.dispatched.append(Sent(job=job_id, do=do, delay_s=max(0, min(900, delay_s))))

    def store(self, job_id: str, delay_s: int = 0, *, urgent: bool = False) -> None:
        self._may_fail()
        self.urgent += [job_id] if urgent else []
        self.stored.append(job_id)
        self.store_delays.append(max(0, min(900, delay_s)))

    def take_dispatched(self) -> list[Sent]:
        """All messages to dispatch; they are gone from the queue then."""
        taken, self.dispatched = self.dispatched, []
        return taken

    def take_stored(self) -> list[str]:
        """All messages to store; they are gone from the queue then."""
        taken, self.stored, self.store_delays = self.stored, [], []
        return taken

    def _may_fail(self) -> None:
        if self.fail:
            self.fail -= 1
            raise Retryable("the queue did not answer")
