"""The double of a vendor, running, and the adapter aimed at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.provider.server import SimulatedProvider
from tests.local_vendors.kit import SETTINGS, Inbox, Line, inbox

Lines = Callable[..., Line]


@pytest.fixture
def box() -> Iterator[Inbox]:
    with inbox() as taking:
        yield taking


@pytest.fixture
def line(box: Inbox) -> Iterator[Lines]:
    """Make a line to a vendor; `settings` of the double may be given."""
    started: list[SimulatedProvider] = []

    def start(name: str, **settings: Any) -> Line:
        server = SimulatedProvider(settings=replace(SETTINGS, **settings))
        server.start()
        started.append(server)
        return Line(name, server, box)

    yield start
    for server in started:
        server.stop()
