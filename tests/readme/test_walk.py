"""The README's first lines and its walk, typed as printed against the laptop stack."""

from __future__ import annotations

import json
import re
import shutil
import time
from typing import Any

import pytest

from local.stack import Stack
from local.stack.__main__ import _show
from local.stack.emulator import client_environment
from tests.readme import reading

README = reading.README.read_text()
FIRST = reading.typed(reading.blocks(reading.section(README, ""), "console")[0])
WALK = reading.typed(reading.blocks(reading.section(README, "A walk"), "console")[0])
# Jobs take some seconds; so does a machine with two cores that starts every function for the first time.
PATIENCE_S = 120


class Shell:
    """What a person knows while they type: variables they set, values they read in an answer."""

    def __init__(self, fresh_stack: Stack) -> None:
        port = int(fresh_stack.info["endpoint_url"].rpartition(":")[2])
        self.env = {**client_environment(port)}
        self.values = {
            name: str(fresh_stack.info[name]) for name in ("api_url", "api_key", "operator_key", "provider_url")
        }
        self.set: list[str] = []

    def types(self, step: reading.Typed) -> None:
        """The command, again until it prints what the README says: a person looks again too."""
        command = step.filled(self.values)
        if re.match(r"(export )?[A-Z]+=", command):
            self.set.append(command)
            return
        end = time.monotonic() + PATIENCE_S
        while True:
            done = reading.run("\n".join([*self.set, command]), reading.ROOT, self.env)
            missing = step.missing(done.stdout)
            if done.returncode == 0 and not missing:
                break
            assert time.monotonic() < end, f"{command}\nprinted\n{done.stdout}\n{done.stderr}\nand not {missing}"
            time.sleep(0.5)
        self.learn(done.stdout)

    def learn(self, output: str) -> None:
        """The id of what was submitted, and the version of its question."""
        try:
            answer: Any = json.loads(output)
        except ValueError:
            return
        if set(answer) == {"request_id", "status"}:
            self.values["request_id"] = answer["request_id"]
        for job in answer.get("jobs", []):
            if job["request_id"] == self.values["request_id"] and job["attention"]:
                self.values["version"] = str(job["attention"]["version"])


def test_the_readme_is_true_of_the_laptop_stack(fresh_stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """From `make up` to a result, then replay, list, attention and an answer: each prints what is printed there."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    up, *rest = FIRST
    assert up.command == "make up"
    capsys.readouterr()
    _show(fresh_stack.info)
    assert up.missing(capsys.readouterr().out) == []
    shell = Shell(fresh_stack)
    for step in [*rest, *WALK]:
        shell.types(step)
