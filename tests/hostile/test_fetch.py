"""A result from a hostile server into storage: whole and checked, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import struct
import tracemalloc
from dataclasses import replace

import pytest

from mediajobs.adapters.http import Limits, WebHttp
from mediajobs.errors import InvalidMedia, LinkDead, NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.jobs.model import Link, Output
from mediajobs.messages import LinkRules
from mediajobs.ports import Http
from mediajobs.steps.fetch import Order, fetch
from mediajobs.steps.transfers import Transfers
from tests import samples
from tests.fakes.http import Download, ScriptedHttp
from tests.fakes.objects import MemoryObjects, StoredObject
from tests.hostile.server import Behaviour, HostileServer, Peer, each, redirect, serve
from tests.steps.kit import Stage

QUICK = Limits(read_s=0.3)  # for peers that say nothing for longer than any machine is slow
KEY = "results/job/inc/run/0"
LONG_FILM = samples.mp4(filling=900_000)


def rules(kind: str, max_bytes: int = 5_000_000) -> LinkRules:
    return LinkRules(allow_http=True, allow_private=True, kind=kind, max_bytes=max_bytes)


def run(
    server: HostileServer,
    behaviour: Behaviour,
    objects: MemoryObjects,
    kind: str = "image",
    max_bytes: int = 5_000_000,
    limits: Limits | None = None,
) -> Output:
    server.routes["/f"] = behaviour
    return one(Link(url=server.url("/f")), rules(kind, max_bytes), WebHttp(limits=limits), objects)


def one(
    link: Link, rules: LinkRules, http: Http, objects: MemoryObjects, headers: dict[str, str] | None = None
) -> Output:
    """One result, fetched as store does it."""
    stage = Stage()
    world = replace(stage.world, http=http, objects=objects)
    order = Order(number=0, link=link, rules=rules, headers=headers or {}, key=KEY)
    return fetch(world, order, Transfers(world, stage.storing(), "run"))


def nothing_kept(objects: MemoryObjects) -> bool:
    return not objects.stored and not objects.open


@pytest.mark.parametrize("content_type", samples.WHOLE)
def test_whole_file_is_stored_under_its_true_type(server: HostileServer, content_type: str) -> None:
    """Type by content, size and digest of what was stored."""
    objects, body = MemoryObjects(), samples.WHOLE[content_type]
    output = run(server, serve(body, content_type="application/octet-stream"), objects, content_type.partition("/")[0])
    assert (output.key, output.content_type, output.size) == (KEY, content_type, len(body))
    assert output.sha256 == hashlib.sha256(body).hexdigest()
    assert objects.stored == {KEY: StoredObject(body, content_type)}
    assert not objects.open


def test_long_file_is_stored_whole(server: HostileServer) -> None:
    """Longer than the first kilobyte, whose content had to wait for its type."""
    objects = MemoryObjects()
    run(server, serve(LONG_FILM), objects, "video")
    assert objects.stored == {KEY: StoredObject(LONG_FILM, "video/mp4")}


@pytest.mark.parametrize(
    "header", ['image/jpeg; charset="UTF-8"', "IMAGE/JPG", "binary/octet-stream", "text/html", "video/mp4", ""]
)
def test_content_type_header_decides_nothing(server: HostileServer, header: str) -> None:
    """Providers get it wrong in both directions."""
    assert run(server, serve(samples.jpeg(), content_type=header), MemoryObjects()).content_type == "image/jpeg"


NOT_MEDIA = {
    "html": (serve(b"<html><body>Please sign in</body></html>", content_type="text/html"), "video"),
    "xml error": (
        serve(b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", content_type="video/mp4"),
        "video",
    ),
    "json": (serve(b'{"detail":"gone"}', content_type="image/png"), "image"),
    "html after a mark": (serve(b"\xef\xbb\xbf          <html>", content_type="image/png"), "image"),
    "svg": (serve(b"<svg xmlns='http://www.w3.org/2000/svg'/>", content_type="image/svg+xml"), "image"),
    "empty": (serve(b"", content_type="video/mp4"), "video"),
    "empty without length": (serve(b"", length=-1), "video"),
    "204": (serve(status=204), "video"),
    "206": (serve(samples.png(), 206, content_range="bytes 0-70/71"), "image"),
    "203": (serve(samples.png(), 203), "image"),
    "picture as sound": (serve(samples.webp(), content_type="audio/wav"), "audio"),
    "cut picture": (serve(samples.png()[:-20]), "image"),
    "cut film": (serve(LONG_FILM[:-1]), "video"),
    "cut film early": (serve(LONG_FILM[:1500]), "video"),
    "film as picture": (serve(samples.mp4(), content_type="image/png"), "image"),
}


@pytest.mark.parametrize("case", NOT_MEDIA)
def test_what_is_not_the_media_asked_for_is_invalid(server: HostileServer, case: str) -> None:
    """Whatever status 200 and the names say; nothing of it is kept."""
    behaviour, kind = NOT_MEDIA[case]
    objects = MemoryObjects()
    with pytest.raises(InvalidMedia):
        run(server, behaviour, objects, kind)
    assert nothing_kept(objects)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 416, 451, 304, 302])
def test_refusing_link_is_dead(server: HostileServer, status: int) -> None:
    """Expired, most likely: the provider is asked for a fresh one."""
    objects = MemoryObjects()
    with pytest.raises(LinkDead, match=str(status)):
        run(server, serve(b"<Error><Code>ExpiredToken</Code></Error>", status), objects)
    assert nothing_kept(objects)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_passing_trouble_of_the_server_is_retried_later(server: HostileServer, status: int) -> None:
    objects = MemoryObjects()
    with pytest.raises(Retryable, match=str(status)):
        run(server, serve(status=status), objects)
    assert nothing_kept(objects)


@pytest.mark.parametrize(
    "behaviour",
    [
        each(),
        Peer.reset,
        each(serve(LONG_FILM[:500_000], length=len(LONG_FILM)), Peer.reset),
        serve(LONG_FILM[:500_000], length=len(LONG_FILM)),
        serve(samples.mp4(), length=len(samples.mp4()) + 9),
    ],
    ids=["closed", "reset", "reset inside", "cut", "cut small"],
)
def test_broken_transfer_is_retried_and_leaves_nothing(server: HostileServer, behaviour: Behaviour) -> None:
    """The file may be good where it lies, and it is paid for."""
    objects = MemoryObjects()
    with pytest.raises(Retryable):
        run(server, behaviour, objects, "video")
    assert nothing_kept(objects)


@pytest.mark.parametrize("begun", [b"", LONG_FILM[:500_000]], ids=["before it begins", "inside"])
def test_transfer_that_falls_silent_is_retried_and_leaves_nothing(server: HostileServer, begun: bytes) -> None:
    """Waited for as long as one read may take."""
    objects = MemoryObjects()
    silent = each(serve(begun, length=len(LONG_FILM)), Peer.stall) if begun else Peer.stall
    with pytest.raises(Retryable, match="timed out"):
        run(server, silent, objects, "video", limits=QUICK)
    assert nothing_kept(objects)


def test_unreachable_link_is_retried() -> None:
    for fault in (NotSent("refused"), NoAnswer("reset")):
        with pytest.raises(Retryable):
            one(Link(url="https://x.test/"), rules("video"), ScriptedHttp(downloads=[fault]), MemoryObjects())


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest", "file:///etc/passwd", "/f"])
def test_unsafe_redirect_is_refused(server: HostileServer, location: str) -> None:
    objects = MemoryObjects()
    with pytest.raises(UnsafeUrl):
        run(server, redirect(location), objects)
    assert nothing_kept(objects)


def test_declared_length_over_the_limit_is_refused_before_the_body(server: HostileServer) -> None:
    with pytest.raises(InvalidMedia, match="larger than the limit"):
        run(server, serve(samples.png(), length=5_000_001), MemoryObjects())


def test_undeclared_body_over_the_limit_stops_there(server: HostileServer) -> None:
    """An endless stream is left at the limit."""

    def endless(peer: Peer) -> None:
        serve(samples.ftyp(b"isom") + b"\x7f\xff\xff\xffmdat", length=-1)(peer)
        while not peer.stopping.is_set():
            peer.send(bytes(65536))

    objects = MemoryObjects()
    with pytest.raises(InvalidMedia, match="larger than the limit of 1000000"):
        run(server, endless, objects, "video", 1_000_000)
    assert nothing_kept(objects)
    assert objects.aborted == [KEY]


def test_compressed_transfer_stores_the_file_itself(server: HostileServer) -> None:
    """The declared length is that of the transfer, so it is not held against the file."""
    objects = MemoryObjects()
    packed = gzip.compress(samples.png())
    assert run(server, serve(packed, content_encoding="gzip"), objects).size == len(samples.png())
    assert objects.stored[KEY].body == samples.png()


def test_bomb_stops_near_the_limit_in_little_memory(server: HostileServer) -> None:
    """60 MB in 60 kB: the limit is met after the decoding of each piece, not of the whole."""
    film = samples.ftyp(b"isom") + struct.pack(">I", 60_000_008) + b"mdat" + bytes(60_000_000)
    packed = gzip.compress(film, 1)
    del film
    objects = MemoryObjects()
    tracemalloc.start()
    with pytest.raises(InvalidMedia, match="larger than the limit"):
        run(server, serve(packed, content_encoding="gzip", length=-1), objects, "video", 4_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000
    assert nothing_kept(objects)


@pytest.mark.parametrize("call", ["upload", "write", "finish"])
def test_failing_storage_leaves_nothing_and_is_retried(server: HostileServer, call: str) -> None:
    objects = MemoryObjects(fail=[call])
    with pytest.raises(Retryable):
        run(server, serve(LONG_FILM), objects, "video")
    assert nothing_kept(objects)


def test_size_that_the_provider_told_counts_where_the_server_tells_none() -> None:
    """A body without a length ends where the connection does, wherever that was."""
    whole = samples.mp3()
    link = Link(url="https://x.test/", size=len(whole))
    cut = ScriptedHttp(downloads=[Download(body=whole[:500])])
    with pytest.raises(Retryable):
        one(link, rules("audio"), cut, MemoryObjects())
    right = ScriptedHttp(downloads=[Download(body=whole)])
    assert one(link, rules("audio"), right, MemoryObjects()).size == len(whole)


def test_size_that_the_provider_told_must_be_the_servers() -> None:
    """Where the two differ one of them speaks of another file: little is read, and the link is tried again later."""
    whole = samples.mp3()
    for size in (len(whole) - 1, len(whole) + 1, 0):
        download = Download(body=whole, headers={"content-length": str(len(whole))})
        with pytest.raises(Retryable, match=f"the provider says {size} bytes and its server {len(whole)}"):
            one(
                Link(url="https://x.test/", size=size),
                rules("audio"),
                ScriptedHttp(downloads=[download]),
                MemoryObjects(),
            )
        assert download.closed


@pytest.mark.parametrize("body", [b"", b"<html>Please sign in</html>", b"<html>".ljust(5000)], ids=len)
def test_error_page_is_told_by_its_content_though_its_length_is_not_the_stated_one(body: bytes) -> None:
    """Else it would be tried again and again, and never be a reason to ask for a fresh link."""
    http = ScriptedHttp(downloads=[Download(body=body, headers={"content-length": str(len(body))})])
    with pytest.raises(InvalidMedia):
        one(Link(url="https://x.test/", size=4321), rules("video"), http, MemoryObjects())


@pytest.mark.parametrize("length", ["abc", "-5", "1, 1", "\u0661", "", "1e3"])
def test_unreadable_length_is_no_length(length: str) -> None:
    """The content is checked all the same."""
    http = ScriptedHttp(downloads=[Download(body=samples.png(), headers={"content-length": length})])
    assert one(Link(url="https://x.test/"), rules("image"), http, MemoryObjects()).size == len(samples.png())


def test_credentials_and_rules_are_handed_on_and_the_stream_is_closed() -> None:
    """Whatever happens on the way."""
    for download in (Download(body=samples.png()), Download(status=403), Download(body=b"<html>")):
        http = ScriptedHttp(downloads=[download])
        try:
            one(Link(url="https://x.test/f"), rules("image"), http, MemoryObjects(), {"X-Key": "k"})
        except (LinkDead, InvalidMedia):
            assert download.status == 403 or download.body == b"<html>"
        assert http.opened[0].url == "https://x.test/f"
        assert http.opened[0].headers == {"X-Key": "k"}
        assert http.opened[0].rules == rules("image")
        assert download.closed
