"""What one model allows to happen, and how often. Small numbers: each model looks at one subject from all sides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mediajobs.jobs.events import Traits

# Calls between which anything may happen; the others are taken together with the call before them. A request that
# is sent late is the same as one that is handled late, so `send` is none of them.
FINE = frozenset(
    {
        "load",
        "write",
        "lost",
        "answer",
        "poll",
        "lookup",
        "cancel",
        "publish",
        "begin",
        "end",
        "clear",
        "stream",
        "put",
        "delete",
        "save_pause",
        "bind",
        "create",
        "input",
    }
)

DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One bounded world. `left` names what may still happen: invocations by kind, and faults."""

    name: str
    says: str
    traits: Traits
    left: dict[str, int]
    grid: tuple[int, ...] = (0, 61, 400)  # seconds at which the world may stand
    start_within_s: int = DAY_S
    tenants: tuple[str, ...] = ("a",)  # one job each
    born: bool = True  # the jobs stand already
    limit: int = 1
    prelude: tuple[str, ...] = ()  # what has happened before: a kind for job 0 (or job n: "kind#n"), or "ends"
    fine: frozenset[str] = FINE
    answers: tuple[str, ...] = ("refuse",)  # beside accepting and silence: refuse wait reject block
    people: tuple[str, ...] = ()  # the words that an operator uses
    pauses: bool = False  # the provider's pause is kept, else every write of it goes nowhere
    kept: frozenset[str] = frozenset()  # idempotency records: intake, publish
    links: tuple[str, ...] = ("good",)  # what a result link may serve
    ends: tuple[int, ...] = (1, 2)  # how provider jobs may end
    echo: bool = False  # the provider repeats our reference
    says_where: bool = False  # an answer says where to ask for the job
    rotates_s: int | None = None  # when a changed base URL makes the same request another one
    overruns: bool = False  # a provider job may live beyond max run
    loses: bool = False  # the provider may forget its jobs: 404 for good
    clears: bool = False  # published heads may be removed by their ttl
    words: tuple[str, ...] = ("running", "end")  # webhooks: a sign of life, the end, a word that nobody knows
    cancel_ways: tuple[str, ...] = ("now", "later")
    life_s: dict[str, int] = field(default_factory=dict)  # how long an invocation may take, by kind
    recovers: bool = True  # every state is also recovered from
    patience_s: int = 3 * DAY_S  # within which a recovery has to end
    long: dict[str, int] = field(default_factory=dict)  # what is allowed more often in the long form
    long_grid: tuple[int, ...] | None = None

    def longer(self) -> Model:
        """The same with what the long form allows."""
        return replace(self, left={**self.left, **self.long}, grid=self.long_grid or self.grid)

    def lives_ms(self, kind: str) -> int:
        return 1000 * self.life_s.get(kind, {"store": 900}.get(kind, 100))
