"""One account for each module, one deployment for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

from tests.adapters import conftest as http
from tests.cases.parts import Sdk
from tests.cases.place import Place
from tests.contract import aws
from tests.hostile.server import HostileServer

new_server = http.new_server
server = http.server
tls = http.tls

NewPlace = Callable[..., Place]


@pytest.fixture(scope="module")
def sdk() -> Iterator[Sdk]:
    with mock_aws():
        clients: list[Any] = [aws.client(name, None) for name in ("dynamodb", "sqs", "secretsmanager")]
        yield Sdk(*clients)
        for client in clients:
            client.close()


@pytest.fixture
def new_place(sdk: Sdk, new_server: Callable[..., HostileServer]) -> Iterator[NewPlace]:
    """Makes deployments; their connections are gone after the test."""
    made: list[Place] = []

    def make(*given: Any, server: HostileServer | None = None, **more: Any) -> Place:
        made.append(Place(sdk, server or new_server(), *given, **more))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture
def place(new_place: NewPlace) -> Place:
    return new_place()
