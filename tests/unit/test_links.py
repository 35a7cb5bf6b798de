"""Which URLs and addresses may be fetched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediajobs import links
from mediajobs.errors import UnlistedHost, UnsafeUrl
from mediajobs.messages import LinkRules

PUBLIC = LinkRules()
LAPTOP = LinkRules(allow_http=True, allow_private=True)


def allowed(url: str, rules: LinkRules = PUBLIC) -> links.Target:
    target = links.parse(url)
    links.check(target, rules)
    return target


@pytest.mark.parametrize(
    "url",
    [
        "http://files.example.test/a.mp4",
        "ftp://files.example.test/a.mp4",
        "file:///etc/passwd",
        "file://files.example.test/etc/passwd",
        "gopher://files.example.test/",
        "data:video/mp4;base64,AAAA",
        "javascript:alert(1)",
        "//files.example.test/a.mp4",
        "/a.mp4",
        "a.mp4",
        "",
        "https:files.example.test/a",
        "https:/files.example.test/a",
        "https://",
        "https:///a",
        "https://?a",
        " https://files.example.test/",
        "https://good.example@127.0.0.1/",
        "https://user:word@files.example.test/",
        "https://files.example.test:443@127.0.0.1/",
        "https://files.example.test\\@127.0.0.1/",
        "https://files.example.test\\.evil.test/",
        "https:\\\\files.example.test/",
        "https://files.example.test/\r\nHost: evil",
        "https://files.example.test/\0",
        "https://files.example.test/a\tb",
        "https://files .example.test/",
        "https://files%2eexample.test/",
        "https://127%2e0.0.1/",
        "https://\uff11\uff12\uff17.0.0.1/",
        "https://ⓛocalhost/",
        "https://b\u00fccher.example/",
        "https://.example.test/",
        "https://a..b/",
        "https://example.test./",
        "https://-a.example/",
        "https://" + "a" * 64 + ".example/",
        "https://" + "a." * 130 + "example/",
        "https://files.example.test:0/",
        "https://files.example.test:65536/",
        "https://files.example.test:+443/",
        "https://files.example.test:\uff14\uff14\uff13/",
        "https://files.example.test:/",
        "https://[::1",
        "https://::1/",
        "https://[fe80::1%25eth0]/",
        "https://[::1]x/",
        "https://[1.2.3.4]/",
        "https://files.example.test/" + "a" * 20_000,
        "https://files.example.test/\ud800",
    ],
)
def test_everything_but_a_plain_https_url_is_refused(url: str) -> None:
    """Other schemes, user names, and every trick to make two readers see two hosts."""
    with pytest.raises(UnsafeUrl):
        allowed(url)


BAD_ADDRESSES = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_address_that_is_not_public_is_refused_in_every_form(address: str) -> None:
    """As a look-up's answer and written into the URL."""
    with pytest.raises(UnsafeUrl):
        links.check_address(address, allow_private=False)
    with pytest.raises(UnsafeUrl):
        allowed(f"https://[{address}]/x" if ":" in address else f"https://{address}/x")


@pytest.mark.parametrize(
    "url",
    [
        "https://2130706433/",
        "https://017700000001/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://0177.0.0.1/",
        "https://127.0.0.01/",
        "https://8.8.8.08/",
        "https://files.0x7f/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
    ],
)
def test_number_that_a_resolver_would_take_for_an_address_is_refused(url: str) -> None:
    with pytest.raises(UnsafeUrl):
        allowed(url)
    with pytest.raises(UnsafeUrl):
        allowed(url, LAPTOP)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2600:9000::1", "2a00:1450::1", "64:ff9b::808:808", "::ffff:8.8.8.8"],
)
def test_public_address_is_allowed(address: str) -> None:
    """Also as a translating network writes a public IPv4 address."""
    links.check_address(address, allow_private=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fd12::1", "::ffff:127.0.0.1"])
def test_private_address_is_allowed_where_the_rules_say_so(address: str) -> None:
    links.check_address(address, allow_private=True)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.170.2",
        "fd00:ec2::254",
        "0.0.0.0",
        "::",
        "fe80::1",
        "224.0.0.1",
        "64:ff9b::a9fe:a9fe",
    ],
)
def test_metadata_and_the_like_are_refused_even_where_private_ones_are_allowed(address: str) -> None:
    """The laptop's rule must not become a hole when it is copied into production."""
    with pytest.raises(UnsafeUrl):
        links.check_address(address, allow_private=True)


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "nonsense", "1.2.3.4/8"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(UnsafeUrl):
        links.check_address(text, allow_private=True)


