"""Webhook delivery: signed as the provider signs, sent by a few threads, retried a bounded number of times."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from local.provider.plans import OLD_TIMESTAMP_S
from local.provider.settings import Settings
from local.provider.timers import Timers

_EVENT_THREADS = 12
# Each sending that is under way is one more process of the receiving function on the emulator.
_PROGRESS_THREADS = 2
NO_ANSWER = 0
# What a kept connection says when the receiver closed it meanwhile; anything else is the answer's fault.
_CLOSED_IDLE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


def sign(secrets: list[str], webhook_id: str, timestamp: int, body: bytes) -> str:
    """The signature header: one `v1` entry for each secret, as during a rotation."""
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    keys = (base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets)
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join("v1," + base64.b64encode(digest).decode() for digest in digests)


class Connections:
    """One thread's kept connections, by receiver."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], http.client.HTTPConnection] = {}

    def post(self, url: str, body: bytes, headers: dict[str, str], timeout_s: float) -> int:
        """The receiver's status. A kept connection that it closed meanwhile is opened anew."""
        place = urlsplit(url)
        target = f"{place.path or '/'}?{place.query}".rstrip("?")
        kept = self._kept.pop((place.scheme, place.netloc), None)
        if kept is not None:
            try:
                return self._exchange(kept, url, target, body, headers)
            except _CLOSED_IDLE:
                pass
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        return self._exchange(kind(place.netloc, timeout=timeout_s), url, target, body, headers)

    def close(self) -> None:
        for connection in self._kept.values():
            connection.close()

    def _exchange(
        self, connection: http.client.HTTPConnection, url: str, target: str, body: bytes, headers: dict[str, str]
    ) -> int:
        keep = False
        try:
            connection.request("POST", target, body=body, headers=headers)
            response = connection.getresponse()
            response.read()
            keep = not response.will_close
        finally:
            if not keep:
                connection.close()
        if keep:
            place = urlsplit(url)
            self._kept[place.scheme, place.netloc] = connection
        return response.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way; a retry and a repeat are the same id and bytes with a fresh time."""

    provider: str
    job_id: str
    kind: str
    webhook_id: str
    url: str
    body: bytes
    created_at: float
    old_timestamp: bool = False
    tries: int = 0


Report = Callable[[Delivery, int], None]
# The headers that prove a delivery which leaves at this second.
Sign = Callable[[Delivery, int], dict[str, str]]


class Sender:
    """Sends deliveries without ever making the job's life wait for a slow receiver.

    Progress has threads of its own and one sending per job at a time; when the receiver is slower
    than the progress, the newest replaces the one that waits, as a careful provider would do.
    """

    def __init__(
        self,
        sign: Sign,
        settings: Settings,
        timers: Timers,
        now: Callable[[], float],
        report: Report,
    ) -> None:
        self._sign = sign
        self._settings = settings
        self._timers = timers
        self._now = now
        self._report = report
        self._events: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._turns: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._newest: dict[str, Delivery] = {}
        self._busy: set[str] = set()
        self._threads = [
            *(threading.Thread(target=self._send_events, daemon=True) for _ in range(_EVENT_THREADS)),
            *(threading.Thread(target=self._send_progress, daemon=True) for _ in range(_PROGRESS_THREADS)),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for _ in range(_EVENT_THREADS):
            self._events.put(None)
        for _ in range(_PROGRESS_THREADS):
            self._turns.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=1)

    def event(self, delivery: Delivery) -> None:
        self._events.put(delivery)

    def progress(self, delivery: Delivery) -> None:
        with self._lock:
            queued = delivery.job_id in self._newest or delivery.job_id in self._busy
            self._newest[delivery.job_id] = delivery
        if not queued:
            self._turns.put(delivery.job_id)

    def forget_progress(self, job_id: str) -> None:
        """The job has ended: progress that still waits is not worth sending."""
        with self._lock:
            self._newest.pop(job_id, None)

    def _send_events(self) -> None:
        connections = Connections()
        while (delivery := self._events.get()) is not None:
            status = self._post(connections, delivery)
            self._report(delivery, status)
            if worth_another_try(status) and delivery.tries < len(self._settings.retry_delays_s):
                self._retry(delivery)
        connections.close()

    def _retry(self, delivery: Delivery) -> None:
        wait = self._settings.retry_delays_s[delivery.tries]
        again = replace(delivery, tries=delivery.tries + 1)
        self._timers.at(self._now() + wait, lambda: self._events.put(again))

    def _send_progress(self) -> None:
        connections = Connections()
        while (job_id := self._turns.get()) is not None:
            with self._lock:
                delivery = self._newest.pop(job_id, None)
                self._busy.add(job_id)
            if delivery is not None:
                self._report(delivery, self._post(connections, delivery))
            with self._lock:
                self._busy.discard(job_id)
                waiting = job_id in self._newest
            if waiting:
                self._turns.put(job_id)
        connections.close()

    def _post(self, connections: Connections, delivery: Delivery) -> int:
        """The receiver's status, or NO_ANSWER."""
        timestamp = int(self._now() - (OLD_TIMESTAMP_S if delivery.old_timestamp else 0))
        headers = {
            "content-type": "application/json",
            "user-agent": "simulated-provider/1",
            **self._sign(delivery, timestamp),
        }
        try:
            return connections.post(delivery.url, delivery.body, headers, self._settings.webhook_timeout_s)
        except (OSError, ValueError, http.client.HTTPException):
            return NO_ANSWER


def worth_another_try(status: int) -> bool:
    """Whether this answer to a delivery leaves hope for the next one."""
    return status in (NO_ANSWER, 429) or status >= 500
