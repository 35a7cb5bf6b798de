"""Cases 5 and 22: where a result's link may lead, and who gets our key on the way."""

from __future__ import annotations

from typing import Any

import pytest

from tests import samples
from tests.cases.conftest import NewPlace
from tests.cases.parts import API_KEY
from tests.cases.place import Place
from tests.hostile.names import Names
from tests.hostile.server import Behaviour, HostileServer, Peer, redirect, serve

FILES, OTHER = "files.example.test", "other.example.test"  # the names in the server's certificate
API_AT, FILES_AT = "8.8.4.4", "8.8.8.8"

# -- 5


@pytest.fixture
def shop(new_place: NewPlace, new_server: Any, tls: Any) -> tuple[Place, Names]:
    """Production rules: https, public addresses, real look-ups as the script says; one server plays every host."""
    server = new_server(tls=tls[0])
    names = Names({FILES: [[API_AT]], OTHER: [[FILES_AT]]})
    url = server.url("", FILES)
    return new_place("", server=server, base_url=url, names=names, ca_file=tls[1]), names


def link(place: Place, path: str) -> str:
    return place.server.url(path, OTHER)


UNSAFE = [
    "https://[::ffff:169.254.169.254]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::]/",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://127.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "http://2130706433/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://good.example@127.0.0.1/",
    "http://files.example.test/a",
    "file:///etc/passwd",
    "ftp://files.example.test/a",
]
LEADS_TO = [
    "http://169.254.169.254/",
    "https://169.254.169.254/",
    "https://[::1]/",
    "//127.0.0.1/x",
    "file:///etc/passwd",
]


def ends_refused(place: Place, names: Names, job_id: str) -> None:
    """A validation failure after one fresh link; nothing was sent anywhere else, and nothing is tried again."""
    place.relay()
    assert place.messages("store") == [{"job": job_id}]
    place.deliver("store", job_id)
    told = place.get(job_id)
    assert (told["status"], told["error"]["code"]) == ("failed", "invalid_result"), told
    assert set(names.connected) <= {API_AT, FILES_AT}
    assert place.polls() == 1
    place.relay()
    assert place.messages("store") == []
    assert place.objects.stored == {}
    assert place.objects.open == []


@pytest.mark.parametrize("url", UNSAFE)
def test_case_05_an_unsafe_link_is_refused_before_any_byte_and_ends_the_job(
    shop: tuple[Place, Names], url: str
) -> None:
    place, names = shop
    job_id = place.storing(url)
    ends_refused(place, names, job_id)
    assert FILES_AT not in names.connected


@pytest.mark.parametrize("location", LEADS_TO)
def test_case_05_a_redirect_is_checked_like_the_link_itself(shop: tuple[Place, Names], location: str) -> None:
    place, names = shop
    place.server.routes["/a"] = redirect(location)
    ends_refused(place, names, place.storing(link(place, "/a")))


def test_case_05_a_name_that_turns_inward_is_reached_only_at_the_address_checked(shop: tuple[Place, Names]) -> None:
    """Look-up and connection are one step; the next look-up is checked anew and refused."""
    place, names = shop
    names.answers[OTHER] = [[FILES_AT], ["127.0.0.1"]]
    place.server.routes["/a"] = redirect("/b")
    place.server.routes["/b"] = serve(samples.mp4())
    ends_refused(place, names, place.storing(link(place, "/a")))
    assert [asked.target for asked in place.server.asked if asked.target in ("/a", "/b")] == ["/a"]


def test_case_05_redirects_in_a_loop_end_after_five(shop: tuple[Place, Names]) -> None:
    """Eleven in a row are no file; each of the two links is followed six times at most."""
    place, names = shop
    for number in range(11):
        place.server.routes[f"/{number}"] = redirect(f"/{(number + 1) % 11}")
    ends_refused(place, names, place.storing(link(place, "/0")))
    assert sum(asked.method == "GET" and len(asked.target) <= 3 for asked in place.server.asked) == 12


# -- 22

AUTHS = {
    "Authorization": "",
    "X-Api-Key": '[providers.sim.auth]\nheader = "X-Api-Key"\nprefix = ""\n',
}


def keyed_place(new_place: NewPlace, auth: str) -> tuple[Place, Names]:
    """Two hosts on this machine; result links on the first need our key."""
    names = Names({name: [["127.0.0.1"]] for name in (FILES, OTHER, "127.0.0.1")})
    tables = f'[providers.sim.results]\nallow_http = true\nallow_private = true\ncredential_hosts = ["{FILES}"]\n'
    return new_place(tables + AUTHS[auth], names=names), names


def seen(server: HostileServer, target: str) -> list[bool]:
    """Whether our key came with each request for this path."""
    return [API_KEY in " ".join(asked.headers.values()) for asked in server.asked if asked.target == target]


def storage(server: HostileServer) -> Behaviour:
    """Answers 400 where a credential comes besides the one in the link."""

    def behave(peer: Peer) -> bool | None:
        two = {"authorization", "x-api-key"} & set(server.asked[-1].headers)
        return serve(b"two credentials", 400)(peer) if two else serve(samples.mp4())(peer)

    return behave


@pytest.mark.parametrize("auth", AUTHS)
def test_case_22_our_key_opens_its_host_and_does_not_follow_a_redirect(new_place: NewPlace, auth: str) -> None:
    """The file is had, and the other host's log shows no key; whichever header carries it."""
    place, _ = keyed_place(new_place, auth)
    place.server.routes["/a"] = redirect(place.server.url("/stored?X-Sig=abc", OTHER))
    place.server.routes["/stored"] = storage(place.server)
    job_id = place.storing(place.server.url("/a", FILES))
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"
    assert (seen(place.server, "/a"), seen(place.server, "/stored?X-Sig=abc")) == ([True], [False])


@pytest.mark.parametrize("auth", AUTHS)
def test_case_22_a_link_on_a_foreign_host_never_gets_our_key(new_place: NewPlace, auth: str) -> None:
    """Nor does it come back with a redirect to the host that would open for it."""
    place, _ = keyed_place(new_place, auth)
    place.server.routes["/a"] = redirect(place.server.url("/b", FILES))
    place.server.routes["/b"] = serve(samples.mp4())
    job_id = place.storing(place.server.url("/a", OTHER))
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"
    assert (seen(place.server, "/a"), seen(place.server, "/b")) == ([False], [False])
