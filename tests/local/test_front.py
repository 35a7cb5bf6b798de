"""The front carries every byte as it came; only the path's prefix and the Connection header are its own."""

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.front import BadRequestError, Front, Target, TargetFile, rewrite
from local.stack.processes import free_port

PREFIX = "/_aws/execute-api/abc123/api"


class Upstream(socketserver.ThreadingTCPServer):
    """Keeps what it was sent and answers with fixed bytes, then hangs up, as the emulator does."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keep)
        self.got: list[bytes] = []
        self.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
        self.expect = 0


class _Keep(socketserver.BaseRequestHandler):
    server: Upstream

    def handle(self) -> None:
        got = b""
        while b"\r\n\r\n" not in got or len(got.partition(b"\r\n\r\n")[2]) < self.server.expect:
            more = self.request.recv(65536)
            if not more:
                break
            got += more
        self.server.got.append(got)
        self.request.sendall(self.server.answer)


@contextmanager
def running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    with running(server):
        yield server


@pytest.fixture
def front(upstream: Upstream) -> Iterator[int]:
    target = Target(int(upstream.server_address[1]), PREFIX)
    server = Front(0, lambda: target)
    with running(server):
        yield int(server.server_address[1])


def exchange(port: int, sent: bytes) -> bytes:
    """Everything that comes back for these bytes until the front hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(sent)
        got = b""
        while more := client.recv(65536):
            got += more
    return got


def test_request_arrives_byte_for_byte_with_the_prefix(front: int, upstream: Upstream) -> None:
    """Order, case, repetition and odd bytes of header fields survive, and so does a body that is no text."""
    body = bytes(range(256)) * 3
    upstream.expect = len(body)
    head = (
        b"POST /v1/webhooks/sim/a.1.b?x=%2F&x=2&y HTTP/1.1\r\n"
        b"Host: 127.0.0.1\r\n"
        b"webhook-Signature: v1,aaa\r\n"
        b"WEBHOOK-SIGNATURE: v1,bbb\r\n"
        b"X-Odd:   \xff\xfe caf\xc3\xa9\t\r\n"
        b"Content-Length: 768\r\n"
    )
    exchange(front, head + b"\r\n" + body)
    arrived = upstream.got[0]
    wanted = head.replace(b"POST /v1", b"POST " + PREFIX.encode() + b"/v1") + b"Connection: close\r\n\r\n" + body
    assert arrived == wanted


