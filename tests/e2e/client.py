"""The application developer's side of the deployed API, as bare as HTTP is: nothing is retried, nothing hidden."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Job = dict[str, Any]
Header = tuple[str, str | bytes]
TERMINAL = ("succeeded", "failed", "canceled")
JSON: Header = ("Content-Type", "application/json")


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(
    url: str, method: str, path: str, headers: Sequence[Header] = (), body: bytes | None = None, timeout: float = 60
) -> Answer:
    """One request, each header sent as it is given, also twice."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=timeout)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, response.read())
    finally:
        connection.close()


def download(url: str) -> Answer:
    """What a presigned URL serves."""
    place = urlsplit(url)
    return send(f"{place.scheme}://{place.netloc}", "GET", f"{place.path}?{place.query}")


@dataclass(frozen=True)
class Api:
    """One API key at one address."""

    url: str
    key: str | None

    def call(self, method: str, path: str, document: Any = None, headers: Sequence[Header] = ()) -> Answer:
        """A request with this key; `document` becomes JSON."""
        own: list[Header] = [] if self.key is None else [("X-API-Key", self.key)]
        body = None if document is None else json.dumps(document).encode()
        return send(self.url, method, path, [*own, *([] if body is None else [JSON]), *headers], body)

    def raw_submit(self, body: bytes, headers: Sequence[Header]) -> Answer:
        """A submit whose body and headers are the test's own, but for the key."""
        own: list[Header] = [] if self.key is None else [("X-API-Key", self.key)]
        return send(self.url, "POST", "/v1/jobs", [*own, *headers], body)

    def submit(self, key: str, document: Any) -> Answer:
        return self.call("POST", "/v1/jobs", document, [("Idempotency-Key", key)])

    def job(self, job_id: str) -> Job:
        answer = self.call("GET", f"/v1/jobs/{job_id}")
        assert answer.status == 200, answer
        return dict(answer.json)

    def cancel(self, job_id: str) -> Answer:
        return self.call("POST", f"/v1/jobs/{job_id}/cancel")

    def resolve(self, job_id: str, decision: str, version: int | None = None, **more: str) -> Answer:
        document = {"decision": decision, **more} | ({} if version is None else {"attention_version": version})
        return self.call("POST", f"/v1/jobs/{job_id}/resolve", document)

    def until(self, job_id: str, ready: Callable[[Job], Any], seconds: float = 240) -> Job:
        """The job, once it is as wanted."""
        end = time.monotonic() + seconds
        while not ready(job := self.job(job_id)):
            assert time.monotonic() < end, f"not within {seconds:.0f} s: {json.dumps(job, indent=1)}"
            time.sleep(0.3)
        return job

    def ended(self, job_id: str, seconds: float = 240) -> Job:
        return self.until(job_id, has_ended, seconds)

    def asked(self, job_id: str, reason: str, seconds: float = 240) -> Job:
        """The job, once it shows attention for this reason."""
        return self.until(job_id, lambda job: job["attention"] and job["attention"]["reason"] == reason, seconds)


def has_ended(job: Job) -> bool:
    return job["status"] in TERMINAL


def steps(job: Job) -> list[tuple[str, str]]:
    """The states that the job passed, each with who brought it."""
    return [(entry["to"], entry["source"]) for entry in job["history"] if entry.get("to")]


def notes(job: Job) -> list[str]:
    return [entry["note"] for entry in job["history"] if entry.get("note")]


def is_problem(answer: Answer, status: int, slug: str) -> bool:
    """RFC 9457 with our stable type; the body says the same status as the line above it."""
    return (
        answer.status == status
        and answer.headers["content-type"] == "application/problem+json"
        and answer.json["type"] == f"urn:mediajobs:problem:{slug}"
        and answer.json["status"] == status
        and bool(answer.json["title"] and answer.json["detail"])
    )
