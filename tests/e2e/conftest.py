"""One deployed stack for the whole run, and one crowd of jobs on it: starting them costs what all tests cost together.

The tests run in the order of ORDER: first those that meet a job in the middle, last those that wait for slow ends,
judge the whole run and deploy again. Each can be run alone, too; it then waits for what it needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import keys
from local.stack import Stack, Wanted
from tests.e2e.client import Api
from tests.e2e.crowd import PROMPT, SPOKEN_OF, Crowd, gather
from tests.e2e.schedule import Metronome
from tests.e2e.truth import Provider, Subscriber, changed, rows

ORDER = (
    "test_cancel", "test_people", "test_happy", "test_callbacks", "test_submit_faults", "test_event_faults",
    "test_result_faults", "test_burst", "test_killed", "test_blocked", "test_idempotency", "test_uploads",
    "test_misuse_of_submit", "test_misuse_of_routes", "test_misuse_of_webhooks", "test_live", "test_laptop_stack",
    "test_slow_ends", "test_whole_run", "test_redeploy",
)  # fmt: skip
HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Whatever takes the fixture `stack` needs the deployed stack, and nobody has to remember the marker: it is set
    before tests are chosen by it. The order is set after all others have had their say.
    """
    for item in items:
        if "stack" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.stack)
    yield
    ours = [item for item in items if item.path.parent == HERE]
    others = [item for item in items if item.path.parent != HERE]
    # In one piece: what others do with stacks of their own would come between a job and its test.
    items[:] = [*sorted(ours, key=_turn), *others]


def _turn(item: pytest.Item) -> tuple[int, int]:
    """By module, and within one from top to bottom, even where all other tests are shuffled."""
    name = item.path.stem if item.path.stem in ORDER else "test_laptop_stack"
    module = ORDER.index(name)
    return module, item.location[1] or 0


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The product on the emulator, with a provider that makes no mistake but those a test asks for.

    TEST_STACK names another one, for a run beside another run.
    """
    with Stack.start(os.environ.get("TEST_STACK", "test"), Wanted()) as started:
        yield started


@pytest.fixture(scope="session")
def caller(stack: Stack) -> Api:
    """An application developer of the tenant `demo`."""
    return Api(stack.info["api_url"], stack.info["api_key"])


@pytest.fixture(scope="session")
def operator(stack: Stack) -> Api:
    return Api(stack.info["api_url"], stack.info["operator_key"])


@pytest.fixture(scope="session")
def stranger(stack: Stack) -> Api:
    """A caller of another tenant."""
    key = keys.create(stack.client("dynamodb"), stack.info["table"], "stranger", "user")
    return Api(stack.info["api_url"], key)


@pytest.fixture(scope="session")
def provider(stack: Stack) -> Provider:
    return Provider(stack.info["provider_url"])


@pytest.fixture(scope="session")
def subscriber(stack: Stack) -> Iterator[Subscriber]:
    """The consumer of finished jobs. It is there before the first job."""
    consumer = Subscriber(stack.client("sqs"), stack.info["queue_urls"]["subscriber"])
    yield consumer
    consumer.stop()


@pytest.fixture(scope="session")
def metronome(stack: Stack) -> Iterator[Metronome]:
    """Reconcile does not wait for the minute."""
    beats = Metronome(stack.client("lambda"), stack.info["functions"]["Reconcile"])
    yield beats
    beats.stop()


@pytest.fixture(scope="session")
def crowd(stack: Stack, caller: Api, provider: Provider, subscriber: Subscriber, metronome: Metronome) -> Crowd:
    """All scenarios' jobs, submitted."""
    return gather(stack, caller, provider)


@pytest.fixture(scope="session")
def blocked(crowd: Crowd, caller: Api, provider: Provider) -> list[str]:
    """Three jobs, submitted while the provider refuses the account; everybody else there has ended before."""
    for job_id in (*crowd.burst, crowd["kill-dispatch"], crowd["overdue"]):
        caller.ended(job_id)
    provider.configure(block={"provider": "sim", "seconds": 15})
    document = {"provider": "sim", "model": "image-1", "input": {"prompt": PROMPT, "duration_s": 1}}
    answers = [caller.submit(f"blocked-{number}", document) for number in range(3)]
    assert {answer.status for answer in answers} == {202}
    return [str(answer.json["request_id"]) for answer in answers]


@pytest.fixture(scope="module")
def untouched(stack: Stack, crowd: Crowd, provider: Provider) -> Iterator[None]:
    """Whatever the module's tests send changes nothing in the table, but for jobs that were on their way anyway, those
    of which the provider itself sent a late event meanwhile, and the one about which rightly signed events are sent.
    """
    started, before = time.time() * 1000, rows(stack)
    yield
    spoken_of = {
        f"J#{job['reference'].split('.')[0]}"
        for job in provider.ledger()["jobs"]
        if any(event["at"] >= started for event in job["events_sent"])
    }
    spoken_of.add(f"J#{crowd[SPOKEN_OF]}")
    # The crowd's own jobs still hear of late and repeated events; what nobody submitted must not appear at all.
    crowds = {f"J#{job_id}" for job_id in (*crowd.ids.values(), *crowd.burst)}
    assert [key for key in changed(before, rows(stack)) if key[0] not in spoken_of | crowds] == []
