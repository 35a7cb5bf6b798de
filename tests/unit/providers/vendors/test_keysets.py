"""Published keys: fetched seldom, kept a day at most, and never because of a request that cannot be right."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.errors import NoAnswer, Unauthorized, Unavailable
from mediajobs.messages import Delivery, Request, Response
from tests.contract.vendors.fal import FAL, JWKS_URL, KEY, PUBLIC, event, jwks, sign
from tests.contract.vendors.shape import Wire, says
from tests.fakes.jobs import NOW

NEW = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\2")
NEW_PUBLIC = NEW.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
MINUTE, DAY = 60_000, 86_400_000


class Publisher(Wire):
    """Tells the key set as it is now; None: it does not answer."""

    def __init__(self, page: Response | None) -> None:
        super().__init__()
        self.page = page

    def get(self, request: Request) -> Response:
        assert request.url == JWKS_URL
        assert not any("sk-test" in value for value in request.headers.values())
        self.fetched.append(request.url)
        if self.page is None:
            raise NoAnswer("timeout")
        return self.page


def delivery(now: int = NOW, key: Ed25519PrivateKey = KEY) -> Delivery:
    made = FAL.delivery(event(payload={}), now)
    return replace(made, headers={k.lower(): (v,) for k, v in sign(made.body, now // 1000, key).items()})


def adapter(publisher: Publisher) -> GenericAdapter:
    made: GenericAdapter = FAL.made(publisher)
    return made


def test_keys_are_fetched_once_for_many_deliveries() -> None:
    """At the first that could be right; padded or not."""
    publisher = Publisher(jwks(PUBLIC, padded=True))
    made = adapter(publisher)
    for seconds in range(50):
        made.verify(delivery(NOW + seconds * 1000), NOW + seconds * 1000)
    assert len(publisher.fetched) == 1


def test_what_cannot_be_right_fetches_nothing() -> None:
    """The address is open to anybody."""
    publisher = Publisher(jwks(PUBLIC))
    made = adapter(publisher)
    good = delivery()
    for name in good.headers:
        with pytest.raises(Unauthorized):
            made.verify(
                replace(good, headers={**good.headers, name: ("x",)} | ({} if "id" not in name else {name: ()})), NOW
            )
    with pytest.raises(Unauthorized):
        made.verify(delivery(NOW - 301_000), NOW)
    assert publisher.fetched == []


def test_keys_are_kept_a_day_at_most() -> None:
    """Then they are read again; one that cannot be read any more is not trusted on."""
    publisher = Publisher(jwks(PUBLIC))
    made = adapter(publisher)
    made.verify(delivery(), NOW)
    made.verify(delivery(NOW + DAY - 1000), NOW + DAY - 1000)
    assert len(publisher.fetched) == 1
    publisher.page = None
    with pytest.raises(Unavailable):
        made.verify(delivery(NOW + DAY), NOW + DAY)
    assert len(publisher.fetched) == 2


def test_a_failed_fetch_is_remembered_for_a_minute() -> None:
    """A flood of deliveries that look right must not become a flood of fetches; they are told to come again."""
    for page in (None, says(500, {}), says(302, {}), says(200, {"keys": []}), says(200, raw=b"<html>")):
        publisher = Publisher(page)
        made = adapter(publisher)
        for seconds in range(0, 60, 3):
            now = NOW + seconds * 1000
            with pytest.raises(Unavailable):
                made.verify(delivery(now), now)
        assert len(publisher.fetched) == 1
        publisher.page = jwks(PUBLIC)
        made.verify(delivery(NOW + MINUTE), NOW + MINUTE)
        assert len(publisher.fetched) == 2


def test_a_new_key_is_found_and_a_flood_of_wrong_ones_is_not_chased() -> None:
    """Rotation is seen after five minutes at the latest; wrong signatures cause one fetch in that time."""
    publisher = Publisher(jwks(PUBLIC))
    made = adapter(publisher)
    made.verify(delivery(), NOW)
    publisher.page = jwks(PUBLIC, NEW_PUBLIC)
    for seconds in range(1, 300, 10):
        with pytest.raises(Unauthorized):
            made.verify(delivery(NOW + seconds * 1000, NEW), NOW + seconds * 1000)
    assert len(publisher.fetched) == 1
    later = NOW + 5 * MINUTE
    assert made.verify(delivery(later, NEW), later).event_id
    assert made.verify(delivery(later), later).event_id
    assert len(publisher.fetched) == 2


def test_keys_that_are_known_outlive_an_outage_of_the_publisher() -> None:
    """Within their day."""
    publisher = Publisher(jwks(PUBLIC))
    made = adapter(publisher)
    made.verify(delivery(), NOW)
    publisher.page = None
    later = NOW + 10 * MINUTE
    with pytest.raises(Unauthorized):
        made.verify(delivery(later, NEW), later)
    assert made.verify(delivery(later), later).event_id
