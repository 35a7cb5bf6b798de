"""Registrations, the subscription and notify's queue in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mediajobs.callbacks import Notice, Registration
from mediajobs.errors import Retryable


@dataclass
class MemoryCallbacks:
    """Implements `callbacks.Callbacks`. It passes the contract suite of the real one.

    `heard` is what each `listen` said; `waits` and `buried` what was asked of the queues, in order. `lose` lets
    somebody else write before that many next saves.
    """

    rows: dict[str, Registration] = field(default_factory=dict)
    heard: list[tuple[str, ...]] = field(default_factory=list)
    waits: list[tuple[Notice, int]] = field(default_factory=list)
    buried: list[tuple[Notice, str]] = field(default_factory=list)
    saves: int = 0
    lose: int = 0
    fail: int = 0

    def registration(self, tenant: str) -> Registration | None:
        if self.fail:
            self.fail -= 1
            raise Retryable("the table did not answer")
        return self.rows.get(tenant)

    def save(self, before: Registration | None, after: Registration) -> bool:
        standing = self.rows.get(after.tenant)
        if self.lose and standing is not None:
            self.lose -= 1
            standing = self.rows[after.tenant] = replace(standing, revision=standing.revision + 1)
        if (standing.revision if standing else 0) != (before.revision if before else 0):
            return False
        self.saves += 1
        self.rows[after.tenant] = replace(after, revision=(before.revision if before else 0) + 1)
        return True

    def registered(self) -> tuple[str, ...]:
        return tuple(sorted(tenant for tenant, row in self.rows.items() if not row.ended))

    def listen(self, tenants: Sequence[str]) -> None:
        self.heard.append(tuple(tenants))

    def later(self, notice: Notice, seconds: int) -> None:
        self.waits.append((notice, seconds))

    def bury(self, notice: Notice, why: str) -> None:
        self.buried.append((notice, why))
