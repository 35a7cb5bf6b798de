"""Virtual environments are built from locks with hashes, again when they are not whole, and else left alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local.stack.places import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the builder, with an empty lock."""
    for name in ("local", "requirements"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "local" / "setup.py", tmp_path / "local")
    (tmp_path / "requirements" / "ministack.txt").write_text("# nothing\n")
    return tmp_path


def setup(project: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "local.setup", "ministack"],
        cwd=project, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_half_built_environment_is_built_again(project: Path) -> None:
    """Whole: nothing happens. Interrupted, or its lock changed: all of it is made anew."""
    assert "setup: .venv/ministack" in setup(project)
    assert setup(project) == ""

    stamp = project / ".venv" / "ministack" / "built-from"
    leftover = project / ".venv" / "ministack" / "leftover"
    leftover.write_text("of an interrupted run")
    stamp.unlink()
    assert "setup: .venv/ministack" in setup(project)
    assert not leftover.exists()

    (project / "requirements" / "ministack.txt").write_text("# still nothing, in other words\n")
    assert "setup: .venv/ministack" in setup(project)
    assert setup(project) == ""


def test_failed_install_says_what_to_do_and_is_not_taken_for_done(project: Path) -> None:
    """A package without a hash is refused, and the next run tries again."""
    (project / "requirements" / "ministack.txt").write_text("not-pinned-at-all\n")
    assert "pip could not install requirements/ministack.txt" in setup(project)
    assert not (project / ".venv" / "ministack" / "built-from").exists()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_pins_and_hashes_everything_and_names_no_host(lock: Path) -> None:
    """The same bytes on every machine, from whatever index that machine uses."""
    text = lock.read_text()
    assert "://" not in text
    assert "--index" not in text
    entries = re.split(r"\n(?=[a-z])", text)
    assert len(entries) > 5
    for entry in entries:
        assert re.match(r"[a-z0-9][a-z0-9._-]*==\S+", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry


def test_emulator_has_nothing_of_ours() -> None:
    """Functions see what is installed beside the emulator; a package missing from the layer must be missing there."""
    names = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements" / "ministack.txt").read_text(), re.MULTILINE))
    assert {"ministack", "boto3"} <= names
    assert not names & {"aws-lambda-powertools", "pydantic", "requests", "certifi", "idna", "typing-extensions"}


def test_layer_pins_each_package_without_boto3() -> None:
    """What is shipped is decided here; boto3 is the runtime's."""
    lines = [line for line in (ROOT / "shared" / "requirements.txt").read_text().splitlines() if line[:1].isalpha()]
    assert all(re.match(r"[A-Za-z0-9._-]+==[^ ]+( |$)", line) for line in lines)
    assert not any(line.startswith(("boto3", "botocore")) for line in lines)


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_make_help_has_a_sentence_for_each_target() -> None:
    """Every target that a person would type is listed."""
    shown = make("help").stdout
    for target in ("setup", "lint", "test", "test-fast", "demo", "up", "down", "logs", "sam-local", "openapi", "events",
                   "bench", "build", "deploy", "clean"):  # fmt: skip
        assert re.search(rf"^  {target} +\S+ \S+", shown, re.MULTILINE), target


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n', "3.11 or later is needed"),
        ('#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; esac\n', "python3-venv"),
    ],
    ids=["too old", "no venv"],
)
def test_unfit_python_is_told_in_words(tmp_path: Path, script: str, told: str) -> None:
    """The first thing that can go wrong on a fresh machine says how to go on."""
    fake = tmp_path / "python3"
    fake.write_text(script)
    fake.chmod(0o755)
    done = make("setup", f"PYTHON={fake}", "RUNTIME=x")
    assert done.returncode != 0
    assert told in done.stderr


def test_missing_python_is_told_in_words() -> None:
    """Also when there is none at all."""
    done = make("setup", "PYTHON=/nowhere/python3", "RUNTIME=x")
    assert done.returncode != 0
    assert "Install Python 3.11" in done.stderr


@pytest.mark.parametrize("target", ["build", "deploy", "outputs", "doctor"])
def test_unknown_section_of_samconfig_is_told_before_anything_is_done(target: str) -> None:
    """With those that there are; sam would take defaults for it."""
    done = make(target, "ENV=nosuch", "RUNTIME=x")
    assert done.returncode == 2
    assert done.stderr.startswith("ENV=nosuch: samconfig.toml has no such section; it has local dev prod\n")
    assert done.stdout == ""
