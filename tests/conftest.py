"""What tests of several folders share: one bed for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from bench.bed import Bed
from tests.contract import emulator

KNOBS = ("JOBS", "SEED", "FAULTS", "MAX_IN_FLIGHT", "IDEMPOTENT", "PROVIDERS", "PROVIDER", "MINUTES")


def pytest_configure() -> None:
    """What `make` exports for a demo, empty or not, is no setting of a test: it says its own."""
    for name in KNOBS:
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes the fixture `bed` needs an emulator; nobody has to remember the marker."""
    for item in items:
        if "bed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.emulator)


@pytest.fixture(scope="session")
def running_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """All functions on a bare emulator, each in its own process, started when it is first asked for."""
    with (
        emulator.running(tmp_path_factory.mktemp("emulator")) as endpoint,
        Bed(endpoint, tmp_path_factory.mktemp("bed")) as bed,
    ):
        yield bed


@pytest.fixture
def bed(running_bed: Bed) -> Bed:
    """The same for every test, with nothing in it."""
    running_bed.clear()
    return running_bed
