"""A deployment with every vendor configured, at work on a job of one provider: what each function loads of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import modules
from bench.bed import Bed
from bench.line import happy
from bench.measure import FUNCTIONS, loaded
from mediajobs.adapters.providers.presets import known
from mediajobs.adapters.providers.registry import CLASSES
from tests.contract import emulator

VENDORS = "".join(
    f'\n[providers.{name}]\nadapter = "{name}"\n'
    f'[providers.{name}.models]\n"a/b" = {{ kind = "video", endpoint = "e" }}\n'
    for name in known()
)
# The one whose job is at hand is mapped by the generic adapter.
AT_HAND = {name: {"generic"} for name in ("submit", "dispatch", "webhook", "store")}


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Every function has done its work once, reconcile twice."""
    with (
        emulator.running(tmp_path_factory.mktemp("emulator")) as endpoint,
        Bed(endpoint, tmp_path_factory.mktemp("bed"), more=VENDORS) as bed,
    ):
        loaded(bed, happy(bed, "vendors").job_id)
        yield bed


@pytest.mark.emulator
def test_no_function_loads_an_adapter_that_its_work_does_not_need(worked: Bed) -> None:
    """Their traits stand in the configuration: who only publishes, tops up or shows a job needs no adapter."""
    names = {place.partition(".")[0] for place in CLASSES.values()}
    assert len(names) >= 6
    found = {name: modules.adapters(worked.sandbox(name).modules(), names) for name in FUNCTIONS}
    assert found == {name: AT_HAND.get(name, set()) for name in FUNCTIONS}


@pytest.mark.emulator
def test_no_function_loads_cryptography_for_it(worked: Bed) -> None:
    """It comes with the first signature that needs it, and with no configuration."""
    for name in FUNCTIONS:
        assert "cryptography" not in worked.sandbox(name).modules(), name
