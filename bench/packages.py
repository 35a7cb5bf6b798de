"""The three places from which a function imports: its own folder, the layer, and what the Lambda runtime brings.

The layer's packages are those that shared/requirements.txt pins, and no other; here they are linked from the
environment that runs this, which holds the same versions. So a package that the layer lacks is missing here too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "shared" / "requirements.txt"
# boto3 and what it needs; jmespath and urllib3 too, but those the layer has to bring for itself.
RUNTIME = ("boto3", "botocore", "s3transfer", "python-dateutil", "six")
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")


class PackagesError(Exception):
    """The environment is not what shared/requirements.txt asks for."""


def pinned(requirements: Path = REQUIREMENTS) -> dict[str, str]:
    """Name and version of every package of the layer."""
    return {found[1]: found[2] for line in requirements.read_text().splitlines() if (found := _PIN.match(line))}


def layer(target: Path, providers: str) -> Path:
    """A layer in `target`: the product with that provider configuration, and its packages."""
    target.mkdir(parents=True)
    shutil.copytree(ROOT / "shared" / "mediajobs", target / "mediajobs")
    (target / "providers.toml").write_text(providers, encoding="utf-8")
    for name, version in pinned().items():
        found = distribution(name)
        if found.version != version:
            raise PackagesError(f"{name} is {found.version} here and {version} in the layer; run: make setup")
        _link(found, target)
    return target


def runtime(target: Path) -> Path:
    """What the Lambda runtime brings."""
    target.mkdir(parents=True)
    for name in RUNTIME:
        _link(distribution(name), target)
    return target


def built() -> Path | None:
    """The newest layer that sam build made here for this very code's packages, if there is one."""
    made = ROOT.glob("build/*/src/.aws-sam/build/SharedLayer/python")
    fit = [path for path in made if pinned(path / "requirements.txt") == pinned()]
    return max(fit, key=lambda path: path.stat().st_mtime, default=None)


def megabytes(folder: Path) -> float:
    """What a folder holds, compiled files left out."""
    files = (path for path in _files(folder) if "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files) / 1_000_000


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _link(found: Distribution, target: Path) -> None:
    """Each top-level file and folder of a distribution, by link."""
    tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        (target / top).symlink_to(Path(str(found.locate_file(top))).resolve())
