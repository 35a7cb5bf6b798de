"""Which URLs may be fetched, and from which addresses. Pure: no look-up and no connection.

Results come from URLs that somebody else wrote. A fetch that can be pointed at our own network reads what only we
may read, so everything here refuses unless it knows better.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass

from mediajobs.errors import UnlistedHost, UnsafeUrl
from mediajobs.messages import LinkRules

MOST_CHARACTERS = 16_384
MOST_DATA = 1_000_000  # characters of a data: URL; the answer that it stands in has a limit of its own
MOST_REDIRECTS = 5

_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)")
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _networks(*names: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(name) for name in names)


# Written out: `is_private` and `is_global` disagree with each other and between Python versions on several of these.
_NEVER = _networks(
    "0.0.0.0/8",  # this host
    "169.254.0.0/16",  # link-local: the metadata services
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",
    "fd00:ec2::/32",  # AWS's metadata service and resolver over IPv6
)
_PRIVATE = _networks(
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"
)
_IPV6_PUBLIC = ipaddress.IPv6Network("2000::/3")
# Inside that: special purposes with Teredo, documentation, and 6to4, which hides an IPv4 address of anybody's choice.
_IPV6_NEVER = _networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a URL leads. `path` is path and query as written: a signed URL bears no rewriting."""

    scheme: str
    host: str  # lower case, IPv6 without brackets
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def address(self) -> Address | None:
        """The address, where the host is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def is_data(url: str) -> bool:
    """The URL holds the file itself: nothing is fetched."""
    return url[:5].lower() == "data:"


def data(url: str) -> bytes:
    """The file in a data: URL. Its type is not heard: the content tells."""
    if len(url) > MOST_DATA:
        raise UnsafeUrl(f"the data: URL has more than {MOST_DATA} characters")
    head, comma, text = url.partition(",")
    raw = urllib.parse.unquote_to_bytes(text)
    if not comma:
        raise UnsafeUrl("the data: URL holds no data")
    if not head.lower().endswith(";base64"):
        return raw
    try:
        raw = b"".join(raw.split()).rstrip(b"=")
        return base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True)
    except binascii.Error as fault:
        raise UnsafeUrl("the data: URL is no base64") from fault


def parse(url: str) -> Target:
    """Takes a URL apart; raises UnsafeUrl for all but plain http and https, and for every odd way to write a host."""
    if len(url) > MOST_CHARACTERS:
        raise UnsafeUrl(f"the URL has more than {MOST_CHARACTERS} characters")
    if any(character < " " or character in "\x7f\\" for character in url):
        raise UnsafeUrl("the URL holds a control character or a backslash")
    match = _URL.match(url)
    scheme = match[1].lower() if match else ""
    if match is None or scheme not in _PORTS:
        raise UnsafeUrl("the URL is not an absolute http or https URL")
    host, port = _authority(match[2], scheme)
    rest = match[3] if match[3].startswith("/") else "/" + match[3]
    return Target(scheme=scheme, host=host, port=port, path=_escaped(rest))


def check(target: Target, rules: LinkRules) -> None:
    """Raises UnsafeUrl unless the rules allow this URL. A host name's addresses are checked once it is looked up."""
    if target.scheme != "https" and not rules.allow_http:
        raise UnsafeUrl(f"{target.host}: only https is allowed")
    if target.address is not None:
        check_address(target.host, allow_private=rules.allow_private)
    if rules.hosts and not host_in(target.host, rules.hosts):
        raise UnlistedHost(f"{target.host} is not among the allowed hosts")


def check_address(text: str, *, allow_private: bool) -> None:
    """Raises UnsafeUrl unless this is a public address, or a private one where those are allowed.

    Not even then link-local and the like, where the metadata services with the function's own credentials live.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError as fault:
        raise UnsafeUrl(f"{text} is not an address") from fault
    address = _inner(address)
    if any(address in network for network in _NEVER):
        raise UnsafeUrl(f"{text} is an address that is never fetched from")
    if any(address in network for network in _PRIVATE):
        if allow_private:
            return
        raise UnsafeUrl(f"{text} is a private address")
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _IPV6_PUBLIC or any(address in network for network in _IPV6_NEVER)
    ):
        raise UnsafeUrl(f"{text} is not a public address")


def follow(url: str, location: str) -> str:
    """The URL that a redirect leads to."""
    if _SCHEME.match(location):
        return location
    if location.startswith("//"):
        return url.partition(":")[0] + ":" + location
    try:
        return urllib.parse.urljoin(url, location)
    except ValueError as fault:
        raise UnsafeUrl("the redirect cannot be read") from fault


def host_in(host: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern is this host, or "*.example.com" and the host is below example.com."""
    for pattern in patterns:
        name = pattern.lower()
        if name == host or (name.startswith("*.") and host.endswith(name[1:]) and len(host) > len(name) - 1):
            return True
    return False


def _authority(text: str, scheme: str) -> tuple[str, int]:
    if "@" in text:
        raise UnsafeUrl("the URL holds a user name")
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise UnsafeUrl("the URL's host cannot be read")
    port = int(match[3]) if match[3] else _PORTS[scheme]
    if not 0 < port < 65536:
        raise UnsafeUrl("the URL's port is out of range")
    try:
        return (str(ipaddress.IPv6Address(match[1])) if match[1] else _name(match[2].lower())), port
    except ValueError as fault:
        raise UnsafeUrl("the URL's host is an address written in an odd way") from fault


def _name(host: str) -> str:
    """A host name, or an IPv4 address as four plain numbers: resolvers also take 2130706433, 127.1 and 0x7f.1."""
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(host))
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UnsafeUrl("the URL's host cannot be read")
    return host


def _escaped(path: str) -> str:
    """Escapes only what cannot stand in a request line; every other character goes out as it was written."""
    try:
        return "".join(c if "!" <= c <= "~" else urllib.parse.quote(c) for c in path)
    except UnicodeEncodeError as fault:
        raise UnsafeUrl("the URL holds half a character") from fault


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it is only another way to write it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address
