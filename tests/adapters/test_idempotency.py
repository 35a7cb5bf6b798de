"""Powertools idempotency: what the contract cannot say. Expiry, killed runs, records that cannot be kept, submit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from moto import mock_aws

from mediajobs.adapters.idempotency import EXPIRES_S, PowertoolsOnce, submit_once
from mediajobs.errors import ConfigurationError, InProgress, Retryable, Throttled, Unauthorized, Unprocessable
from mediajobs.jobs.states import State
from mediajobs.messages import Created, Written
from tests.contract import aws
from tests.contract.test_once import Context, Counting
from tests.fakes.clock import SeededChance
from tests.fakes.jobs import a_job, changed
from tests.fakes.store import MemoryStore


class Killed(BaseException):
    """The process dies: no handler runs."""


class Records:
    """Powertools' table on moto, as several processes see it."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.client = aws.Faulty(real)
        aws.create_idempotency_table(real, "once")

    def process(self, remaining: int = 30_000) -> PowertoolsOnce:
        once = PowertoolsOnce("once", self.client)
        once.register(Context(remaining))
        return once

    def all(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.real.scan(TableName="once")["Items"]
        return found


@pytest.fixture
def records() -> Iterator[Records]:
    with mock_aws():
        real = aws.client("dynamodb", None)
        yield Records(real)
        real.close()


def kill() -> str:
    raise Killed


def test_two_processes_share_one_record_whatever_their_functions_are_called(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relay and reconcile publish the same job; the default key has the Lambda function's name in it."""
    work = Counting()
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "relay")
    first = records.process()("publish", ["job", "inc", "6"], work)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "reconcile")
    assert records.process()("publish", ["job", "inc", "6"], work) == first
    assert work.runs == 1
    (record,) = records.all()
    prefix, _, digest = record["id"]["S"].partition("#")
    assert (prefix, len(digest)) == ("publish", 64)


@pytest.mark.parametrize(("name", "seconds"), [("intake", 259_200), ("publish", 604_800), ("reconcile", 3600)])
def test_each_name_has_an_expiry_of_its_own(records: Records, name: str, seconds: int) -> None:
    once = records.process()
    for other in EXPIRES_S:
        once(other, ["key"], Counting())
    expiries = {record["id"]["S"].split("#")[0]: int(record["expiration"]["N"]) for record in records.all()}
    assert abs(expiries[name] - time.time() - seconds) < 60


def test_a_killed_run_blocks_its_key_until_its_time_is_over(records: Records) -> None:
    with pytest.raises(Killed):
        records.process(remaining=60_000)("intake", ["sim", "e1"], kill)
    work = Counting()
    with pytest.raises(InProgress):
        records.process()("intake", ["sim", "e1"], work)
    assert work.runs == 0


def test_a_killed_run_is_done_again_once_its_time_is_over(records: Records) -> None:
    with pytest.raises(Killed):
        records.process(remaining=1)("intake", ["sim", "e1"], kill)
    time.sleep(0.05)
    assert records.process()("intake", ["sim", "e1"], Counting()) == "done 1"


def test_a_process_that_registered_no_context_may_not_run(records: Records) -> None:
    work = Counting()
    with pytest.raises(ConfigurationError, match="register"):
        PowertoolsOnce("once", records.client)("intake", ["e1"], work)
    assert work.runs == 0


def test_an_unknown_name_is_refused(records: Records) -> None:
    with pytest.raises(KeyError):
        records.process()("something", ["e1"], Counting())


def test_when_the_record_cannot_be_begun_nothing_runs(records: Records) -> None:
    work = Counting()
    records.client.refuse = ["ThrottlingException"]
    with pytest.raises(Retryable):
        records.process()("intake", ["e1"], work)
    assert work.runs == 0


def test_when_the_answer_cannot_be_kept_the_caller_is_told_to_try_again(records: Records) -> None:
    """The effect is done; the record stays in progress, so a repeat at once is no second effect either."""
    work = Counting()
    once = records.process()

    def effect() -> str:
        records.client.refuse = ["ThrottlingException"]
        return work()

    with pytest.raises(Retryable):
        once("publish", ["job"], effect)
    with pytest.raises(InProgress):
        once("publish", ["job"], work)
    assert work.runs == 1


def test_what_the_function_raised_passes_even_when_its_record_cannot_be_removed(records: Records) -> None:
    def refuse() -> str:
        records.client.refuse = ["ThrottlingException"]
        raise Unauthorized("bad signature")

    with pytest.raises(Unauthorized, match="bad signature"):
        records.process()("intake", ["e1"], refuse)


# -- submit: the job's row is the record


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(SeededChance(3))


def test_submit_puts_the_job_and_no_record_beside_it(store: MemoryStore) -> None:
    job, replayed = submit_once(store, a_job())
    assert not replayed
    assert store.load(job.id) == job


def test_submit_again_returns_the_job_as_it_is_now(store: MemoryStore) -> None:
    first, _ = submit_once(store, a_job())
    moved = store.write(changed(first, state=State.RUNNING))
    assert isinstance(moved, Written)
    assert submit_once(store, a_job(incarnation="another")) == (moved.job, True)
    assert store.load(first.id) == moved.job


def test_submit_with_another_payload_is_unprocessable_and_changes_nothing(store: MemoryStore) -> None:
    first, _ = submit_once(store, a_job())
    with pytest.raises(Unprocessable, match="another payload"):
        submit_once(store, a_job(payload_digest=b"x" * 32))
    assert store.load(first.id) == first


def test_submit_that_the_sdk_resent_is_no_replay(store: MemoryStore) -> None:
    store.resend = True
    _, replayed = submit_once(store, a_job())
    assert not replayed


def test_submit_whose_answer_was_lost_finds_its_job(store: MemoryStore) -> None:
    """The process died after the put; nothing is "in progress" then."""
    created = store.create(a_job())
    assert isinstance(created, Created)
    assert submit_once(store, a_job()) == (created.job, True)


def test_submit_while_throttled_raises_that_and_puts_nothing() -> None:
    class Busy(MemoryStore):
        def create(self, job: Any) -> Any:
            raise Throttled("put_item: ThrottlingException")

    busy = Busy(SeededChance(3))
    with pytest.raises(Throttled):
        submit_once(busy, a_job())
    assert not busy.jobs


def test_submit_is_not_silently_unprotected(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "true")
    with (
        pytest.warns(UserWarning, match="Disabling idempotency"),
        pytest.raises(ConfigurationError, match="POWERTOOLS_IDEMPOTENCY_DISABLED"),
    ):
        submit_once(store, a_job())
    assert not store.jobs


def test_submit_does_not_read_the_other_fields_of_the_payload(store: MemoryStore) -> None:
    """The digest of the canonical body decides, and it alone."""
    first, _ = submit_once(store, a_job())
    assert submit_once(store, replace(a_job(), model="video-2", created_at=first.created_at + 5)) == (first, True)
