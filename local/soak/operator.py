"""A person of scope `operator`, who looks into the provider's own list and answers what can be answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from local.demo.client import Api, ApiError

Listed = Mapping[str, Any]

# At the provider's, but of no more use: it forgot the job, or uses a word for its end that nobody knows.
_USELESS = ("gone", "lost", "archived")


def answer(head: Mapping[str, Any], listed: list[Listed], *, calm: bool) -> dict[str, Any] | None:
    """The decision for a job's open question; None: leave it open for now.

    `listed` is what the provider's list shows of the job's present submission. Only when it is calm, nothing being on
    its way any more, does a person trust a list that shows nothing, or try a failed step again.
    """
    reason = head["attention"]["reason"]
    usable = [job for job in listed if job["state"] not in _USELESS]
    if reason in ("ambiguous_submission", "provider_lost"):
        if usable:
            return {"decision": "adopt", "provider_job_id": usable[-1]["id"]}
        if listed:
            return {"decision": "fail"}
        return {"decision": "resubmit"} if calm and reason == "ambiguous_submission" else None
    if reason == "overdue":
        return {"decision": "fail"} if calm and listed and not usable else None
    return {"decision": "retry"} if calm else None


@dataclass
class Operator:
    """Answers each question of a job once; what was refused is looked at again, what was in vain stays open."""

    api: Api
    provider_url: str
    answered: Counter[str] = field(default_factory=Counter)
    resubmitted: set[str] = field(default_factory=set)
    _tried: set[tuple[str, str, str]] = field(default_factory=set)

    def work(self, heads: Mapping[str, Mapping[str, Any]], *, calm: bool) -> int:
        """How many questions were answered, or should have been and were not taken yet."""
        asked = {job_id: head for job_id, head in heads.items() if head["attention"]}
        if not asked:
            return 0
        try:
            ledger = requests.get(f"{self.provider_url}/_ledger", timeout=10).json()["jobs"]
        except requests.RequestException:
            return len(asked)  # the provider is just being started again
        work = 0
        for job_id, head in asked.items():
            mine = [job for job in ledger if job["reference"].startswith(f"{job_id}.{head['submission']}.")]
            decision = answer(head, mine, calm=calm)
            if decision is not None:
                work += self._resolve(job_id, head["attention"], decision)
        return work

    def _resolve(self, job_id: str, attention: Mapping[str, Any], decision: Mapping[str, Any]) -> bool:
        """False where it had been answered before, in vain."""
        tried = (job_id, str(attention["reason"]), decision["decision"])
        if tried in self._tried:
            return False
        if decision["decision"] == "resubmit":
            self.resubmitted.add(job_id)  # before the call: an answer that is lost may have taken effect
        try:
            self.api.resolve(job_id, **decision, attention_version=attention["version"])
        except (ApiError, requests.RequestException):
            return True  # another question by now, or too early to resubmit: the next look tells
        self._tried.add(tried)
        self.answered[decision["decision"]] += 1
        return True
