"""Downloads: which addresses are reached, and where credentials go."""

from __future__ import annotations

import ssl

import pytest

from mediajobs.adapters.http import WebHttp
from mediajobs.errors import NotSent, UnsafeUrl
from mediajobs.messages import LinkRules, Rest
from tests.adapters.streams import KEY, LAPTOP, NAME, OTHER, New, download
from tests.hostile.names import Names
from tests.hostile.server import HostileServer, Peer, redirect, serve

Tls = tuple[ssl.SSLContext, str]


@pytest.mark.parametrize("path", ["/f%2fg~h%7E?X-Sig=a%2Bb+c%3D==&x={y}|", "/a//b/../c?x=y#part"])
def test_signed_url_goes_out_as_written(server: HostileServer, path: str) -> None:
    """One tidied character spoils the signature of a presigned link."""
    stream = WebHttp().stream(server.url(path), {}, LAPTOP)
    stream.close()
    assert server.asked[0].target == path.partition("#")[0]


def test_host_and_tls_name_are_those_of_the_url(new_server: New, tls: Tls) -> None:
    """Though the connection is made to an address: virtual hosts and certificates need the name."""
    server = new_server(tls=tls[0])
    server.routes["/f"] = serve(b"film")
    names = Names({NAME: [["8.8.8.8"]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect, ca_file=tls[1])
    assert download(http, server.url("/f", NAME), LinkRules()) == b"film"
    assert names.connected == ["8.8.8.8"]
    assert server.asked[0].headers["host"] == f"{NAME}:{server.port}"
    assert server.asked[0].server_name == NAME


def test_address_in_the_url_is_reached_under_its_certificate(new_server: New, tls: Tls) -> None:
    server = new_server(tls=tls[0])
    server.routes["/f"] = serve(b"film")
    names = Names({"8.8.8.8": [["8.8.8.8"]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect, ca_file=tls[1])
    assert download(http, server.url("/f", "8.8.8.8"), LinkRules()) == b"film"


@pytest.mark.parametrize(
    "url",
    [
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://2130706433/",
        "http://2130706433/",
        "https://127.0.0.1/",
        "https://good.example@127.0.0.1/",
        "http://files.example.test/",
        "file:///etc/passwd",
        "ftp://files.example.test/x",
    ],
)
def test_unsafe_url_is_refused_before_any_connection(url: str) -> None:
    names = Names()
    with pytest.raises(UnsafeUrl):
        WebHttp(resolver=names.resolve, connector=names.connect).stream(url, {}, LinkRules())
    assert (names.looked_up, names.connected) == ([], [])


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:10.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["fd00:ec2::254", "8.8.8.8"],
        ["fe80::1%eth0"],
    ],
)
def test_name_with_any_address_inside_is_refused_before_any_connection(addresses: list[str]) -> None:
    """One bad address among good ones is a trap: the connection might take either."""
    names = Names({NAME: [addresses]})
    with pytest.raises(UnsafeUrl):
        WebHttp(resolver=names.resolve, connector=names.connect).stream(f"https://{NAME}/x", {}, LinkRules())
    assert names.connected == []


def test_rebinding_name_is_reached_only_at_the_address_checked(new_server: New, tls: Tls) -> None:
    """Look-up and connection are one step: the second answer is never asked for."""
    server = new_server(tls=tls[0])
    server.routes["/f"] = serve(b"film")
    names = Names({NAME: [["8.8.8.8"], ["127.0.0.1"]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect, ca_file=tls[1])
    assert download(http, server.url("/f", NAME), LinkRules()) == b"film"
    assert (names.looked_up, names.connected) == ([NAME], ["8.8.8.8"])
    with pytest.raises(UnsafeUrl):  # by now the name leads inside
        http.stream(server.url("/f", NAME), {}, LinkRules())
    assert names.connected == ["8.8.8.8"]


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "//127.0.0.1/x",
        "file:///etc/passwd",
        "ftp://files.example.test/x",
        "https://user@files.example.test/",
        "https://2130706433/",
        f"https://{OTHER}/x",
        "https://inside.example.test/x",
        "\\\\evil.test/x",
    ],
)
def test_redirect_to_an_unsafe_url_is_refused_before_any_byte(new_server: New, tls: Tls, location: str) -> None:
    """Each hop passes the same checks, its host and its addresses too."""
    server = new_server(tls=tls[0])
    server.routes["/f"] = redirect(location)
    names = Names({NAME: [["8.8.8.8"]], OTHER: [["8.8.4.4"]], "inside.example.test": [["10.0.0.1"]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect, ca_file=tls[1])
    with pytest.raises(UnsafeUrl):
        http.stream(server.url("/f", NAME), {}, LinkRules(hosts=(NAME, "inside.example.test")))
    assert names.connected == ["8.8.8.8"]


def test_every_hop_is_checked(new_server: New, tls: Tls) -> None:
    """Not only the first: a good host may lead to another good one that leads inside."""
    server = new_server(tls=tls[0])
    server.routes["/f"] = redirect(server.url("/g", OTHER))
    names = Names({NAME: [["8.8.8.8"]], OTHER: [["8.8.4.4"]]})
    http = WebHttp(resolver=names.resolve, connector=names.connect, ca_file=tls[1])
    for location in ("https://evil.example.test/", server.url("/x").replace("https", "http"), "https://127.0.0.1/"):
        server.routes["/g"] = redirect(location)
        with pytest.raises(UnsafeUrl):
            http.stream(server.url("/f", NAME), {}, LinkRules(hosts=(NAME, OTHER, "127.0.0.1")))
    assert names.connected == ["8.8.8.8", "8.8.4.4"] * 3


def test_redirects_are_followed_five_times_and_no_more(server: HostileServer) -> None:
    """Relative ones too; a loop ends."""
    for number in range(5):
        server.routes[f"/{number}"] = redirect(f"{number + 1}", 301 + number % 2)
    server.routes["/5"] = serve(b"film")
    assert download(WebHttp(), server.url("/0")) == b"film"
    server.routes["/5"] = redirect("/0")
    server.asked.clear()
    with pytest.raises(UnsafeUrl, match="redirects"):
        WebHttp().stream(server.url("/0"), {}, LAPTOP)
    assert len(server.asked) == 6


@pytest.mark.parametrize("status", [300, 304, 302])
def test_redirect_without_a_place_to_go_is_an_answer(server: HostileServer, status: int) -> None:
    server.routes["/f"] = serve(status=status)
    stream = WebHttp().stream(server.url("/f"), {}, LAPTOP)
    assert stream.status == status
    stream.close()


def test_body_of_a_redirect_is_not_read(server: HostileServer) -> None:
    """It may have no end."""
    server.routes["/f"] = serve(b"x" * 1000, 302, length=1 << 40, location="/g")
    server.routes["/g"] = serve(b"film")
    assert download(WebHttp(), server.url("/f")) == b"film"


def two_hosts(new_server: New) -> tuple[HostileServer, WebHttp]:
    """One server under two names."""
    server = new_server()
    names = Names({NAME: [["127.0.0.1"]], OTHER: [["127.0.0.1"]]})
    return server, WebHttp(resolver=names.resolve, connector=names.connect)


def keys_seen(server: HostileServer) -> list[bool]:
    return ["x-api-key" in asked.headers or "authorization" in asked.headers for asked in server.asked]


def test_key_goes_to_its_hosts_and_is_dropped_on_the_way_to_another(new_server: New) -> None:
    """Storage behind the redirect refuses two credentials, and must never see ours."""
    server, http = two_hosts(new_server)

    def storage(peer: Peer) -> bool | None:
        return serve(b"two credentials", 400)(peer) if keys_seen(server)[-1] else serve(b"film")(peer)

    server.routes["/f"] = redirect(server.url("/stored", OTHER))
    server.routes["/stored"] = storage
    rules = LinkRules(allow_http=True, allow_private=True, credential_hosts=(NAME,))
    assert download(http, server.url("/f", NAME), rules, KEY) == b"film"
    assert keys_seen(server) == [True, False]


def test_key_stays_on_a_redirect_within_its_host(new_server: New) -> None:
    server, http = two_hosts(new_server)
    server.routes["/f"], server.routes["/g"] = redirect("/g"), serve(b"film")
    rules = LinkRules(allow_http=True, allow_private=True, credential_hosts=(NAME,))
    assert download(http, server.url("/f", NAME), rules, KEY) == b"film"
    assert keys_seen(server) == [True, True]


def test_key_never_goes_to_a_foreign_host(new_server: New) -> None:
    """Not to a result link elsewhere, not by a redirect from there, and not back home from there."""
    server, http = two_hosts(new_server)
    server.routes["/f"], server.routes["/g"] = redirect(server.url("/g", NAME)), serve(b"film")
    rules = LinkRules(allow_http=True, allow_private=True, credential_hosts=(NAME,))
    assert download(http, server.url("/f", OTHER), rules, KEY) == b"film"
    server.routes["/a"] = redirect(server.url("/f", OTHER))
    assert download(http, server.url("/a", NAME), rules, KEY) == b"film"
    assert keys_seen(server) == [False, False, True, False, False]
    server.asked.clear()
    download(http, server.url("/g", NAME), LAPTOP, KEY)  # no credential hosts: to nobody
    assert keys_seen(server) == [False]


def test_key_is_dropped_on_another_port_of_its_host(new_server: New) -> None:
    """What listens there may be somebody else's."""
    first, second = new_server(), new_server()
    first.routes["/f"], second.routes["/g"] = redirect(second.url("/g")), serve(b"film")
    rules = LinkRules(allow_http=True, allow_private=True, credential_hosts=("127.0.0.1",))
    assert download(WebHttp(), first.url("/f"), rules, KEY) == b"film"
    assert keys_seen(first) + keys_seen(second) == [True, False]


def test_refused_download_was_not_sent() -> None:
    names = Names({NAME: [["8.8.8.8"]]}, {"8.8.8.8": ConnectionRefusedError()})
    with pytest.raises(NotSent):
        WebHttp(resolver=names.resolve, connector=names.connect).stream(f"https://{NAME}/x", {}, LinkRules())


def test_rest_is_asked_for_under_its_validator_by_every_host_on_the_way(new_server: New) -> None:
    """A presigned link's storage stands behind a redirect; what says how much is wanted is no secret."""
    server, http = two_hosts(new_server)
    server.routes["/f"] = redirect(server.url("/g", OTHER))
    server.routes["/g"] = serve(b"lm", 206, content_range="bytes 2-3/4", etag='"v1"')
    stream = http.stream(server.url("/f", NAME), KEY, LAPTOP, Rest(start=2, validator='"v1"'))
    assert (stream.status, b"".join(stream.chunks())) == (206, b"lm")
    stream.close()
    assert [(one.headers["range"], one.headers["if-range"]) for one in server.asked] == [("bytes=2-", '"v1"')] * 2
    assert keys_seen(server) == [False, False]


def test_file_in_the_link_itself_is_read_without_any_connection() -> None:
    names = Names()
    http = WebHttp(resolver=names.resolve, connector=names.connect)
    assert download(http, "data:video/mp4;base64,ZmlsbQ==", LinkRules()) == b"film"
    assert (names.looked_up, names.connected) == ([], [])


def test_redirect_to_a_file_in_the_link_is_refused(server: HostileServer) -> None:
    """Only the provider's own word may hold a file; whoever answers a link may not."""
    server.routes["/f"] = redirect("data:video/mp4;base64,ZmlsbQ==")
    with pytest.raises(UnsafeUrl):
        WebHttp().stream(server.url("/f"), {}, LAPTOP)
