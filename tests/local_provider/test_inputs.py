"""The model that makes a film from a picture: it reads the URL of its input, and the ledger says what it found."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from local.provider import media
from tests.local_provider.kit import Client, call, until

PICTURE = media.make("image/png", "a red bicycle")


class _Shelf(ThreadingHTTPServer):
    daemon_threads = True
    asked: list[str]


class _Handler(BaseHTTPRequestHandler):
    server: _Shelf

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/moved.png":
            self.send_response(307)
            self.send_header("Location", "/whole.png")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = {"/whole.png": PICTURE, "/cut.png": PICTURE[:-8], "/page.png": b"<html></html>"}.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html" if self.path == "/named-page.png" else "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def shelf() -> Iterator[_Shelf]:
    with _Shelf(("127.0.0.1", 0), _Handler) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def film(client: Client, shelf: _Shelf, path: str) -> dict[str, Any]:
    """A job from what lies there, ended, as the ledger has it."""
    url = f"http://127.0.0.1:{shelf.server_address[1]}{path}"
    body = client.body() | {"model": "animate-1", "input": {"prompt": "it rolls", "image": url}}
    job_id = call("POST", client.base, body, client.auth).json["id"]
    client.finished(job_id)
    return dict(until(lambda: [job for job in client.ledger()["jobs"] if job["id"] == job_id and job["inputs"]])[0])


@pytest.mark.parametrize("path", ["/whole.png", "/moved.png"])
def test_a_film_is_made_from_the_picture_that_was_read(client: Client, shelf: _Shelf, path: str) -> None:
    """Once, and not before it was read; the digest is the picture's own, also behind a redirect."""
    job = film(client, shelf, path)
    assert job["state"] == "completed"
    (read,) = job["inputs"]
    assert (read["status"], read["content_type"], read["picture"]) == (200, "image/png", True)
    assert (read["size"], read["sha256"]) == (len(PICTURE), hashlib.sha256(PICTURE).hexdigest())
    assert shelf.asked.count("/whole.png") == 1


@pytest.mark.parametrize("path", ["/cut.png", "/page.png", "/none.png"])
def test_what_is_no_whole_picture_fails_the_job(client: Client, shelf: _Shelf, path: str) -> None:
    job = film(client, shelf, path)
    assert (job["state"], job["inputs"][0]["picture"]) == ("failed", False)
    assert client.get(job["id"]).json["error"]["code"] == "input_unreadable"


@pytest.mark.parametrize("image", [None, 7, "upload:x.png", "ftp://127.0.0.1/a.png", ""])
def test_without_an_address_of_a_picture_nothing_is_accepted(client: Client, image: object) -> None:
    """A reference of ours that was not replaced would be seen here."""
    body = client.body() | {"model": "animate-1", "input": {"prompt": "it rolls", "image": image}}
    assert call("POST", client.base, body, client.auth).status == 422
    assert client.ledger()["jobs"] == []
