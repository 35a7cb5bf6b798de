"""Cases 35 and 36: whose an Idempotency-Key is, and what may be one."""

from __future__ import annotations

import json

from mediajobs.jobs.model import request_id
from tests.api.events import USER, document, header, problem, proxy
from tests.cases.place import Place

OTHER = {"tenant": "rival", "scope": "user", "principalId": "rival"}

# -- 35


def test_case_35_a_key_belongs_to_its_tenant_alone(place: Place) -> None:
    """Two jobs, nothing of one in the other's answers, and no 409 or 422 that tells of the other."""
    mine = place.submit("order-1")
    private = {"provider": "sim", "model": "video-1", "input": {"prompt": "a lighthouse at dusk"}}
    theirs = place.submit("order-1", private, caller=OTHER)
    assert (theirs["statusCode"], header(theirs, "Idempotency-Replayed")) == (202, None)
    assert document(mine)["request_id"] not in json.dumps(theirs)
    told = problem(place.submit("order-1", private), 422, "unprocessable")
    assert "lighthouse" not in json.dumps(told)
    assert document(theirs)["request_id"] not in json.dumps(told)
    read = place.call("jobs", proxy("GET", f"/v1/jobs/{document(mine)['request_id']}", caller=OTHER))
    problem(read, 404, "not-found")
    assert len(place.heads()) == 2


def test_case_35_equal_keys_and_bodies_of_two_tenants_are_two_jobs(place: Place) -> None:
    ids = {document(place.submit("order-1", caller=caller))["request_id"] for caller in (USER, OTHER)}
    assert len(ids) == len(place.heads()) == 2


def test_case_35_no_delimiter_lets_two_tenants_meet(place: Place) -> None:
    """Key `a#b` of tenant `x` and key `b` of tenant `x#a`, with every mark that a key may hold, and with none."""
    for mark in ("", *"#|:.-_/%~"):
        first = place.submit(f"a{mark}b", caller={"tenant": "x", "scope": "user"})
        second = place.submit("b", caller={"tenant": f"x{mark}a", "scope": "user"})
        assert (first["statusCode"], second["statusCode"]) == (202, 202)
        assert document(first)["request_id"] != document(second)["request_id"]
        assert header(second, "Idempotency-Replayed") is None


def test_case_35_the_same_key_on_another_route_is_independent(place: Place) -> None:
    """Only a submit is keyed by it; a cancel is its own request each time, and replays nobody's answer."""
    submitted = place.submit("order-1")
    path = f"/v1/jobs/{document(submitted)['request_id']}/cancel"
    canceled = place.call("jobs", proxy("POST", path, headers={"Idempotency-Key": "order-1"}))
    assert (canceled["statusCode"], document(canceled)["status"]) == (202, "canceled")
    assert document(place.submit("order-1"))["status"] == "canceled"


# -- 36

# Bare or in double quotes, 1 to 255 visible ASCII characters; a bare one holds no comma or quote. Blanks around it
# are the header's, not the key's. Anything else is a 400 that says so.
SAME_AS_A = ["a", '"a"', " a ", '\t"a" ']
TAKEN = ["x" * 255, '"' + "x" * 255 + '"', "../x", '"a,b"', "a#b|c%00", "6f1c0b5e-5b0b-4a57-9f6a-3f0d8f7f1c1e"]
REFUSED: list[str | list[str] | None] = [
    None,
    "",
    "   ",
    '""',
    "x" * 256,
    "x" * 3000,
    "😀",
    "é" * 255,
    "a\nb",
    "a\r\nX-Api-Key: k",
    "\0",
    "a\0b",
    "a,b",
    "a b",
    '"a", "b"',
    ["a", "b"],
    ["a", "a"],
]


def test_case_36_quotes_and_blanks_around_a_key_are_not_of_it(place: Place) -> None:
    """One rule, stable: all of these are the key `a`."""
    ids = [document(place.submit(key))["request_id"] for key in SAME_AS_A]
    assert set(ids) == {request_id("acme", "a")}
    assert len(place.heads()) == 1


def test_case_36_every_other_key_is_taken_or_a_400_by_one_rule(place: Place) -> None:
    """Never a 500, nothing is written for a refused one, and no line of the log is split by it."""
    for key in TAKEN:
        assert place.submit(key)["statusCode"] == 202, key
    assert len(place.heads()) == len({key.strip('"') for key in TAKEN})
    for refused in REFUSED:
        told = problem(place.submit(refused), 400, "bad-request")
        assert "Give each user action one Idempotency-Key of its own" in told["detail"], refused
    assert len(place.heads()) == len({key.strip('"') for key in TAKEN})
    lines = place.log()  # raises where a line is no JSON
    assert sum(line["message"] == "done" for line in lines) == len(TAKEN) + len(REFUSED)
