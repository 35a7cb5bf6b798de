"""One user action is one job, however often and in whatever words it is sent."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.stack import Stack
from mediajobs.adapters.table.values import decoded
from mediajobs.jobs.model import request_id
from tests.e2e.client import JSON, Api, is_problem
from tests.e2e.crowd import PROMPT, Crowd
from tests.e2e.truth import Provider, heads, rows

DOCUMENT: dict[str, Any] = {"provider": "sim-nokey", "model": "image-1", "input": {"prompt": PROMPT, "duration_s": 0.5}}


def test_twenty_clients_have_one_job(crowd: Crowd, caller: Api, provider: Provider, stack: Stack) -> None:
    """Twenty times the same key, six at once: each is told the same job, exactly one made it, one is charged."""
    # Each that is at work is two processes of the emulator; twenty of them would be all that a laptop does.
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: caller.submit("twenty", DOCUMENT), range(20)))
    # A twin of one that is at work may be told to come again; it then gets the same job.
    assert {answer.status for answer in answers} <= {202, 503}
    answers = [answer if answer.status == 202 else caller.submit("twenty", DOCUMENT) for answer in answers]
    assert {answer.json["request_id"] for answer in answers} == {request_id("demo", "twenty")}
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    job = caller.ended(request_id("demo", "twenty"))
    assert [entry.get("to") for entry in job["history"]].count("pending") == 1
    assert len(provider.charges(job["request_id"])) == 1


def test_another_payload_under_the_same_key_is_refused(crowd: Crowd, caller: Api, stack: Stack) -> None:
    """422, and the first job stays what it was."""
    job_id = caller.submit("payload", DOCUMENT).json["request_id"]
    for other in ({"model": "voice-1"}, {"input": {"prompt": "a paper boat"}}, {"metadata": {"a": "b"}}):
        assert is_problem(caller.submit("payload", DOCUMENT | other), 422, "unprocessable")
    assert caller.ended(job_id)["model"] == "image-1"
    inputs = [key for key in rows(stack) if key[0] == f"J#{job_id}" and key[1].startswith("I")]
    assert len(inputs) <= 4  # by content, so what was refused cannot replace it


def test_two_tenants_may_use_the_same_key(crowd: Crowd, caller: Api, stranger: Api) -> None:
    """Another tenant's job of the same key is another job, and neither hears of the other's."""
    ours = caller.submit("shared", DOCUMENT).json["request_id"]
    theirs = stranger.submit("shared", DOCUMENT | {"model": "voice-1"})
    assert theirs.status == 202
    assert theirs.json["request_id"] == request_id("stranger", "shared") != ours
    assert is_problem(stranger.call("GET", f"/v1/jobs/{ours}"), 404, "not-found")
    assert [job["request_id"] for job in stranger.call("GET", "/v1/jobs").json["jobs"]] == [theirs.json["request_id"]]
    assert stranger.ended(theirs.json["request_id"])["model"] == "voice-1"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("odd", "odd"), ('"odd"', "odd"), (" odd ", "odd"), ("../x", "../x"), ('"a,b"', "a,b"), ("k" * 255, "k" * 255)],
)
def test_usable_keys_by_one_rule(crowd: Crowd, caller: Api, written: str, meant: str) -> None:
    """Bare or in double quotes is the same key; up to 255 visible characters, whatever they are."""
    answer = caller.submit(written, DOCUMENT)
    assert (answer.status, answer.json["request_id"]) == (202, request_id("demo", meant))


def test_numbers_are_kept_as_they_were_given(crowd: Crowd, caller: Api, stack: Stack) -> None:
    """Floats, large and small, are stored and read back as the same values; an equal one is the same request."""
    numbers = {"a": 0.75, "b": 0.1, "c": 1e-7, "d": 2**70, "f": 3.0, "g": 0, "h": 22.478766}
    document = DOCUMENT | {"input": {"prompt": PROMPT, "duration_s": 0.5, "numbers": numbers}}
    job_id = caller.submit("numbers", document).json["request_id"]
    table = rows(stack)
    digest = heads(table)[job_id].payload_digest
    kept = [decoded(item) for key, item in table.items() if key[0] == f"J#{job_id}" and key[1].startswith("I")]
    (body,) = (row["body"] for row in kept)
    assert digest
    # As numbers: a whole one is kept as whole, in whichever form it was written.
    assert json.loads(bytes(body), parse_int=float)["input"]["numbers"] == {
        name: float(n) for name, n in numbers.items()
    }
    respelled = json.dumps(document).replace("3.0", "3").replace("0.75", "7.5e-1").encode()
    again = caller.raw_submit(respelled, [JSON, ("Idempotency-Key", "numbers")])
    assert (again.status, again.json["request_id"]) == (202, job_id)
    assert again.headers["idempotency-replayed"] == "true"
    assert caller.ended(job_id)["status"] == "succeeded"
