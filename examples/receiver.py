"""A receiver of Media Jobs' callbacks: checks the signature, answers fast, acts on each event once, for ever.

    SECRETS="whsec_..." python examples/receiver.py --port 8080

Python's standard library alone. `SECRETS` holds one secret, or two with a blank between them while one is rotated;
without it events are answered 503 and come again, so register first, then start it anew with the secret you were shown.
"""

import argparse
import base64
import hmac
import json
import os
import re
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOLERANCE_S = 300
MOST_BYTES = 256 * 1024
WORD = re.compile(r"[a-z2-7]{26}")

Answer = tuple[int, dict[str, str]]


def signed(secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """Whether one of our secrets made one of the signatures, less than five minutes ago. Names in lower case."""
    event_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not event_id or not re.fullmatch(r"[0-9]{1,11}", stamp) or abs(now_s - int(stamp)) > TOLERANCE_S:
        return False
    content = f"{event_id}.{stamp}.".encode() + body
    given = [part[3:].encode() for part in headers.get("webhook-signature", "").split() if part.startswith("v1,")]
    right = False
    for secret in secrets:
        mac = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), content, "sha256")
        for signature in given[:20]:
            right |= hmac.compare_digest(base64.b64encode(mac), signature)
    return right


class Receiver:
    """What one request comes to. `events` is a file: what was taken once is known after a restart too."""

    def __init__(self, secrets: Sequence[str], events: Path) -> None:
        self._secrets = tuple(secrets)
        self._events = events
        with closing(self._open()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS jobs "
                "(request_id TEXT PRIMARY KEY, event_id TEXT, version INTEGER, job TEXT)"
            )

    def take(self, headers: Mapping[str, str], body: bytes, now_s: float) -> Answer:
        """Status and answer. 2xx says: this event is kept here. Anything else: send it again."""
        try:
            event = json.loads(body)
        except (ValueError, RecursionError):
            return 400, {}
        if not isinstance(event, dict):
            return 400, {}
        if event.get("type") == "callback.challenge":
            return challenge(event)
        if not self._secrets:
            return 503, {}
        if not signed(self._secrets, headers, body, now_s):
            return 401, {}
        return 200, {"taken": "now" if self._keep(headers["webhook-id"], event) else "before"}

    def jobs(self) -> list[dict[str, Any]]:
        """Every job that was heard of, as its last event told it."""
        with closing(self._open()) as database:
            return [json.loads(row[0]) for row in database.execute("SELECT job FROM jobs ORDER BY request_id")]

    def _keep(self, event_id: str, event: dict[str, Any]) -> bool:
        """One write is both the mark and the effect, so no crash parts them. A repeat, and an event older than what is
        known of the job, change nothing.
        """
        row = (event["request_id"], event_id, event["final_version"], json.dumps(event))
        with closing(self._open()) as database, database:
            changed = database.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?) ON CONFLICT (request_id) DO UPDATE SET "
                "event_id = excluded.event_id, version = excluded.version, job = excluded.job "
                "WHERE excluded.version > version",
                row,
            )
            return changed.rowcount == 1

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._events, timeout=5)


def challenge(event: Mapping[str, Any]) -> Answer:
    """The word back, to anybody: whoever asks knows it already. At the first registration there is no secret yet."""
    word = event.get("challenge")
    return (200, {"challenge": word}) if isinstance(word, str) and WORD.fullmatch(word) else (400, {})


def server(receiver: Receiver, port: int) -> ThreadingHTTPServer:
    """Serves on this machine; put your own TLS in front."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > MOST_BYTES:
                status, answer = 413, dict[str, str]()
            else:
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, answer = receiver.take(headers, self.rfile.read(int(length)), time.time())
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Bodies and signatures are nobody's business."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--events", type=Path, default=Path("events.sqlite"), help="where what was taken is kept")
    options = parser.parse_args()
    receiver = Receiver(os.environ.get("SECRETS", "").split(), options.events)
    try:
        bound = server(receiver, options.port)
    except OSError as error:
        parser.error(f"cannot listen on port {options.port} ({error.strerror}); choose another with --port")
    with bound as running:
        print(f"listening on http://127.0.0.1:{running.server_port}", flush=True)
        running.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
