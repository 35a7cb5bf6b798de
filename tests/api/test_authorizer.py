"""API keys, from the header to the policy."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from mediajobs.api import authorizer as edge
from mediajobs.errors import Throttled
from mediajobs.steps import authorize as step
from tests.api.events import API_KEY, ARN, authorizer, context
from tests.api.stubs import Scene, scene


def known(tenant: str = "acme", scope: str = "user") -> Scene:
    here = scene()
    here.store.keys[hashlib.sha256(API_KEY.encode()).hexdigest()] = (tenant, scope)
    return here


def ask(here: Scene, headers: dict[str, str | list[str]], **more: Any) -> dict[str, Any]:
    return edge.build(here.world, step)(authorizer(headers, **more), context())


@pytest.mark.parametrize("route", ["GET/v1/jobs", "POST/v1/jobs", "POST/v1/jobs/abc/cancel", "GET/"])
@pytest.mark.parametrize("name", ["X-API-Key", "x-api-key", "X-Api-Key"])
def test_a_known_key_opens_the_whole_stage(route: str, name: str) -> None:
    """The gateway caches the policy for a minute and uses it for every route that the caller asks for next."""
    answer = ask(known(), {name: API_KEY}, route=route)
    assert answer["principalId"] == "acme"
    assert answer["context"] == {"tenant": "acme", "scope": "user"}
    [statement] = answer["policyDocument"]["Statement"]
    assert statement == {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": f"{ARN}/*"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": "mj_" + "0" * 36},
        {"X-API-Key": ""},
        {"X-API-Key": "short"},
        {"X-API-Key": API_KEY + " "},
        {"X-API-Key": API_KEY.upper()},
        {"X-API-Key": API_KEY + "\n"},
        {"X-API-Key": "x" * 5000},
        {"X-API-Key": "é" * 40},
        {"X-API-Key": [API_KEY, API_KEY]},
        {"Authorization": f"Bearer {API_KEY}"},
    ],
)
def test_any_other_key_is_refused_with_the_one_word_that_means_401(headers: dict[str, Any]) -> None:
    """API Gateway answers 401 for exactly this text; anything else would be its 500."""
    with pytest.raises(Exception, match=r"\AUnauthorized\Z"):
        ask(known(), headers)


@pytest.mark.parametrize(("tenant", "scope"), [("acme", "root"), ("acme", ""), ("", "user")])
def test_a_key_of_unclear_standing_opens_nothing(tenant: str, scope: str) -> None:
    """A row somebody wrote by hand does not make an operator."""
    with pytest.raises(Exception, match=r"\AUnauthorized\Z"):
        ask(known(tenant, scope), {"X-API-Key": API_KEY})


def test_what_cannot_be_a_key_costs_no_read() -> None:
    """Guessing is answered without the table."""
    here = known()

    def fail(_: str) -> None:
        raise AssertionError("the table was read")

    here.store.api_key = fail  # type: ignore[assignment,method-assign]
    for text in ("", "short", "a" * 201, "é" * 40, API_KEY + "\0"):
        assert step.authorize(here.store, text) is None


def test_a_fault_of_ours_is_neither_yes_nor_no() -> None:
    """It is raised as it is: the gateway answers 500 and keeps nothing of it."""
    here = known()

    def fail(_: str) -> None:
        raise Throttled("table")

    here.store.api_key = fail  # type: ignore[assignment,method-assign]
    with pytest.raises(Throttled):
        ask(here, {"X-API-Key": API_KEY})


def test_the_context_holds_strings_only() -> None:
    """API Gateway refuses anything else."""
    answer = ask(known("ops", "operator"), {"X-API-Key": API_KEY})
    assert all(isinstance(value, str) for value in answer["context"].values())
    assert answer["context"]["scope"] == "operator"


def test_refusals_are_counted() -> None:
    """Somebody trying keys shows."""
    here = known()
    with pytest.raises(Exception, match="Unauthorized"):
        ask(here, {"X-API-Key": "mj_" + "0" * 36})
    assert here.counts.counted == [("KeysRefused", 1, {})]
