"""One deployed stack for the whole run: starting it costs what all of its tests cost together."""

from collections.abc import Iterator

import pytest

from local.stack import Stack, Wanted


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes the fixture `stack` needs the deployed stack; nobody has to remember the marker."""
    for item in items:
        if "stack" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The product on the emulator, with a provider that makes no mistake; it ends with the run."""
    with Stack.start("test", Wanted()) as started:
        yield started
