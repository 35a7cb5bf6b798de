"""A transfer that breaks, over real connections: the rest is asked for, joined if it fits, and not without end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mediajobs.adapters.http import WebHttp
from mediajobs.errors import InvalidMedia, Retryable
from mediajobs.jobs.model import Link, Output
from tests import samples
from tests.cases.parts import in_turn
from tests.fakes.objects import MemoryObjects
from tests.hostile.server import Behaviour, HostileServer, Peer, raw, serve
from tests.hostile.test_fetch import QUICK, nothing_kept, one, rules

FILM = samples.mp4(filling=900_000)
CORPUS = Path(__file__).parent.parent / "corpus"
CUT = 810_000


def get(server: HostileServer, behaviour: Behaviour, objects: MemoryObjects, kind: str = "video") -> Output:
    server.routes["/f"] = behaviour
    return one(Link(url=server.url("/f")), rules(kind), WebHttp(limits=QUICK), objects)


def ranged(
    server: HostileServer, body: bytes, *ends: Callable[[Peer], object], cut: int = CUT, tag: str = '"v1"'
) -> Behaviour:
    """A server of ranges whose first answers break off at `cut`, each in its way."""
    left = list(ends)

    def behave(peer: Peer) -> bool | None:
        asked = server.asked[-1].headers
        start = int(asked["range"].removeprefix("bytes=").removesuffix("-")) if asked.get("if-range") == tag else 0
        told = {"etag": tag, "accept_ranges": "bytes"}
        if start:
            told["content_range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        end = left.pop(0) if left else None
        sent = body[start:cut] if end else body[start:]
        serve(sent, 206 if start else 200, length=len(body) - start, **told)(peer)
        if end is not None:
            end(peer)
        return False

    return behave


def stall(peer: Peer) -> None:
    peer.stall(2)


def closed(_: Peer) -> None:
    """The end comes in good order, and too soon."""


# A reset is not among them: what it takes with it depends on the moment. tests/steps/test_transfers.py plays it.
BREAKS = {"closed": closed, "silent": stall}


@pytest.mark.parametrize("way", BREAKS)
def test_broken_transfer_is_joined_at_the_very_byte(server: HostileServer, way: str) -> None:
    """However it broke; what is stored is the file, and its digest is of all of it."""
    objects = MemoryObjects()
    output = get(server, ranged(server, FILM, BREAKS[way]), objects)
    assert output.sha256 == hashlib.sha256(FILM).hexdigest()
    assert [stored.body for stored in objects.stored.values()] == [FILM]
    first, second = (asked.headers for asked in server.asked)
    assert "range" not in first
    assert second["if-range"] == '"v1"'
    assert 0 < int(second["range"].removeprefix("bytes=").removesuffix("-")) <= CUT
    assert second["accept-encoding"] == "identity"


@pytest.mark.parametrize("name", ["film-vp9.webm", "picture.gif", "sound-id3.mp3", "sound.flac", "picture.avif"])
def test_real_file_broken_at_each_tenth_is_told_the_same(server: HostileServer, name: str) -> None:
    """The walk over its container goes on in the middle of a part."""
    body = (CORPUS / name).read_bytes()
    kind = {"film": "video", "pict": "image", "soun": "audio"}[name[:4]]
    for tenth in range(1, 10):
        objects = MemoryObjects()
        behaviour = ranged(server, body, closed, cut=max(1, len(body) * tenth // 10))
        assert get(server, behaviour, objects, kind).sha256 == hashlib.sha256(body).hexdigest()


def test_server_that_always_breaks_off_is_left_after_six_requests(server: HostileServer) -> None:
    objects = MemoryObjects()
    with pytest.raises(Retryable):
        get(server, ranged(server, FILM, *[closed] * 20), objects)
    assert len(server.asked) == 6
    assert nothing_kept(objects)


def test_server_that_gives_more_than_the_rest_is_not_believed(server: HostileServer) -> None:
    """The content's own end tells, where the connection does not."""
    objects = MemoryObjects()
    more = raw(
        b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Length: 900000\r\n\r\n' + FILM[:300_000],
    )
    again = raw(
        b"HTTP/1.1 206 Part\r\nContent-Range: bytes 300000-899999/900000\r\nContent-Length: 600100\r\n\r\n"
        + FILM[300_000:900_000]
        + b"x" * 100
    )
    answers = [more, again]
    with pytest.raises((Retryable, InvalidMedia)):
        get(server, in_turn(*answers), objects)
    assert nothing_kept(objects)


@pytest.mark.parametrize("status", [200, 206, 416, 404, 503])
def test_chunked_body_that_is_cut_starts_again_later(server: HostileServer, status: int) -> None:
    """Without a length there is nothing to join: the next run begins anew, whatever the server would answer."""
    objects = MemoryObjects()
    cut = b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n' + FILM[:0x3000]
    answers = [raw(cut), serve(b"", status)]
    with pytest.raises(Retryable):
        get(server, in_turn(*answers), objects)
    assert len(server.asked) == 1
    assert nothing_kept(objects)
