"""Our view beside the truth: the provider's ledger, the topic's subscriber and the table itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import requests

from local.demo.watch import TERMINAL, ended, settled
from local.provider.ledger import peak_in_flight
from mediajobs.adapters.table import items

Job = dict[str, Any]


@dataclass
class Truth:
    """Everything that the invariants are judged by, read once at the end."""

    jobs: dict[str, Job]
    ledger: dict[str, Any]
    published: Counter[str]
    messages: list[dict[str, Any]]
    heads: dict[str, dict[str, Any]]
    slots: dict[str, str]
    limit: int

    @property
    def duplicate_charges(self) -> int:
        """Charges beyond one per job and submission."""
        return sum(count - 1 for count in self.ledger["charges_by_reference"].values())

    @property
    def lost(self) -> list[str]:
        """Not readable; or succeeded at the provider and neither succeeded, in attention nor with a finding."""
        won = {job["reference"].split(".")[0] for job in self.ledger["jobs"] if job["state"] == "completed"}
        found = [job_id for job_id, job in self.jobs.items() if not job]
        for job_id in won & self.jobs.keys():
            job = self.jobs[job_id]
            by_a_person = (job.get("error") or {}).get("code") == "failed_by_operator"
            invalid = (job.get("error") or {}).get("code") == "invalid_result"
            known = job.get("status") == "succeeded" or job.get("attention") or job.get("findings")
            if not known and not by_a_person and not invalid:
                found.append(job_id)
        return found

    @property
    def stuck(self) -> list[str]:
        return [job_id for job_id, job in self.jobs.items() if not settled(job)]

    @property
    def max_in_flight_seen(self) -> int:
        """From the ledger, per provider; submissions made by a person left out."""
        system = [job for job in self.ledger["jobs"] if job["reference"].split(".")[1:2] == ["1"]]
        providers = {job["provider"] for job in system}
        return max((peak_in_flight(j for j in system if j["provider"] == name) for name in providers), default=0)

    @property
    def settled_by(self) -> Counter[str]:
        """Who brought the provider's final word, or ended the job."""
        return Counter(source for job in self.jobs.values() if (source := settler(job)))

    @property
    def polls_per_webhook_settled_job(self) -> float:
        by_webhook = {job_id for job_id, job in self.jobs.items() if settler(job) == "webhook"}
        polls = sum(job["polls"] for job in self.ledger["jobs"] if job["reference"].split(".")[0] in by_webhook)
        return round(polls / len(by_webhook), 3) if by_webhook else 0.0

    @property
    def met_the_block(self) -> set[str]:
        """Jobs of which a submit was refused because the account was blocked."""
        return {job_id for job_id in map(_job_of, self._blocked) if job_id in self.jobs}

    @property
    def blocked_submits(self) -> int:
        return len(self._blocked)

    @property
    def _blocked(self) -> list[dict[str, Any]]:
        return [submit for submit in self.ledger["submits"] if submit["fault"] == "blocked"]

    def violations(self) -> list[str]:
        """One line for each thing that must not be, by the number of its invariant."""
        found = [f"invariant 2: {self.duplicate_charges} duplicate charges"] if self.duplicate_charges else []
        found += [f"invariant 3: {head['id']} has no due_at" for head in self.heads.values() if self._undue(head)]
        found += self._slot_violations()
        if self.max_in_flight_seen > self.limit:
            found.append(f"invariant 4: {self.max_in_flight_seen} in flight, limit {self.limit}")
        found += [f"invariant 5: {job_id} succeeded without results" for job_id in self._without_results()]
        found += self._publication_violations()
        found += [f"invariant 6: {job_id} is stuck" for job_id in self.stuck]
        found += [f"lost: {job_id}" for job_id in self.lost]
        found += [f"invariant 7: {job_id} was ended by the system while it lived" for job_id in self._ended_alive()]
        found += [f"blocked: {job_id} failed for the account's fault" for job_id in self._failed_by_the_block()]
        return found

    def unasked_submissions(self, resubmitted: set[str]) -> list[str]:
        """Charged under a second submission, which only a person may start, although nobody did."""
        later = {job["reference"].split(".")[0] for job in self.ledger["jobs"] if job["reference"].split(".")[1] != "1"}
        return [f"invariant 2: {job_id} was submitted anew and nobody asked for it" for job_id in later - resubmitted]

    def _undue(self, head: dict[str, Any]) -> bool:
        done = head["state"] in TERMINAL and head.get("published_at")
        return not done and not head.get("due_at")

    def _slot_violations(self) -> list[str]:
        holders = {
            (job_id, f"{head['slot']}@S#{head['provider']}") for job_id, head in self.heads.items() if head["slot"]
        }
        rows = {(job_id, row) for row, job_id in self.slots.items()}
        found = [f"invariant 4: {job_id} holds {slot}, which no row says" for job_id, slot in sorted(holders - rows)]
        return found + [f"invariant 4: the row {row} is left from {job_id}" for job_id, row in sorted(rows - holders)]

    def _without_results(self) -> list[str]:
        return [
            job_id
            for job_id, job in self.jobs.items()
            if job.get("status") == "succeeded"
            and not (job["outputs"] and all(o["size"] and len(o["sha256"]) == 64 for o in job["outputs"]))
        ]

    def _publication_violations(self) -> list[str]:
        terminal = {job_id for job_id, job in self.jobs.items() if ended(job)}
        told = Counter(message["request_id"] for message in self.messages)
        found = [f"invariant 5: {job_id} was never published" for job_id in terminal - told.keys()]
        return found + [f"invariant 5: {job_id} was published {n} times" for job_id, n in told.items() if n > 1]

    def _failed_by_the_block(self) -> list[str]:
        """Ended as rejected though no answer but the account's refusals said so."""
        known = {_job_of(job) for job in self.ledger["jobs"]}
        known |= {_job_of(submit) for submit in self.ledger["submits"] if submit["answer"] == "rejected"}
        codes = {job_id: (self.jobs[job_id].get("error") or {}).get("code") for job_id in self.met_the_block}
        return [job_id for job_id, code in codes.items() if code == "rejected" and job_id not in known]

    def _ended_alive(self) -> list[str]:
        """Failed or canceled by the system although the current submission's provider job succeeded."""
        best = {}
        for job in self.ledger["jobs"]:
            job_id, submission = job["reference"].split(".")[:2]
            best[job_id, submission] = job["state"]
        found = []
        for job_id, head in self.heads.items():
            alive = best.get((job_id, str(head.get("submission", 1)))) in ("completed", "processing", "queued")
            code = (self.jobs.get(job_id, {}).get("error") or {}).get("code")
            person = code in ("failed_by_operator", "invalid_result")
            if head["state"] in ("failed", "canceled") and alive and not person:
                found.append(job_id)
        return found


