"""`python -m cli.doctor` on a stack that is deployed: well, and then with its faults."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from local.stack import Stack
from local.stack.emulator import client_environment
from local.stack.places import ROOT


def doctor(fresh_stack: Stack, name: str | None = None) -> tuple[int, list[str]]:
    """Exit code and lines, as a person runs it against the emulator."""
    port = int(fresh_stack.info["endpoint_url"].rpartition(":")[2])
    env = client_environment(port) | {"PYTHONPATH": "shared"}
    command = [sys.executable, "-m", "cli.doctor", "--stack", name or fresh_stack.info["stack_name"]]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.fixture
def secret(fresh_stack: Stack) -> Iterator[str]:
    """The name of a provider's secret, which is as it was again afterwards."""
    name = f"{fresh_stack.info['stack_name']}/providers/sim-nokey"
    kept = fresh_stack.client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
    yield name
    fresh_stack.client("secretsmanager").put_secret_value(SecretId=name, SecretString=kept)


def test_stack_that_is_well_has_no_fault(fresh_stack: Stack) -> None:
    """Every part is looked at, through the deployed layer's own provider configuration."""
    code, lines = doctor(fresh_stack)
    assert code == 0, lines
    assert lines[0] == f"{fresh_stack.info['stack_name']} is CREATE_COMPLETE"
    ok = [line.split()[1] for line in lines if line.startswith("ok ")]
    assert set(ok) == {"concurrency", "secret", "webhooks", "table", "start"}
    assert any("sim-nokey" in line for line in lines)
    assert any("nobody is told" in line for line in lines)
    assert not any("could not be looked at" in line for line in lines)
    assert lines[-1] == "0 faults"


def test_secret_that_no_function_could_use_is_a_fault(fresh_stack: Stack, secret: str) -> None:
    """It is told before a webhook is lost, without a part of the secret."""
    unusable = json.dumps({"api_key": "k", "webhook_secrets": ["whsec_hidden"]})
    fresh_stack.client("secretsmanager").put_secret_value(SecretId=secret, SecretString=unusable)
    code, lines = doctor(fresh_stack)
    (fault,) = [line for line in lines if line.startswith("FAULT")]
    assert code == 1
    assert "sim-nokey" in fault
    assert "whsec_" in fault
    assert "hidden" not in fault


def test_table_that_keeps_everything_is_a_fault(fresh_stack: Stack) -> None:
    """Nothing else would say so before the bill does."""
    dynamodb, table = fresh_stack.client("dynamodb"), fresh_stack.info["table"]
    off = {"AttributeName": "ttl", "Enabled": False}
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=off)
    try:
        code, lines = doctor(fresh_stack)
    finally:
        dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=off | {"Enabled": True})
    assert code == 1
    assert [line for line in lines if line.startswith("FAULT") and "nothing expires" in line]


def test_stack_that_is_not_there_is_named(fresh_stack: Stack) -> None:
    """A slip in the name or the region is told in one line."""
    code, lines = doctor(fresh_stack, "mediajobs-nowhere")
    assert code == 1
    assert lines == ["There is no stack 'mediajobs-nowhere' in this account and region."]
