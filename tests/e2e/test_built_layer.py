"""The layer that sam build made and the stack runs: what is pinned, no more, and the product's own code."""

from __future__ import annotations

from pathlib import Path

from bench import packages
from bench.measure import FUNCTIONS
from bench.sandbox import Sandbox
from local.stack import Stack


def built(stack: Stack) -> Path:
    return stack.place.built_template.parent / "SharedLayer" / "python"


def test_layer_holds_what_is_pinned(stack: Stack) -> None:
    """A package that nobody pinned would be another one at the next build."""
    found = {path.name.removesuffix(".dist-info").lower() for path in built(stack).glob("*.dist-info")}
    wanted = {f"{name}-{version}".lower() for name, version in packages.pinned().items()}
    assert {name.replace("_", "-") for name in found} == {name.replace("_", "-") for name in wanted}


def test_layer_fits(stack: Stack) -> None:
    """Lambda takes 250 MB unpacked; a layer that doubles has to be noticed."""
    size = packages.megabytes(built(stack))
    print(f"layer: {size:.1f} MB unpacked")  # noqa: T201 shown with -s, and where the test fails
    assert size < 60


def test_each_handler_is_imported_from_it(stack: Stack, tmp_path: Path) -> None:
    """With its own folder, this layer and boto3, and nothing of this environment."""
    runtime = packages.runtime(tmp_path / "runtime")
    for name in FUNCTIONS:
        Sandbox(name, [built(stack), runtime], {"PATH": "/usr/bin:/bin"}).close()