def _job_of(entry: Mapping[str, Any]) -> str:
    """Our job that a line of the ledger is about."""
    return str(entry["reference"]).partition(".")[0]


def settler(job: Job) -> str | None:
    """The source of the last transition that a provider's word or a person made."""
    for entry in reversed(job.get("history") or []):
        if entry.get("to") in ("storing", "failed", "canceled"):
            return str(entry["source"])
    return None


def read(
    info: dict[str, Any], client: Any, jobs: dict[str, Job], limit: int, names: Mapping[str, str] | None = None
) -> Truth:
    """Read the provider's ledger, the subscriber's queue and the table.

    `names` says which of our jobs is meant by what a provider that is told no reference calls them.
    """
    ledger = requests.get(f"{info['provider_url']}/_ledger", timeout=30).json()
    for entry in (*ledger["jobs"], *ledger["submits"]):
        known_as, _, rest = entry["reference"].partition(".")
        entry["reference"] = f"{(names or {}).get(known_as, known_as)}.{rest}"
    messages = once(_drain(client("sqs"), info["queue_urls"]["subscriber"]))
    heads, slots = table(client("dynamodb"), info["table"])
    return Truth(
        jobs=jobs,
        ledger=ledger,
        published=Counter(message["request_id"] for message in messages),
        messages=messages,
        heads={job_id: head for job_id, head in heads.items() if job_id in jobs},
        slots={row: job_id for row, job_id in slots.items() if job_id in jobs},
        limit=limit,
    )


def once(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is left to a consumer that honours the publication's id: the first of each."""
    return list({message["id"]: message for message in reversed(messages)}.values())[::-1]


def _drain(sqs: Any, url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages"):
        for message in batch:
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def table(dynamodb: Any, name: str) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Every head (through the product's own reading) and every slot row."""
    heads: dict[str, dict[str, Any]] = {}
    slots: dict[str, str] = {}
    for page in dynamodb.get_paginator("scan").paginate(TableName=name, ConsistentRead=True):
        for item in page["Items"]:
            kind, row = item["pk"]["S"][:2], item["sk"]["S"]
            if kind == "J#" and row == "H":
                job = items.read(item).job
                heads[job.id] = asdict(job) | {"state": str(job.state)}
            elif kind == "S#" and row != "pause":
                slots[f"{item['pk']['S']}/{row}"] = item["job"]["S"]
    return heads, {key.split("/")[1] + "@" + key.split("/")[0]: job for key, job in slots.items()}
