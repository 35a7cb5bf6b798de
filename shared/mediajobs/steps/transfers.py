"""Long downloads that outlive a run: what another run needs to go on stands beside the job, its parts stand in S3.

A run holds its notes under a lease, so two runs never feed one upload. Short downloads are never noted: they are as
quickly made again, and cost no write. See docs/decisions/0015-a-killed-download-goes-on.md.
"""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import HOUR, MINUTE, SECOND
from mediajobs.jobs.model import Job, Transfer
from mediajobs.ports import World

RUN_MS = 830 * SECOND  # of the function's 900: time is left to read back and to write
LEASE_MS = 905 * SECOND  # after this the function is certainly gone, and its message has not come again yet (910)
FIRST_MS = MINUTE  # a run this soon is the first one: there is nothing to look for
KEPT_MS = 26 * HOUR  # the bucket drops parts of an unfinished upload after a day
MOST_ATTEMPTS = 12
MOST_TIMES = 3  # that a file's bytes may come


class Transfers:
    """The long downloads of one job, as one run knows them. Numbers are those of the outputs."""

    def __init__(self, world: World, job: Job, run: str) -> None:
        self._world = world
        self._job = job
        self.run = run
        started = world.clock.now()
        self.until = started + RUN_MS
        self._lease_until = started + LEASE_MS
        self._mine: dict[int, Transfer] = {}

    def take(self) -> bool:
        """Take over what an earlier run left; False where that run may still be at it."""
        now = self._world.clock.now()
        if not self._job.failures and now - self._job.since < FIRST_MS:
            return True
        found = self._world.store.transfers(self._job.id)
        if any(one.lease_until > now for one in found):
            return False
        if all(self._save(replace(one, attempts=one.attempts + 1), one.owner) for one in found):
            return True
        self.give_back()
        return False

    def of(self, number: int) -> Transfer | None:
        """What this run may go on with."""
        return self._mine.get(number)

    def note(self, transfer: Transfer) -> bool:
        """Keep it for another run; False where another run keeps one."""
        return self._save(transfer, self.run if transfer.number in self._mine else None)

    def count(self, number: int, *, attempts: int, received: int) -> None:
        """Remember what it has cost, for the next note."""
        if number in self._mine:
            self._mine[number] = replace(self._mine[number], attempts=attempts, received=received)

    def give_back(self, *, afresh: bool = False) -> None:
        """This run is over, and not at its end: the next one need not wait for the lease.

        `afresh`: a person is asked, and who has it fetched again gives it a new budget.
        """
        for transfer in self._mine.values():
            left = replace(transfer, attempts=0, received=0) if afresh else transfer
            self._put(replace(left, owner="", lease_until=0), self.run)

    def _save(self, transfer: Transfer, owner: str | None) -> bool:
        mine = replace(transfer, owner=self.run, lease_until=self._lease_until)
        if not self._put(mine, owner):
            return False
        self._mine[mine.number] = mine
        return True

    def _put(self, transfer: Transfer, owner: str | None) -> bool:
        ttl = (self._world.clock.now() + KEPT_MS) // SECOND
        return self._world.store.save_transfer(self._job.id, transfer, ttl, owner=owner)


def spent(transfer: Transfer) -> bool:
    """It has been tried often enough, or its bytes have come often enough."""
    return transfer.attempts >= MOST_ATTEMPTS or transfer.received > MOST_TIMES * transfer.length