def test_answer_arrives_byte_for_byte(front: int, upstream: Upstream) -> None:
    """Repeated fields, bytes that are no text and a body of megabytes come back as the emulator sent them."""
    body = bytes(range(256)) * 20_000
    upstream.answer = (
        b"HTTP/1.1 299 Odd \xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: \xff\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    ) + body
    assert exchange(front, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == upstream.answer


def test_chunked_body_passes_undecoded(front: int, upstream: Upstream) -> None:
    """A body without a length is nobody's business but the emulator's."""
    chunks = b"3\r\nabc\r\n1;note=x\r\n\x00\r\n0\r\nX-Trailer: 1\r\n\r\n"
    upstream.expect = len(chunks)
    head = b"PUT /v1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    exchange(front, head + chunks)
    assert upstream.got[0].endswith(b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks)


def test_head_answer_has_no_body_to_wait_for(front: int, upstream: Upstream) -> None:
    """A HEAD answer declares a length and sends nothing; the front does not wait for more."""
    upstream.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    assert exchange(front, b"HEAD /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n") == upstream.answer


def test_body_sent_after_a_pause_arrives(front: int, upstream: Upstream) -> None:
    """A client that waits between head and body, or within the body, loses nothing."""
    upstream.expect = 6
    with socket.create_connection(("127.0.0.1", front), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in (b"POST / HTT", b"P/1.1\r\nContent-Length: 6\r\n", b"\r\n", b"abc", b"def"):
            client.sendall(part)
        assert client.recv(100) == upstream.answer
    assert upstream.got[0].endswith(b"\r\n\r\nabcdef")


def test_requests_at_once_do_not_wait_for_each_other(front: int, upstream: Upstream) -> None:
    """A client that says nothing does not hold up another."""
    with socket.create_connection(("127.0.0.1", front), timeout=10):
        assert exchange(front, b"GET / HTTP/1.1\r\n\r\n") == upstream.answer


@pytest.mark.parametrize(
    "sent",
    [
        b"GET\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
        b"CONNECT other:443 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000,
    ],
    ids=["short", "http2", "two-spaces", "star", "connect", "tls", "huge"],
)
def test_what_cannot_be_forwarded_is_refused(front: int, upstream: Upstream, sent: bytes) -> None:
    """Such a request is answered 400 and never reaches the emulator."""
    assert exchange(front, sent).startswith(b"HTTP/1.1 400 ")
    assert upstream.got == []


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/v1/jobs", b"/v1/jobs"),
        (b"http://jobs.example/v1/jobs?a=http://b", b"/v1/jobs?a=http://b"),
        (b"http://jobs.example", b"/"),
        (b"http://jobs.example?a=1", b"/?a=1"),
        (b"//two//slashes", b"//two//slashes"),
        (b"/%00%ff/../x", b"/%00%ff/../x"),
    ],
)
def test_target_keeps_its_spelling(target: bytes, path: bytes) -> None:
    """The path is put behind the prefix as it was written, be it ever so odd."""
    assert rewrite(b"GET " + target + b" HTTP/1.1\r\n\r\n", b"/p").startswith(b"GET /p" + path + b" HTTP/1.1\r\n")


def test_target_without_a_path_is_refused() -> None:
    """A bare word is no path."""
    with pytest.raises(BadRequestError):
        rewrite(b"GET jobs HTTP/1.1\r\n\r\n", b"/p")


def test_connection_fields_are_the_fronts_own() -> None:
    """The client's wish to keep its connection is not passed on, in whatever case it is written."""
    head = rewrite(b"GET / HTTP/1.1\r\nCONNECTION: keep-alive\r\nKeep-Alive: 5\r\nX: 1\r\n\r\n", b"")
    assert head == b"GET / HTTP/1.1\r\nX: 1\r\nConnection: close\r\n\r\n"


def test_before_the_first_deploy_it_says_so(tmp_path: Path) -> None:
    """There is an address before there is an API; its answer can be tried again."""
    server = Front(0, TargetFile(tmp_path / "front.json"))
    with running(server):
        assert exchange(int(server.server_address[1]), b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503 ")


def test_emulator_gone_is_502() -> None:
    """A stack that was half stopped says what is missing."""
    nobody = Target(free_port(), PREFIX)
    server = Front(0, lambda: nobody)
    with running(server):
        assert exchange(int(server.server_address[1]), b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 502 ")


def test_new_api_id_is_followed(tmp_path: Path) -> None:
    """A deploy that replaces the API changes a file, and the next request goes to the new one."""
    file = tmp_path / "front.json"
    target = TargetFile(file)
    assert target() is None
    for number, prefix in enumerate(("/one", "/two")):
        part = tmp_path / "part"
        part.write_text(json.dumps({"port": number, "prefix": prefix}))
        part.replace(file)
        assert target() == Target(number, prefix)


LIVE = Target(1, PREFIX, {"http": "abc.appsync-api.us-east-1.127.0.0.1:1", "realtime": "abc.appsync-realtime-api.x"})


def test_events_are_published_under_the_host_that_the_emulator_knows() -> None:
    """The path stays, and the connection is for this request alone."""
    head = b"POST /event HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nConnection: keep-alive\r\nX-A: 1\r\n\r\n"
    assert LIVE.rewritten(head) == (
        b"POST /event HTTP/1.1\r\nHost: abc.appsync-api.us-east-1.127.0.0.1:1\r\nX-A: 1\r\nConnection: close\r\n\r\n"
    )


def test_a_websocket_stays_open() -> None:
    head = b"GET /event/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    assert LIVE.rewritten(head) == (
        b"GET /event/realtime HTTP/1.1\r\nHost: abc.appsync-realtime-api.x\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\n\r\n"
    )


@pytest.mark.parametrize("path", [b"/event/", b"/events", b"/v1/event", b"/event?x=1"])
def test_every_other_path_is_the_api_s(path: bytes) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    assert LIVE.rewritten(head) == rewrite(head, PREFIX.encode())


def test_without_an_events_api_its_paths_are_the_api_s_too() -> None:
    head = b"POST /event HTTP/1.1\r\nHost: x\r\n\r\n"
    assert Target(1, PREFIX).rewritten(head) == rewrite(head, PREFIX.encode())
