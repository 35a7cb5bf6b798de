"""A provider's shared state: slot rows, pause, rounds of the waiting room, ids that are taken."""

from __future__ import annotations

from typing import Any

from mediajobs.adapters.table import expressions as ex
from mediajobs.adapters.table.calls import TRIES, Calls, Refused
from mediajobs.adapters.table.values import decoded
from mediajobs.clock import Chance
from mediajobs.errors import WriteConflict
from mediajobs.pauses import Pause, PauseReason, Provider


class ProviderRows:
    """The part of the store that knows providers."""

    def __init__(self, calls: Calls, chance: Chance) -> None:
        self._calls = calls
        self._chance = chance

    def provider(self, name: str) -> Provider:
        held: dict[str, str] = {}
        state: dict[str, Any] = {}
        for item in self._calls.pages(ex.of_provider(name)):
            row = decoded(item)
            if row["sk"] == ex.PAUSE:
                state = row
            else:
                held[row["sk"]] = row["job"]
        return Provider(
            name=name,
            held=tuple(held),
            holders=tuple(held.values()),
            pause=_pause(state),
            round=state.get("round", 0),
        )

    def save_pause(self, provider: str, before: Pause, after: Pause) -> bool:
        token = self._chance.token()
        try:
            self._calls.call("update_item", ex.save_pause(provider, before, after, token))
        except Refused as refused:
            return decoded(refused.item or {}).get("by") == token
        return True

    def raise_round(self, provider: str, reached: int) -> None:
        self._unless_refused(ex.raise_round(provider, reached))

    def next_turn(self, provider: str, tenant: str, present: int) -> int:
        for _ in range(TRIES):
            for request in (ex.next_round, ex.present_round):
                try:
                    answer = self._calls.call("update_item", request(provider, tenant, present))
                except Refused:
                    continue
                return int(answer["Attributes"]["round"]["N"])
        raise WriteConflict(f"turns of {tenant} at {provider} change faster than they can be read")

    def give_back_turn(self, provider: str, tenant: str) -> None:
        self._unless_refused(ex.round_back(provider, tenant))

    def bind(self, provider: str, provider_job_id: str, job_id: str) -> str:
        try:
            self._calls.call("put_item", ex.bind(provider, provider_job_id, job_id))
        except Refused as refused:
            return str(decoded(refused.item or {}).get("job") or self.bound(provider, provider_job_id) or job_id)
        return job_id

    def bound(self, provider: str, provider_job_id: str) -> str | None:
        item = self._calls.call("get_item", ex.get(ex.bound_key(provider, provider_job_id), strong=True)).get("Item")
        return None if item is None else str(item["job"]["S"])

    def _unless_refused(self, params: ex.Params) -> None:
        try:
            self._calls.call("update_item", params)
        except Refused:
            return


def _pause(row: dict[str, Any]) -> Pause:
    reason = row.get("reason")
    return Pause(
        reason=None if reason is None else PauseReason(reason),
        until=row.get("until", 0),
        step=row.get("step", 0),
        bad=row.get("bad", 0),
        limit=row.get("limit"),
        note=row.get("note", ""),
        revision=row.get("revision", 0),
    )
