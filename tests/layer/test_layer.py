"""Each function finds what it needs in its folder, the layer and the Lambda runtime, and loads no more than that.

Its process sees nothing else (bench/sandbox.py): not the tools of this environment, not another function's folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import modules, packages
from bench.bed import Bed
from bench.line import happy
from bench.measure import FUNCTIONS, loaded
from bench.sandbox import Sandbox, SandboxError
from events.scenes import configuration

# After one piece of each function's work. Whatever is added here makes its cold starts longer: have a reason.
FOR_WORK = {
    "authorize": {"boto3"},
    "submit": {"boto3", "event_handler", "idempotency", "pydantic"},
    "jobs": {"boto3", "event_handler", "pydantic"},
    "webhook": {"boto3", "event_handler", "idempotency", "parameters", "pydantic", "requests"},
    # Powertools' batch brings its parser along.
    "relay": {"boto3", "batch", "parser", "idempotency", "pydantic", "requests"},
    "dispatch": {"boto3", "batch", "parser", "parameters", "pydantic", "requests"},
    "store": {"boto3", "batch", "parser", "parameters", "pydantic", "requests"},
    "reconcile": {"boto3", "idempotency", "parameters", "pydantic", "requests"},
    "notify": {"boto3", "batch", "requests"},
}
# Powertools' logger brings it.
ALWAYS = {"jmespath"}
EDGES = {"authorize": {"authorizer"}, "submit": {"submit"}, "jobs": {"jobs"}, "webhook": {"webhook"}}


@pytest.fixture
def worked(bed: Bed) -> Bed:
    """Every function has done its work once, and nothing besides."""
    bed.restart()
    line = happy(bed, "layer")
    loaded(bed, line.job_id)
    return bed


def test_importing_a_handler_loads_next_to_nothing(bed: Bed) -> None:
    """No SDK, no models, no HTTP client, no step: those come with the first event."""
    for name in FUNCTIONS:
        cold = bed.sandbox(name).cold
        assert modules.costly(cold) == ALWAYS, name
        assert modules.edges(cold) == modules.steps(cold) == set(), name


def test_a_function_loads_what_its_work_needs(worked: Bed) -> None:
    """Exactly these; neither the X-Ray SDK nor cryptography ever."""
    found = {name: set(modules.costly(worked.sandbox(name).modules())) - ALWAYS for name in FUNCTIONS}
    assert found == FOR_WORK


def test_no_function_loads_another_ones_edge(worked: Bed) -> None:
    """Functions fed by queues, the stream or the schedule load none."""
    found = {name: set(modules.edges(worked.sandbox(name).modules())) for name in FUNCTIONS}
    assert found == {name: EDGES.get(name, set()) for name in FUNCTIONS}


@pytest.mark.parametrize(("package", "function"), [("requests", "dispatch"), ("pydantic", "store")])
def test_a_package_that_the_layer_lacks_is_missed(bed: Bed, tmp_path: Path, package: str, function: str) -> None:
    """What the other tests of this file rest on: nothing stands in from elsewhere."""
    layer = packages.layer(tmp_path / "layer", configuration())
    (layer / package).unlink()
    paths = [layer, packages.runtime(tmp_path / "runtime")]
    sandbox = Sandbox(function, paths, bed.environment(function))
    try:
        result = sandbox.invoke({}, now=1)
        assert f"No module named '{package}'" in (result.error or "")
    finally:
        sandbox.close()


def test_a_handler_that_cannot_be_imported_is_no_function(bed: Bed, tmp_path: Path) -> None:
    """Without Powertools not even the import works, and the process says so by ending."""
    layer = packages.layer(tmp_path / "layer", configuration())
    (layer / "aws_lambda_powertools").unlink()
    with pytest.raises(SandboxError):
        Sandbox("authorize", [layer], bed.environment("authorize"))


def test_the_layer_has_what_is_pinned_in_the_versions_pinned(tmp_path: Path) -> None:
    """What the functions run with here is what sam build installs there."""
    layer = packages.layer(tmp_path / "layer", configuration())
    found = {path.name.removesuffix(".dist-info") for path in layer.glob("*.dist-info")}
    wanted = {f"{name}-{version}" for name, version in packages.pinned().items()}
    assert {_plain(name) for name in found} == {_plain(name) for name in wanted}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
