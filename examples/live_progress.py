"""Follow one job while it happens, in Python: progress comes over a socket, the truth from GET /v1/jobs/{id}.

    python live_progress.py <api_url> <api_key> <request_id>          # needs: requests, websockets

The socket is a hint. Where it drops, is refused or says nothing for a while, the job is read; what was missed is caught
up with, and the socket is opened again. A token is good for an hour; a new one is fetched, and a new socket opened with
it, before the old one ends.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Subprotocol

Job = dict[str, Any]
ENDED = ("succeeded", "failed", "canceled")


class DroppedError(Exception):
    """The socket is of no use any more: refused, closed, or silent beyond what was agreed."""


@dataclass(frozen=True)
class Patience:
    """Seconds."""

    poll: float = 2.0  # between reads while there is no socket
    quiet: float = 30.0  # without an event, after which the job is read
    renew: float = 300.0  # before its end, a token is replaced
    retry: float = 1.0  # before a socket is opened again; doubled each time it fails
    retry_most: float = 30.0  # and how long a socket is kept at least, whatever this machine's clock says of its token


def authorization(live: dict[str, str]) -> dict[str, str]:
    """What AppSync is shown: the token, and the host of the API that the socket belongs to."""
    host = urlsplit(live["endpoint"]).netloc.replace(".appsync-realtime-api.", ".appsync-api.")
    return {"host": host, "Authorization": live["token"]}


class Socket:
    """A connection of the protocol aws-appsync-event-ws, subscribed to one job's channel."""

    def __init__(self, live: dict[str, str]) -> None:
        shown = authorization(live)
        header = base64.urlsafe_b64encode(json.dumps(shown).encode()).decode().rstrip("=")
        protocols = [Subprotocol("aws-appsync-event-ws"), Subprotocol(f"header-{header}")]
        self._silence = 300.0
        self._alive_at = time.monotonic()
        self._open = ExitStack()
        try:
            opening = connect(live["endpoint"], subprotocols=protocols, proxy=None, open_timeout=15)
            self._socket = self._open.enter_context(opening)
        except (OSError, WebSocketException) as error:
            raise DroppedError(str(error)) from error
        try:
            self._send({"type": "connection_init"})
            self._silence = self._answer("connection_ack").get("connectionTimeoutMs", 300_000) / 1000
            self._send({"type": "subscribe", "id": "job", "channel": live["channel"], "authorization": shown})
            self._answer("subscribe_success")
        except BaseException:
            self.close()
            raise

    def next(self, seconds: float) -> Job | None:
        """The next event; None where none came within the time. Raises DroppedError for a line that has gone dead
        without a word: signs of life, which AppSync sends where it has no event, do not come any more.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            silent = self._alive_at + self._silence - time.monotonic()
            message = self._receive(max(0.0, min(left, silent)))
            if message is None and silent <= left:
                raise DroppedError("not even a sign of life")
            if message is not None and message.get("type") == "data":
                found = message["event"]
                event: Job = json.loads(found[0] if isinstance(found, list) else found)
                return event
        return None

    def close(self) -> None:
        self._open.close()

    def _answer(self, wanted: str) -> Job:
        end = time.monotonic() + 15
        while (left := end - time.monotonic()) > 0:
            message = self._receive(left)
            kind = (message or {}).get("type", "")
            if message is not None and kind == wanted:
                return message
            if kind.endswith("error"):
                raise DroppedError(json.dumps((message or {}).get("errors")))
        raise DroppedError(f"no {wanted}")

    def _send(self, message: Job) -> None:
        try:
            self._socket.send(json.dumps(message))
        except (OSError, WebSocketException) as error:
            raise DroppedError(str(error)) from error

    def _receive(self, seconds: float) -> Job | None:
        try:
            message: Job = json.loads(self._socket.recv(timeout=seconds))
        except TimeoutError:
            return None
        except (OSError, WebSocketException, ValueError) as error:
            raise DroppedError(str(error)) from error
        self._alive_at = time.monotonic()
        return message


class Follower:
    """Brings what is read and what is heard into one view, in which nothing goes back."""

    def __init__(
        self, get_job: Callable[[], Job], show: Callable[[Job, str], None], patience: Patience | None = None
    ) -> None:
        self._get_job = get_job
        self._show = show
        self._patience = patience or Patience()
        self._version = 0
        self._progress = 0
        self._job: Job = {}

    def run(self) -> Job:
        """Return the job once it has ended. `show` is given each change: the view, and "read" or "heard"."""
        wait, retry_at = self._patience.retry, 0.0
        self._read()
        while not self._ended:
            if self._job.get("live") and time.monotonic() >= retry_at:
                started = time.monotonic()
                try:
                    self._listen()
                except DroppedError:
                    lasted = time.monotonic() - started > self._patience.quiet
                    wait = self._patience.retry if lasted else min(wait * 2, self._patience.retry_most)
                    retry_at = time.monotonic() + wait * (0.5 + random.random() / 2)  # noqa: S311 no secret
            else:
                time.sleep(self._patience.poll)
            self._read()
        return self._job

    @property
    def _ended(self) -> bool:
        return self._job.get("status") in ENDED

    def _listen(self) -> None:
        """Until the job has ended. Raises DroppedError."""
        socket, renew_at = self._opened()
        try:
            while not self._ended:
                left = renew_at - time.monotonic()
                if left <= 0:
                    old = socket
                    self._read()
                    if not self._job.get("live"):
                        return
                    socket, renew_at = self._opened()
                    old.close()
                    continue
                event = socket.next(min(left, self._patience.quiet))
                if event is None:
                    self._read()
                else:
                    self._hear(event)
        finally:
            socket.close()

    def _opened(self) -> tuple[Socket, float]:
        live = self._job["live"]
        life = (datetime.fromisoformat(live["expires_at"]).timestamp() - time.time()) - self._patience.renew
        socket = Socket(live)
        self._read()  # what was told before anybody listened
        return socket, time.monotonic() + max(life, self._patience.retry_most)

    def _read(self) -> None:
        job = self._get_job()
        self._version = max(self._version, job["history"][-1].get("version", 0))
        self._take(job, "read")

    def _hear(self, event: Job) -> None:
        if self._ended or event["version"] < self._version:
            return  # out of date
        self._version = event["version"]
        asked = (self._job.get("attention") or {}).get("reason")
        if event["final"] or event["attention"] != asked:
            self._read()  # with its results, or with what is asked
            return
        told = {name: event[name] for name in ("status", "stage", "provider_stage")}
        self._take({**self._job, **told, "progress": event["progress"] or 0}, "heard")

    def _take(self, job: Job, how: str) -> None:
        self._progress = max(self._progress, job["progress"] or 0)
        self._job = {**job, "progress": self._progress}
        self._show(self._job, how)


def patient_session() -> Any:
    """To read the job by: the line that took the socket away takes the next reads with it, and ends no watch."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    session = requests.Session()
    again = Retry(total=5, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504), raise_on_status=False)
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=again))
    return session


def main() -> int:
    import requests

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("api_url", "api_key", "request_id"):
        parser.add_argument(name)
    given = parser.parse_args()

    session = patient_session()

    def get_job() -> Job:
        url = f"{given.api_url}/v1/jobs/{given.request_id}"
        answer = session.get(url, headers={"X-API-Key": given.api_key}, timeout=30)
        answer.raise_for_status()
        job: Job = answer.json()
        return job

    def show(job: Job, how: str) -> None:
        print(f"{how:5}  {job['progress']:3} %  {job['stage'] or job['status']}", flush=True)

    try:
        job = Follower(get_job, show).run()
    except requests.RequestException as error:
        print(f"The job cannot be read: {error}", file=sys.stderr)
        return 1
    print(json.dumps(job, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
