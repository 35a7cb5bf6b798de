"""A server that does what a test says, however hostile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.server import HostileServer


@pytest.fixture
def server() -> Iterator[HostileServer]:
    started = HostileServer()
    yield started
    started.close()
