"""A copy of this project in which a README's commands can be run as typed: they build and edit files there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from local import setup
from local.stack.emulator import client_environment

ROOT = Path(__file__).resolve().parents[2]
FILES = ("Makefile", "samconfig.toml", "template.yaml", "pyproject.toml")
FOLDERS = ("cli", "functions", "local", "requirements", "shared")
STAMP = """
from local.setup import _wanted_stamp, directory
for name in {names}:
    (directory(name) / "built-from").write_text(_wanted_stamp(name))
"""


def make(folder: Path) -> Path:
    """A checkout in `folder` whose virtual environments are this project's own, so that nothing is installed again."""
    names = ("dev", "sam")
    for name in names:
        setup.ensure(name)
    folder.mkdir()
    for name in FILES:
        shutil.copy2(ROOT / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in names:
        place = folder / ".venv" / name
        place.mkdir(parents=True)
        for part in ("bin", "lib", "pyvenv.cfg"):
            (place / part).symlink_to(setup.directory(name) / part)
    # An environment is the one wanted when its stamp names its place and the Python that made it.
    python = _base_python()
    subprocess.run([python, "-c", STAMP.format(names=names)], cwd=folder, check=True)
    _put_on_path(folder)
    return folder


def _base_python() -> str:
    """The interpreter that made the environments: what `python3` means to a person who runs make."""
    return str(Path(sys.executable).resolve())


def _put_on_path(folder: Path) -> None:
    """The commands that a person has beside the project: python3, and the AWS CLI by its stand-in."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(_base_python())
    aws = tools / "aws"
    aws.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("aws_cli.py")}" "$@"\n')
    aws.chmod(0o755)


def environment(folder: Path, port: int, **extra: str) -> dict[str, str]:
    """A shell's environment with the emulator in place of an AWS account, and nothing of the make that runs us."""
    env = client_environment(port)
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PROVIDERS", "ENV", "STACK", "RUNTIME"):
        env.pop(name, None)
    path = os.pathsep.join([str(folder / "tools"), env.get("PATH", os.defpath)])
    # Each poll of a deploy costs half a second here and five on AWS.
    return env | {"PATH": path, "SAM_CLI_POLL_DELAY": "1", "__SAM_CLI_APP_DIR": str(folder / "sam"), **extra}