def test_hosts_of_the_rules_are_matched_exactly_or_below_a_star() -> None:
    """A star covers what is below, not the name itself, and never a longer name that merely ends alike."""
    rules = LinkRules(hosts=("files.example.test", "*.cdn.example.test"))
    for host in ("files.example.test", "FILES.example.TEST", "a.cdn.example.test", "a.b.cdn.example.test"):
        assert allowed(f"https://{host}/x", rules).host == host.lower()
    for host in (
        "example.test",
        "cdn.example.test",
        "evilcdn.example.test",
        "xfiles.example.test",
        "files.example.test.evil.test",
        "8.8.8.8",
    ):
        with pytest.raises(UnlistedHost, match="not among the allowed hosts"):
            allowed(f"https://{host}/x", rules)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://h.test", "/"),
        ("https://h.test?x=1", "/?x=1"),
        ("https://h.test#part", "/"),
        ("https://h.test/a?b#c", "/a?b"),
        ("https://h.test//a/../b/./c", "//a/../b/./c"),
        ("https://h.test/a%2fb%7Ec~d%zz%", "/a%2fb%7Ec~d%zz%"),
        ("https://h.test/a?sig=a+b/c==&x={y}|^`\"<>'", "/a?sig=a+b/c==&x={y}|^`\"<>'"),
        ("https://h.test/a?b=https://evil.test/@x", "/a?b=https://evil.test/@x"),
        ("https://h.test/my film.mp4", "/my%20film.mp4"),
        ("https://h.test/caf\u00e9?q=\u2603", "/caf%C3%A9?q=%E2%98%83"),
    ],
)
def test_path_and_query_are_kept_as_written(url: str, path: str) -> None:
    """A signature over the URL bears no tidying. Only what cannot stand in a request line is escaped."""
    assert allowed(url).path == path


def test_port_and_ipv6_host_are_read() -> None:
    target = links.parse("HTTPS://[2600:9000:0::00A1]:8443/x")
    assert (target.scheme, target.host, target.port) == ("https", "2600:9000::a1", 8443)
    assert links.parse("http://h.test/").port == 80
    assert links.parse("https://h.test/").origin == ("https", "h.test", 443)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://other.test/x%2f?y", "https://other.test/x%2f?y"),
        ("//other.test/x", "https://other.test/x"),
        ("/x?y", "https://h.test:8443/x?y"),
        ("x", "https://h.test:8443/a/x"),
        ("?z", "https://h.test:8443/a/b?z"),
        ("file:///etc/passwd", "file:///etc/passwd"),
    ],
)
def test_redirect_is_followed_as_written(location: str, expected: str) -> None:
    """Whether the new URL may be fetched is asked anew, of the same rules."""
    assert links.follow("https://h.test:8443/a/b?c", location) == expected


@given(st.text(max_size=60))
def test_no_text_gives_another_fault(text: str) -> None:
    """Whatever a provider writes into a link."""
    for url in (text, "https://" + text, "https://h.test/" + text, links.follow("https://h.test/a", text or "x")):
        try:
            target = allowed(url)
        except UnsafeUrl:
            continue
        assert target.path.startswith("/")
        assert target.path.isascii()
        assert not set(target.path) & set(" \r\n\t\0")


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("data:image/png;base64,iVBORw0KGgo=", b"\x89PNG\r\n\x1a\n"),
        ("DATA:;base64,iVBORw0KGgo", b"\x89PNG\r\n\x1a\n"),
        ("data:image/png;charset=x;base64,iVBO%52w0K Ggo=", b"\x89PNG\r\n\x1a\n"),
        ("data:,a%00b", b"a\0b"),
        ("data:image/png;base64,", b""),
    ],
)
def test_data_url_holds_the_file_itself(url: str, body: bytes) -> None:
    assert links.is_data(url)
    assert links.data(url) == body


@pytest.mark.parametrize(
    "url", ["data:image/png;base64", "data:image/png;base64,a", "data:;base64,####", "data:,".ljust(1_000_001, "a")]
)
def test_data_url_that_cannot_be_read_or_is_too_long_is_refused(url: str) -> None:
    """Bounded: it stands in an answer that is held in memory."""
    with pytest.raises(UnsafeUrl):
        links.data(url)
