"""The way out: what a submit is told, where credentials go, and which addresses are never reached."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable

import pytest

from mediajobs.adapters.http import MOST_ANSWER_BYTES, Limits, WebHttp
from mediajobs.errors import MediaJobsError, NoAnswer, NotSent, UnsafeUrl
from mediajobs.messages import LinkRules, Request, Response
from tests.hostile.alarms import Alarms
from tests.hostile.names import Names
from tests.hostile.server import Behaviour, HostileServer, Peer, drip, each, raw, redirect, serve

NAME = "files.example.test"
QUICK = Limits(read_s=0.3)  # for peers that say nothing for longer than any machine is slow

New = Callable[..., HostileServer]
Tls = tuple[ssl.SSLContext, str]


def post(url: str, **headers: str) -> Request:
    return Request(method="POST", url=url, headers={"Content-Type": "application/json", **headers}, body=b'{"a":1}')


def test_submit_sends_these_bytes_once_and_returns_the_answer(server: HostileServer) -> None:
    """Names of answer headers are lower case; what was sent is what was given, with no cookie or encoding added."""
    server.routes["/jobs"] = serve(b'{"id":"j1"}', 201, X_Request_Id="r1", Set_Cookie="a=b")
    answer = WebHttp().submit(post(server.url("/jobs?x=1"), Authorization="Key k"))
    assert (answer.status, answer.body, answer.headers["x-request-id"]) == (201, b'{"id":"j1"}', "r1")
    (asked,) = server.asked
    assert (asked.method, asked.target, asked.body) == ("POST", "/jobs?x=1", b'{"a":1}')
    assert asked.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "mediajobs",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "authorization": "Key k",
        "connection": "close",
        "content-length": "7",
    }


def test_submit_uses_a_fresh_connection_each_time_and_get_keeps_one(server: HostileServer) -> None:
    """A kept connection may have been closed unseen, and a submit cannot be sent again."""
    server.routes["/jobs"] = serve(b"{}")
    http = WebHttp()
    for _ in range(2):
        http.submit(post(server.url("/jobs")))
    for _ in range(3):
        http.get(Request(method="GET", url=server.url("/jobs")))
    assert [asked.connection for asked in server.asked] == [1, 2, 3, 3, 3]


def test_get_after_the_server_closed_the_kept_connection_works(server: HostileServer) -> None:
    """A poll meets this after every idle minute."""
    server.routes["/jobs"] = each(serve(b"{}"))
    http = WebHttp()
    for _ in range(3):
        assert http.get(Request(method="GET", url=server.url("/jobs"))).body == b"{}"
        server.ended.get(timeout=30)  # by now the end has been sent, unasked


def test_requests_of_several_threads_do_not_mix(server: HostileServer) -> None:
    """Each connection knows its own exchange."""
    for number in range(8):
        server.routes[f"/{number}"] = serve(str(number).encode())
    http = WebHttp()
    got: list[tuple[int, bytes]] = []

    def work(number: int) -> None:
        request = Request(method="GET", url=server.url(f"/{number}"))
        got.extend((number, http.get(request).body) for _ in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 80
    assert all(body == str(number).encode() for number, body in got)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_of_a_submit_is_an_answer(server: HostileServer, status: int) -> None:
    """Followed, it would become a GET that reports 200 and made nothing."""
    server.routes["/jobs"] = redirect("/elsewhere", status)
    for call in (WebHttp().submit, WebHttp().get):
        answer = call(post(server.url("/jobs")))
        assert (answer.status, answer.headers["location"]) == (status, "/elsewhere")
    assert [asked.target for asked in server.asked] == ["/jobs", "/jobs"]


@pytest.mark.parametrize("status", [200, 400, 401, 402, 404, 409, 422, 429, 500, 502, 503])
def test_every_status_is_an_answer_and_asked_for_once(server: HostileServer, status: int) -> None:
    """No retry hides in the client."""
    server.routes["/jobs"] = serve(b"no", status, Retry_After="7")
    answer = WebHttp().submit(post(server.url("/jobs")))
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")
    assert len(server.asked) == 1


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def failure(call: Callable[[Request], Response], request: Request) -> MediaJobsError:
    with pytest.raises((NotSent, NoAnswer)) as caught:
        call(request)
    return caught.value


def test_refused_connection_was_not_sent() -> None:
    assert isinstance(failure(WebHttp().submit, post(f"http://127.0.0.1:{_closed_port()}/jobs")), NotSent)


@pytest.mark.parametrize(
    "fault", [socket.gaierror(-2, "unknown"), TimeoutError("slow"), UnicodeError("label too long")]
)
def test_failed_look_up_was_not_sent(fault: Exception) -> None:
    http = WebHttp(resolver=Names({NAME: [fault]}).resolve)
    assert isinstance(failure(http.submit, post(f"https://{NAME}/jobs")), NotSent)


def test_name_without_addresses_was_not_sent() -> None:
    http = WebHttp(resolver=Names({NAME: [[]]}).resolve)
    assert isinstance(failure(http.submit, post(f"https://{NAME}/jobs")), NotSent)


def test_connect_timeout_was_not_sent_and_the_next_address_is_tried(server: HostileServer) -> None:
    """A host with one dead address is reached by the other; with none left nothing was sent."""
    server.routes["/jobs"] = serve(b"{}")
    names = Names({NAME: [["8.8.8.8", "8.8.4.4"]]}, {"8.8.8.8": TimeoutError("slow")})
    http = WebHttp(resolver=names.resolve, connector=names.connect)
    assert http.submit(post(server.url("/jobs", NAME))).status == 200
    assert names.connected == ["8.8.8.8", "8.8.4.4"]
    names.faults["8.8.4.4"] = OSError("unreachable")
    assert isinstance(failure(http.submit, post(server.url("/jobs", NAME))), NotSent)


def test_failed_tls_was_not_sent(new_server: New, tls: Tls) -> None:
    """Untrusted, for another name, not TLS at all, silent: the request itself never left."""
    server, plain = new_server(tls=tls[0]), new_server()
    silent = new_server(greet=Peer.stall)
    rude = new_server(greet=lambda peer: peer.reset() if peer.socket.recv(5) else None)
    names = Names({NAME: [["127.0.0.1"]], "wrong.example.test": [["127.0.0.1"]]})
    trusting = WebHttp(resolver=names.resolve, ca_file=tls[1], limits=Limits(connect_s=0.3))
    doubting = WebHttp(resolver=names.resolve)
    assert isinstance(failure(doubting.submit, post(server.url("/jobs", NAME))), NotSent)
    assert isinstance(failure(trusting.submit, post(server.url("/jobs", "wrong.example.test"))), NotSent)
    for other in (plain, silent, rude):
        assert isinstance(failure(trusting.submit, post(f"https://{NAME}:{other.port}/jobs")), NotSent)
    assert server.asked == []


@pytest.mark.parametrize("headers", [{"X-Key": "k\n"}, {"X-Key": "a\r\nb: c"}, {"X-Key": "\u2603"}])
def test_request_that_cannot_be_written_was_not_sent(server: HostileServer, headers: dict[str, str]) -> None:
    """Such as a key pasted with its line end."""
    request = Request(method="POST", url=server.url("/jobs"), headers=headers, body=b"{}")
    assert isinstance(failure(WebHttp().submit, request), NotSent)
    assert server.asked == []


@pytest.mark.parametrize(
    "behaviour",
    [
        each(),
        Peer.reset,
        Peer.stall,
        raw(b"HTTP/1."),
        raw(b"SMTP ready\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"a%d: b\r\n" % n for n in range(300)) + b"\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\njunk"),
        serve(b'{"id":', length=20),
        serve(b"x" * (MOST_ANSWER_BYTES + 1)),
    ],
    ids=[
        "closed", "reset", "silent", "half a line", "no HTTP", "too many headers", "bad chunk", "cut chunk",
        "bad encoding", "cut body", "too large",
    ],
)  # fmt: skip
def test_request_that_arrived_and_got_no_whole_answer_is_ambiguous(server: HostileServer, behaviour: Behaviour) -> None:
    """It may be paid for, so it is never sent again: one request arrives, in every case."""
    server.routes["/jobs"] = behaviour
    assert isinstance(failure(WebHttp(limits=QUICK).submit, post(server.url("/jobs"))), NoAnswer)
    assert len(server.asked) == 1


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: yyyy", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_answer_that_drips_is_ambiguous_once_its_time_is_over(server: HostileServer, begun: bytes) -> None:
    """Each byte of head or body comes soon enough; what has begun is no answer, and never read as one."""
    alarms = Alarms()
    server.routes["/jobs"] = each(drip(begun, 0), alarms.ring, Peer.stall)
    fault = failure(WebHttp(alarm=alarms).submit, post(server.url("/jobs")))
    assert isinstance(fault, NoAnswer)
    assert "no end within 38 s" in str(fault)
    assert (alarms.lengths, alarms.canceled, len(server.asked)) == ([38], 1, 1)


def test_cut_tls_answer_is_ambiguous(new_server: New, tls: Tls) -> None:
    """Once the handshake is done the request's bytes are on their way."""
    server = new_server(tls=tls[0])
    alarms, resolve = Alarms(), Names({NAME: [["127.0.0.1"]]}).resolve
    http = WebHttp(resolver=resolve, ca_file=tls[1], alarm=alarms)
    hasty = WebHttp(resolver=resolve, ca_file=tls[1], limits=QUICK)
    begun = drip(b"HTTP/1.1 200 OK\r\nX: yyyy", 0)
    for client, behaviour in ((http, each()), (hasty, Peer.stall), (http, each(begun, alarms.ring, Peer.stall))):
        server.routes["/jobs"] = behaviour
        assert isinstance(failure(client.submit, post(server.url("/jobs", NAME))), NoAnswer)
    assert len(server.asked) == 3


