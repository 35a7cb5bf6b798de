"""A function that cannot be set up: who asks over HTTP gets an answer of ours, to everybody else it raises."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from mediajobs import wiring
from mediajobs.clock import Clock
from mediajobs.errors import ConfigurationError
from mediajobs.lazy import Build, Lazy, Wired
from mediajobs.parts import Later, Parts
from mediajobs.ports import World
from tests.api.events import context, problem, proxy
from tests.fakes.clock import VirtualClock
from tests.template.reading import functions, load

ASKED = {
    "submit": ("POST", "/v1/jobs"),
    "jobs": ("GET", "/v1/jobs"),
    "webhook": ("POST", "/v1/webhooks/sim"),
}


@pytest.mark.parametrize("function", ASKED)
def test_a_function_without_its_settings_answers_503_and_logs_which(
    function: str, caplog: pytest.LogCaptureFixture
) -> None:
    """At each invocation, the first too: no setting is in the environment of a test."""
    handler = getattr(wiring, f"{function}_handler")()
    for _ in range(2):
        answer = handler(proxy(*ASKED[function], body={}), context())
        told = problem(answer, 503, "unavailable")
        assert "TABLE" not in json.dumps(told)
    assert ["TABLE" in str(vars(record)["error"]) for record in caplog.records] == [True, True]


@pytest.mark.parametrize(("function", "asks"), [("webhook", 2), ("dispatch", 1)])
def test_a_function_asks_providers_within_its_own_time(function: str, asks: int) -> None:
    """A silent provider is noted as such, before Lambda ends the function; fal's result takes two questions."""
    timeout_s = functions(load())[function.capitalize()]["Timeout"]
    http = Parts(function, frozenset({"http"}), VirtualClock())._http()
    assert asks * http._limits.answer_s + 3 <= timeout_s


@pytest.mark.parametrize("function", ["authorize", "relay", "dispatch", "store", "reconcile"])
def test_a_function_that_nobody_asks_over_http_raises(function: str) -> None:
    """Its event comes again, and the gateway answers a failed authorizer itself."""
    with pytest.raises(ConfigurationError, match="TABLE"):
        getattr(wiring, f"{function}_handler")()({}, context())


def test_what_failed_once_is_tried_anew_and_what_stands_is_kept() -> None:
    """A secret or a table that was missing for a moment does not spoil a warm function."""
    made: list[str] = []

    def wire(function: str, _ports: frozenset[str], _build: Build, _clock: Clock) -> Wired:
        made.append(function)
        if len(made) == 1:
            raise RuntimeError("not just now")
        return None, lambda _event, _context: {"statusCode": 200}

    def build(_world: World) -> Any:
        raise AssertionError("wire does not build here")

    lazy = Lazy("submit", "", build, wire, http=True, clock=VirtualClock())
    problem(lazy(proxy("POST", "/v1/jobs"), context()), 500, "internal")
    assert [lazy({}, context()) for _ in range(2)] == [{"statusCode": 200}] * 2
    assert made == ["submit"] * 2


def test_a_port_that_is_made_late_is_made_once_whoever_asks() -> None:
    """Boto3 makes no two clients at once, and a submit of several files asks from several threads."""
    made: list[str] = []
    others = threading.Barrier(4)

    def make() -> str:
        made.append("one")
        with suppress(threading.BrokenBarrierError):
            others.wait(0.5)  # they come in, if they can
        return "port"

    later = Later(make)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(getattr, later, "upper") for _ in range(4)]
    assert [one.result()() for one in asked] == ["PORT"] * 4
    assert made == ["one"]
