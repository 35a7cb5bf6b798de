"""`sam remote invoke` with the events of this repository, against the deployed functions."""

from __future__ import annotations

import hashlib
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from events.fixed import API_KEYS, USER_KEY
from local.setup import directory
from local.stack import Stack
from local.stack.emulator import client_environment
from local.stack.places import ROOT
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.clock import SystemChance, SystemClock
from mediajobs.steps.authorize import SCOPES
from tests.events.fits import misfits, opened

EXPECTED: dict[str, Any] = json.loads((ROOT / "events" / "expected.json").read_text())
DEPLOYED = ("authorize/user-key", "authorize/unknown-key", "relay/expired-row", "dispatch/not-ours", "store/not-ours")


def invoke(stack: Stack, case: str) -> Any:
    """What the deployed function answers."""
    function = case.partition("/")[0].capitalize()
    port = int(stack.info["endpoint_url"].rpartition(":")[2])
    command = [str(directory("sam") / "bin" / "sam"), "remote", "invoke", function]
    command += ["--stack-name", stack.info["stack_name"], "--event-file", f"events/{case}.json"]
    done = subprocess.run(
        command, cwd=ROOT, env=client_environment(port), capture_output=True, text=True, check=True, timeout=120
    )
    return opened(json.loads(done.stdout))


def right(stack: Stack, case: str) -> list[str]:
    """What is wrong with the answer, by events/expected.json."""
    told, answer = EXPECTED[case], invoke(stack, case)
    if "raises" in told:
        return misfits({"errorMessage": told["raises"]}, answer, case)
    return misfits(told["answer"], answer, case)


def test_deployed_functions_answer_as_expected(stack: Stack) -> None:
    """As their handlers did in tests/events; the other functions follow below."""
    table = DynamoStore(stack.client("dynamodb"), stack.info["table"], clock=SystemClock(), chance=SystemChance())
    tenant, scope = API_KEYS[USER_KEY]
    assert scope in SCOPES
    table.put_api_key(hashlib.sha256(USER_KEY.encode()).hexdigest(), tenant, scope)
    with ThreadPoolExecutor(2) as pool:
        faults = [fault for found in pool.map(lambda case: right(stack, case), DEPLOYED) for fault in found]
    assert faults == []


def test_a_tick_is_run(stack: Stack) -> None:
    """Its time comes unsubstituted from the emulator's own scheduler; this one has none."""
    assert invoke(stack, "reconcile/tick-by-hand")["summary"].startswith("looked at ")


def test_a_submitted_job_is_read_again(stack: Stack) -> None:
    """Two functions, one table: the id follows from tenant and key, so the files fit together."""
    accepted = invoke(stack, "submit/happy")
    assert accepted["statusCode"] == 202
    read = invoke(stack, "jobs/get")
    assert (read["statusCode"], read["body"]["request_id"]) == (200, accepted["body"]["request_id"])


def test_an_event_signed_at_another_time_is_refused(stack: Stack) -> None:
    """The files are signed for one fixed moment, with a secret of their own."""
    answer = invoke(stack, "webhook/completed")
    assert (answer["statusCode"], answer["body"]["type"]) == (401, "urn:mediajobs:problem:unauthorized")
