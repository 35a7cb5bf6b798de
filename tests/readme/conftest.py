"""A laptop stack of its own, as `make up` leaves it: what is tried here must not meet the jobs of other tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.stack import Stack, Wanted


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes the fixture `fresh_stack` needs a deployed stack."""
    for item in items:
        if "fresh_stack" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def fresh_stack() -> Iterator[Stack]:
    """The product as it is right after `make up`; it ends with the run."""
    with Stack.start("readme", Wanted()) as started:
        yield started
