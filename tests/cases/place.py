"""The product as its users meet it: requests, events and messages in, answers and rows out."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from events import shapes
from mediajobs.jobs.states import State
from tests.api.events import OPERATOR, USER, document, proxy
from tests.cases import signing
from tests.cases.deployment import Deployment, Hooked, die
from tests.cases.parts import CALLBACK, PROMPT
from tests.hostile.server import serve
from tests.steps.kit import Killed

Answer = dict[str, Any]


class Place(Deployment):
    """One deployment, called like a client, a provider and AWS's event sources call it."""

    def submit(
        self, key: str | list[str] | None = "k1", body: object = None, *, model: str = "video-1", **more: Any
    ) -> Answer:
        """POST /v1/jobs."""
        headers: signing.Headers = {} if key is None else {"Idempotency-Key": key}
        given = {"provider": "sim", "model": model, "input": PROMPT} if body is None else body
        answer: Answer = self.call("submit", proxy("POST", "/v1/jobs", body=given, headers=headers, **more))
        return answer

    def get(self, job_id: str, *, caller: dict[str, str] = USER) -> Any:
        """GET /v1/jobs/{id}: the job as its tenant sees it."""
        answer = self.call("jobs", proxy("GET", f"/v1/jobs/{job_id}", caller=caller))
        assert answer["statusCode"] == 200, answer
        return document(answer)

    def decisions(self, job_id: str) -> Any:
        """What an operator may decide of the open question."""
        return self.get(job_id, caller=OPERATOR)["attention"]["decisions"]

    def webhook(
        self,
        url: str,
        body: bytes,
        headers: signing.Headers,
        *,
        wrapped: bool = True,
        instead: tuple[str, object] | None = None,
        remaining_ms: int = 30_000,
    ) -> Answer:
        """POST to the URL that the provider was given, as the gateway hands it over; or with this body and flag."""
        path = url.removeprefix(CALLBACK)
        event = proxy("POST", path, body=body, headers=dict(headers), caller=None, binary=wrapped)
        if instead is not None:
            event["body"], event["isBase64Encoded"] = instead
        answer: Answer = self.call("webhook", event, remaining_ms=remaining_ms)
        return answer

    def say(self, url: str, event_id: str = "evt-1", *, stamp: str | None = None, **data: object) -> Answer:
        """A rightly signed event about the provider's job `p-1`."""
        body = json.dumps({"id": "p-1", **data}).encode()
        return self.webhook(url, body, signing.signed(body, event_id, stamp or self.stamp()))

    def deliver(self, queue: str, job_id: str, receives: int = 1, *, do: str = "submit") -> Answer:
        """One message of a queue to its function."""
        message = {"job": job_id, "do": do} if queue == "dispatch" else {"job": job_id}
        event = shapes.records(shapes.message(message, queue=queue, receives=receives))
        answer: Answer = self.call(queue, event)
        return answer

    def tick(self, scheduled_time: str | None = None, **more: Any) -> Any:
        """One invocation by the schedule."""
        return self.call("reconcile", {"scheduled_time": scheduled_time or str(self.clock.now())}, **more)

    def due(self, job_id: str) -> None:
        """Let time pass until the job wants a look."""
        due_at = self.job(job_id).due_at
        assert due_at is not None
        self.clock.advance(max(0, due_at - self.clock.now()) / 1000)

    def relay(self) -> Answer:
        """What the table's stream shows since the last call; from the first record that fails it comes again."""
        told = [(number, image) for number, image in enumerate(self.client.images) if "out" in image]
        batch = [(number, image) for number, image in told if number >= self.shown]
        self.shown = len(self.client.images)
        if not batch:
            return {"batchItemFailures": []}
        records = [shapes.change(image, number=number) for number, image in batch]
        answer: Answer = self.call("relay", shapes.records(*records))
        failed = [int(failure["itemIdentifier"]) for failure in answer["batchItemFailures"]]
        self.shown = min([self.shown, *failed])
        return answer

    # -- getting there

    def running(self, key: str = "k1", model: str = "video-1") -> tuple[str, str]:
        """A job that the provider has accepted as `p-1`: its id, and the webhook URL that the provider was given."""
        job_id = self.accepted(key, model)
        self.deliver("dispatch", job_id)
        return job_id, self.webhook_url(job_id)

    def killed(self, key: str = "k1") -> tuple[str, str]:
        """The same, but the dispatcher died before it could write down that its request was accepted."""
        job_id = self.accepted(key)
        claims: list[object] = []

        def write(change: Any) -> Any:
            if claims:
                die()
            claims.append(change)
            return self.store.write(change)

        self.rewire(store=Hooked(self.store, write=write))
        with suppress(Killed):
            self.deliver("dispatch", job_id)
        self.rewire(store=self.store)
        assert self.job(job_id).state is State.SUBMITTING
        return job_id, self.webhook_url(job_id)

    def accepted(self, key: str = "k1", model: str = "video-1") -> str:
        """A job that the provider will accept once it is sent."""
        self.server.routes.setdefault("/v1/jobs", serve(b'{"id":"p-1","status":"processing"}', 201))
        job_id: str = document(self.submit(key, model=model))["request_id"]
        return job_id

    def webhook_url(self, job_id: str) -> str:
        (asked,) = [one for one in self.server.asked if job_id in json.loads(one.body or b"{}").get("reference", "")]
        return str(json.loads(asked.body)["webhook_url"])

    def storing(self, *urls: str, key: str = "k1", model: str = "video-1") -> str:
        """A job whose webhook has said that it succeeded, with these results; the provider says the same when asked."""
        job_id, url = self.running(key, model)
        outputs = [{"url": one} for one in urls]
        told = {"id": "p-1", "status": "completed", "outputs": outputs}
        self.server.routes["/v1/jobs/p-1"] = serve(json.dumps(told).encode())
        answer = self.say(url, status="completed", outputs=outputs)
        assert answer["statusCode"] == 200, answer
        return job_id