def test_error_page_larger_than_kept_is_cut_and_its_status_told(server: HostileServer) -> None:
    """The status decides; the page is for a person's eye."""
    server.routes["/jobs"] = serve(b"x" * (MOST_ANSWER_BYTES + 70_000), 422)
    answer = WebHttp().submit(post(server.url("/jobs")))
    assert (answer.status, len(answer.body)) == (422, MOST_ANSWER_BYTES)


def test_environment_is_not_asked_for_proxies_or_passwords(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy set for something else would read our keys."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{_closed_port()}")
    server.routes["/jobs"] = serve(b"{}")
    assert WebHttp().submit(post(server.url("/jobs"))).status == 200
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("path", ["/a%2fb%7Ec~d?sig=a%2Bb+c%3d==&x={y}|^", "//a/../b", "/?q=%zz"])
def test_url_goes_out_as_written(server: HostileServer, path: str) -> None:
    """Also what urllib3 and requests would tidy."""
    http = WebHttp()
    http.submit(post(server.url(path)))
    http.get(Request(method="GET", url=server.url(path + "#part")))
    assert [asked.target for asked in server.asked] == [path, path]


def test_ipv6_address_is_reached(new_server: New) -> None:
    try:
        server = new_server(family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    server.routes["/jobs"] = serve(b"{}")
    assert WebHttp().submit(post(server.url("/jobs", "[::1]"))).status == 200
    assert server.asked[0].headers["host"] == f"[::1]:{server.port}"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://h.test/", "http://u:p@127.0.0.1/", "nonsense"])
def test_submit_takes_no_odd_url(url: str) -> None:
    with pytest.raises(UnsafeUrl):
        WebHttp().submit(post(url))


OPEN = LinkRules(allow_http=True, allow_private=True)


def test_post_sends_these_bytes_once_and_reads_no_more_of_the_answer_than_asked(server: HostileServer) -> None:
    """A receiver's answer is its status; an endless body is none of our business."""
    server.routes["/hook"] = serve(b"x" * 5_000_000, 200)
    http = WebHttp(limits=QUICK)
    assert http.post(post(server.url("/hook?k=1")), OPEN, most=0) == Response(
        status=200, headers={"content-length": "5000000"}, body=b""
    )
    assert http.post(post(server.url("/hook")), OPEN, most=10).body == b"x" * 10
    assert [(asked.method, asked.target, asked.body) for asked in server.asked] == [
        ("POST", "/hook?k=1", b'{"a":1}'),
        ("POST", "/hook", b'{"a":1}'),
    ]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_post_follows_no_redirect(server: HostileServer, status: int) -> None:
    """Where it leads nobody has looked."""
    server.routes["/hook"] = redirect("/inside", status)
    assert WebHttp().post(post(server.url("/hook")), OPEN, most=0).status == status
    assert [asked.target for asked in server.asked] == ["/hook"]


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1", "100.64.0.1", "::1", "fd00:ec2::254", "0.0.0.0"],
)
def test_post_never_reaches_a_private_address_whatever_the_name_says(server: HostileServer, address: str) -> None:
    """The addresses that are looked up are those that are checked and connected to: a second look-up might differ."""
    names = Names({NAME: [["93.184.216.34", address], [address]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect)
    for _ in range(2):
        with pytest.raises(UnsafeUrl):
            http.post(post(f"https://{NAME}/hook"), LinkRules(), most=0)
    assert names.connected == []


@pytest.mark.parametrize(
    "url", ["http://files.example.test/hook", "ftp://files.example.test/", "https://a@b.test/", "/hook"]
)
def test_post_refuses_what_is_not_plain_https(url: str) -> None:
    """Before anything is looked up."""
    names = Names({})
    with pytest.raises(UnsafeUrl):
        WebHttp(resolver=names.resolve, connector=names.connect).post(post(url), LinkRules(), most=0)
    assert names.looked_up == []


def test_post_to_a_receiver_that_hangs_ends_within_its_time(server: HostileServer) -> None:
    """Whether it says nothing or a byte now and then."""
    server.routes["/silent"] = lambda peer: peer.stall()
    server.routes["/drip"] = drip(b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"y" * 10_000, 0.05)
    for path in ("/silent", "/drip"):
        with pytest.raises(NoAnswer):
            WebHttp(limits=QUICK).post(post(server.url(path)), OPEN, most=0)
