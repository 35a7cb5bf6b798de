"""sam build and sam deploy of the staged sources against the emulator."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template as Text
from typing import Any

from local.setup import directory
from local.stack.emulator import client_environment
from local.stack.places import ROOT, Place, StackError, tail
from local.stack.template import Template

_SOURCES = ("template.yaml", "functions", "shared")
_CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")
_CURES = {
    "Binary validation failed": "sam needs the Python named in Runtime on PATH; make clean, then try again.",
    "PythonPipBuilder": "pip could not install shared/requirements.txt: is a package index within reach?",
    "Could not connect to the endpoint": "The emulator stopped answering; see ministack.log beside this log.",
    "InvalidSamDocument": "template.yaml is not valid; make lint says where.",
}


def runtime() -> str:
    """The Lambda runtime that matches the Python that runs here; the emulator runs every function with it."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def architecture() -> str:
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def configuration(providers: Path, values: Mapping[str, str]) -> str:
    """The text of `providers`, with ${NAME} in it replaced from `values`. Raises StackError with each fault in it."""
    # Here, since only a deploy needs the product on its path: the guard, and whoever takes a stack down, do not.
    from mediajobs.adapters.providers.loading import load
    from mediajobs.errors import ConfigurationError

    try:
        text = Text(providers.read_text(encoding="utf-8")).safe_substitute(values)
        load(text, str(providers))
    except OSError as error:
        raise StackError(
            f"Cannot read the provider configuration {providers}: {error.strerror}. Is PROVIDERS= right?"
        ) from None
    except (UnicodeDecodeError, ConfigurationError) as error:
        raise StackError(f"{error}\n\n{providers} cannot be used; docs/providers.md has every setting.") from None
    return text


def stage(place: Place, providers: Path, values: Mapping[str, str]) -> None:
    """Copy what sam build reads, with the configuration `providers` as shared/providers.toml."""
    text = configuration(providers, values)
    kept = place.sources / ".aws-sam"
    place.sources.mkdir(parents=True, exist_ok=True)
    for old in place.sources.iterdir():
        if old != kept:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name in _SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place.sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            shutil.copy2(source, place.sources / name)
    (place.sources / "shared" / "providers.toml").write_text(text, encoding="utf-8")


def declared(place: Place, given: Mapping[str, str]) -> dict[str, str]:
    """Those of the given parameters that the template has."""
    known = Template.load(place.sources / "template.yaml", {}).parameters
    return {name: value for name, value in given.items() if name in known}


def build(place: Place, port: int, parameters: Mapping[str, str]) -> None:
    _sam(place, port, "build", ["--cached", "--parameter-overrides", *_overrides(parameters)])


def deploy(place: Place, port: int, parameters: Mapping[str, str]) -> None:
    options = ["--stack-name", place.stack_name, "--resolve-s3", "--capabilities", *_CAPABILITIES]
    options += ["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"]
    _sam(place, port, "deploy", [*options, "--parameter-overrides", *_overrides(parameters)])


def outputs(cloudformation: Any, place: Place) -> dict[str, str]:
    (found,) = cloudformation.describe_stacks(StackName=place.stack_name)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}


def physical_names(cloudformation: Any, place: Place) -> dict[str, str]:
    """The names that the deployed resources got, by their names in the template."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=place.stack_name)
    return {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
    }


def _overrides(parameters: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in parameters.items()]


def _sam(place: Place, port: int, verb: str, options: Sequence[str]) -> None:
    env = client_environment(port)
    binaries = directory("sam") / "bin"
    env |= {
        "PATH": f"{binaries}:{env.get('PATH', '')}",
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "1",
        # Its own settings, apart from those of a sam that is used for AWS.
        "__SAM_CLI_APP_DIR": str(place.home / "sam"),
    }
    log = place.log(f"sam-{verb}")
    with log.open("wb") as output:
        command = [str(binaries / "sam"), verb, *options]
        done = subprocess.run(
            command, cwd=place.sources, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
    if done.returncode:
        text = log.read_text(errors="replace")
        cure = next((cure for sign, cure in _CURES.items() if sign in text), "make lint checks the template.")
        raise StackError(f"{tail(log, 40)}\n\nsam {verb} failed. {cure} The whole output: {place.shown(log)}")
