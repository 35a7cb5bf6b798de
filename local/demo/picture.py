"""One job of the demo is made from a picture that was handed in; what the provider read must be that picture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from local.demo.client import Api
from local.provider import media

TYPE, MODEL = "image/png", "animate-1"


@dataclass
class Picture:
    """The picture and the jobs that it was named in."""

    body: bytes = field(default_factory=lambda: media.make(TYPE, "demo"))
    ids: list[str] = field(default_factory=list)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    def submit(self, user: Api, provider: str, number: int, key: str) -> str:
        """Hand the picture in and name it in a job."""
        given = {"prompt": "the wheels begin to turn", "image": user.upload(self.body, TYPE)}
        job_id = user.submit(provider, number, key, model=MODEL, input=given)
        self.ids.append(job_id)
        return job_id

    def read_by_provider(self, ledger: dict[str, Any]) -> list[dict[str, Any]]:
        """What the provider read for these jobs, with the job it read it for."""
        jobs = [(job, job["reference"].split(".")[0]) for job in ledger["jobs"]]
        return [read | {"of": job_id} for job, job_id in jobs if job_id in self.ids for read in job["inputs"]]

    def figures(self, ledger: dict[str, Any]) -> dict[str, int]:
        """For the report; nothing where no job was made from it."""
        right = [read for read in self.read_by_provider(ledger) if read["sha256"] == self.sha256]
        return {"pictures_handed_in": len(self.ids), "pictures_read": len(right)} if self.ids else {}

    def violations(self, jobs: dict[str, dict[str, Any]], ledger: dict[str, Any]) -> list[str]:
        """Another picture than ours was read, or a film was made without one."""
        read = self.read_by_provider(ledger)
        found = [f"input: {each['of']} was made from another file" for each in read if each["sha256"] != self.sha256]
        without = {job_id for job_id in self.ids if jobs[job_id].get("status") == "succeeded"} - {r["of"] for r in read}
        return found + [f"input: {job_id} succeeded and its picture was never read" for job_id in sorted(without)]
