"""Downloads: what is read of a body, and that nothing is read without end."""

from __future__ import annotations

import contextlib
import gzip
import threading

import pytest

from mediajobs.adapters.http import Limits, WebHttp
from mediajobs.errors import NoAnswer
from mediajobs.messages import Rest
from tests.adapters.streams import LAPTOP, download
from tests.hostile.alarms import Alarms
from tests.hostile.server import Behaviour, HostileServer, Peer, drip, each, raw, redirect, serve

QUICK = Limits(read_s=0.3)  # for peers that say nothing for longer than any machine is slow


def test_file_is_streamed_with_its_headers(server: HostileServer) -> None:
    """Asked for uncompressed, with a program's name and nothing else of ours."""
    server.routes["/f"] = serve(b"x" * 600_000, content_type="video/mp4")
    stream = WebHttp().stream(server.url("/f"), {}, LAPTOP)
    chunks = list(stream.chunks())
    stream.close()
    assert stream.headers["content-length"] == "600000"
    assert stream.headers["content-type"] == "video/mp4"
    assert sum(map(len, chunks)) == 600_000
    assert max(map(len, chunks)) <= 256 * 1024
    assert server.asked[0].headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "mediajobs",
        "accept-encoding": "identity",
        "connection": "close",
    }


def test_compressed_transfer_is_decoded(server: HostileServer) -> None:
    """We ask for none; a server that compresses all the same is understood."""
    server.routes["/f"] = serve(gzip.compress(b"film" * 1000), content_encoding="gzip")
    assert download(WebHttp(), server.url("/f")) == b"film" * 1000


def test_inflating_body_comes_in_small_chunks(server: HostileServer) -> None:
    """So that the limit is checked before memory is gone."""
    server.routes["/f"] = serve(gzip.compress(bytes(50_000_000), 1), content_encoding="gzip")
    stream = WebHttp().stream(server.url("/f"), {}, LAPTOP)
    chunks = stream.chunks()
    assert max(len(next(chunks)) for _ in range(20)) <= 256 * 1024
    stream.close()


def test_body_shorter_than_declared_just_ends(server: HostileServer) -> None:
    """The length is checked by the one who counts; an orderly close is no broken line."""
    server.routes["/f"] = serve(b"half", length=8)
    assert download(WebHttp(), server.url("/f")) == b"half"


@pytest.mark.parametrize(
    "behaviour",
    [
        each(serve(b"x" * 10, length=100), Peer.reset),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfi"),
        serve(b"junk", content_encoding="gzip"),
    ],
    ids=["reset", "cut chunk", "bad encoding"],
)
def test_body_that_breaks_off_is_no_answer(server: HostileServer, behaviour: Behaviour) -> None:
    """Never taken for the end of the file."""
    server.routes["/f"] = behaviour
    stream = WebHttp().stream(server.url("/f"), {}, LAPTOP)
    with pytest.raises(NoAnswer):
        list(stream.chunks())
    stream.close()


def test_body_that_stalls_is_no_answer(server: HostileServer) -> None:
    """Waited for as long as one read may take: the server would end this body in good order, and much later."""
    server.routes["/f"] = each(serve(b"x" * 10, length=-1), Peer.stall)
    with pytest.raises(NoAnswer, match="timed out"):
        download(WebHttp(limits=QUICK), server.url("/f"))


def test_body_that_drips_is_no_answer_once_its_time_is_over(server: HostileServer) -> None:
    """Each byte comes soon enough; it is the whole that has no end."""
    alarms = Alarms()
    server.routes["/f"] = each(serve(b"x" * 10, length=-1), drip(b"y" * 5, 0), alarms.ring, Peer.stall)
    with pytest.raises(NoAnswer, match="no end within 840 s"):
        download(WebHttp(alarm=alarms), server.url("/f"))
    assert (alarms.lengths, alarms.canceled) == ([840], 1)


def test_redirects_share_one_time_limit(server: HostileServer) -> None:
    """Five slow hops are not five budgets: one alarm is set, and it ends whichever hop it rings in."""
    alarms = Alarms()
    server.routes["/f"] = redirect("/g")
    server.routes["/g"] = redirect("/h")
    server.routes["/h"] = each(alarms.ring, redirect("/i"))
    with pytest.raises(NoAnswer, match="no end within 840 s"):
        WebHttp(alarm=alarms).stream(server.url("/f"), {}, LAPTOP)
    assert [asked.target for asked in server.asked] == ["/f", "/g", "/h"]
    assert (alarms.lengths, alarms.canceled) == ([840], 1)


def test_stream_that_ends_in_time_cancels_its_alarm(server: HostileServer) -> None:
    """Else each download would leave a thread behind for a quarter of an hour."""
    alarms = Alarms()
    server.routes["/f"] = serve(b"film")
    assert download(WebHttp(alarm=alarms), server.url("/f")) == b"film"
    assert alarms.canceled == 1


def test_stream_left_early_closes_its_connection(server: HostileServer) -> None:
    """The server sees the end at once, and does not hold a file open for somebody who has gone."""
    left = threading.Event()

    def serve_until_left(peer: Peer) -> None:
        with contextlib.suppress(ConnectionError):
            serve(b"x" * 600_000, length=1 << 30)(peer)
            assert peer.socket.recv(1) == b""
        left.set()

    server.routes["/f"] = serve_until_left
    stream = WebHttp().stream(server.url("/f"), {}, LAPTOP)
    next(stream.chunks())
    stream.close()
    stream.close()  # harmless
    assert left.wait(30)


def test_whole_file_is_asked_for_without_a_range(server: HostileServer) -> None:
    server.routes["/f"] = serve(b"film")
    WebHttp().stream(server.url("/f"), {}, LAPTOP, Rest(validator='"v1"')).close()
    assert not {"range", "if-range"} & server.asked[0].headers.keys()


def test_stream_ends_with_the_time_that_its_run_has_left(server: HostileServer) -> None:
    """Whatever the usual limit is."""
    alarms = Alarms()
    server.routes["/f"] = each(serve(b"x" * 10, length=-1), alarms.ring, Peer.stall)
    stream = WebHttp(alarm=alarms).stream(server.url("/f"), {}, LAPTOP, Rest(seconds=7))
    with pytest.raises(NoAnswer, match="no end within 7 s"):
        list(stream.chunks())
    stream.close()
    assert alarms.lengths == [7]
