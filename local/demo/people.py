"""What a person does: three jobs whose answers are cut and whose webhooks never come, resolved one each way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import requests

from local.demo.client import Api, ApiError
from local.provider.plans import DRAWN

PROVIDER = "sim-nokey"
WAYS = ("adopt", "resubmit", "fail")


@dataclass
class People:
    """Submits the three, and answers each question under the version at which it was asked."""

    user: Api
    operator: Api
    provider_url: str
    alone: bool  # nobody else uses the account: no fault but these
    ids: dict[str, str] = field(default_factory=dict)
    resolved: dict[str, str] = field(default_factory=dict)

    def submit(self) -> None:
        entry = {"next": len(WAYS), "provider": PROVIDER, "fault": {"close_after": 1, "drop": 1}}
        wanted: dict[str, Any] = {"script": [entry]}
        if self.alone:
            wanted["providers"] = {PROVIDER: dict.fromkeys(DRAWN, 0.0)}
        requests.post(f"{self.provider_url}/_faults", json=wanted, timeout=10).raise_for_status()
        for number, way in enumerate(WAYS):
            self.ids[way] = self.user.submit(PROVIDER, number, f"person-{way}")

    def until_asked(self, seconds: float) -> bool:
        """Wait until each of the three shows `ambiguous_submission`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            asked = [self.user.get(job_id)["attention"] for job_id in self.ids.values()]
            if all(asked):
                return True
            time.sleep(0.5)
        return False

    def resolve(self) -> None:
        """One each way, over HTTP with the operator's key. The answer names what was asked."""
        for way, job_id in self.ids.items():
            job = self.operator.get(job_id)
            answer: dict[str, Any] = {"decision": way, "attention_version": job["attention"]["version"]}
            if way == "adopt":
                answer["provider_job_id"] = self._found_at_provider(job_id)
            self._resolved(way, job_id, answer)

    def _resolved(self, way: str, job_id: str, answer: dict[str, Any]) -> None:
        """A resubmit is refused while the cut request may still be on the wire: then a little later."""
        for _ in range(45):
            try:
                self.operator.resolve(job_id, **answer)
            except ApiError as error:
                if error.status != 409 or "lease" not in str(error):
                    raise
                print(f"  {way}: {error.problem['detail']}", flush=True)
                time.sleep(5)
            else:
                self.resolved[way] = job_id
                print(f"  {way}: {job_id} resolved", flush=True)
                return
        raise ApiError(409, {"detail": f"{way} was never taken"})

    def _found_at_provider(self, job_id: str) -> str:
        """The person looks in the provider's own list, here its ledger."""
        jobs = requests.get(f"{self.provider_url}/_ledger", timeout=10).json()["jobs"]
        return str(next(job["id"] for job in jobs if job["reference"].startswith(job_id)))
