"""The DynamoDB adapter by itself: what stands in the items, how often it asks, and what it makes of AWS's errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ParamValidationError
from moto import mock_aws

from mediajobs.adapters import aws as adapter
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.table.calls import TRIES
from mediajobs.errors import ConfigurationError, MediaJobsError, Retryable, Throttled, WriteConflict
from mediajobs.jobs.model import Job, Link
from mediajobs.messages import Created, Exists, Progress, SlotTaken, Written
from mediajobs.pauses import Pause
from tests.contract import aws
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.jobs import BODY, NOW, a_job, changed

TTL = NOW // 1000
LINKS = (Link(url="https://cdn.example.com/" + "a" * 1000),)


class Table:
    """A store on moto, its client with faults, and the items as they stand."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.client = aws.Faulty(real)
        self.clock = VirtualClock()
        aws.create_table(real, "jobs")
        self.store = self.new_store()

    def new_store(self, **options: Any) -> DynamoStore:
        """Another process on the same table."""
        return DynamoStore(self.client, "jobs", clock=self.clock, chance=SeededChance(7), **options)

    def item(self, partition: str, sort: str) -> dict[str, Any]:
        found: dict[str, Any] = self.real.get_item(
            TableName="jobs", Key={"pk": {"S": partition}, "sk": {"S": sort}}
        ).get("Item", {})
        return found

    def items(self) -> dict[str, dict[str, Any]]:
        return {item["sk"]["S"]: item for item in self.real.scan(TableName="jobs")["Items"]}

    def asked(self, operation: str) -> list[dict[str, Any]]:
        return [params for name, params in self.client.calls if name == operation]


@pytest.fixture
def table() -> Iterator[Table]:
    with mock_aws():
        real = aws.client("dynamodb", None)
        yield Table(real)
        real.close()


def put(table: Table, job: Job) -> Job:
    created = table.store.create(job)
    assert isinstance(created, Created)
    return created.job


def written(outcome: object) -> Job:
    assert isinstance(outcome, Written)
    return outcome.job


# -- what stands in the items


def test_only_what_is_over_some_day_has_a_ttl(table: Table) -> None:
    job = put(table, a_job())
    table.store.put_input(job.id, BODY, job.payload_digest, ttl=TTL)
    table.store.save_progress(job.id, Progress(percent=1, at=NOW), TTL, every_ms=1000)
    table.store.note_event(job.id, "entry", TTL)
    table.store.first_seen("name", NOW, TTL)
    table.store.put_api_key("ab", "acme", "user")
    table.store.bind("sim", "pj-1", job.id)
    table.store.next_turn("sim", "acme", 0)
    table.store.save_pause("sim", Pause(), Pause(limit=1))
    written(table.store.write(changed(job, slot="001")))
    with_ttl = {sort for sort, item in table.items().items() if "ttl" in item}
    assert with_ttl == {f"I#{job.payload_digest.hex()[:16]}", "P", "E", "N"}
    assert set(table.items()) - with_ttl == {"H", "K", "pj-1", "acme", "pause", "001"}


def test_the_head_has_a_ttl_only_when_it_is_published(table: Table) -> None:
    job = put(table, a_job())
    assert "ttl" not in table.item(f"J#{job.id}", "H")
    written(table.store.write(changed(job, ttl=TTL)))
    assert table.item(f"J#{job.id}", "H")["ttl"] == {"N": str(TTL)}


def test_due_and_out_are_removed_from_the_item_and_not_left_empty(table: Table) -> None:
    job = put(table, a_job(due_at=NOW, out="dispatch", wait="1#1#a"))
    assert {"due_at", "due_shard", "out", "wait_at", "wait_key"} <= set(table.item(f"J#{job.id}", "H"))
    written(table.store.write(changed(job, due_at=None, out=None, wait=None)))
    left = set(table.item(f"J#{job.id}", "H"))
    assert left.isdisjoint({"due_at", "due_shard", "out", "wait_at", "wait_key"})


def test_a_slot_row_names_its_holder(table: Table) -> None:
    job = put(table, a_job())
    written(table.store.write(changed(job, slot="001", updated_at=NOW + 5)))
    row = table.item("S#sim", "001")
    assert (row["job"], row["at"]) == ({"S": job.id}, {"N": str(NOW + 5)})


def test_an_event_list_that_is_full_still_counts(table: Table) -> None:
    for number in range(23):
        table.store.note_event("job-a", f"event-{number}", TTL)
    assert table.item("J#job-a", "E")["n"] == {"N": "23"}


def test_the_input_is_bytes(table: Table) -> None:
    job = a_job()
    table.store.put_input(job.id, BODY, job.payload_digest, ttl=TTL)
    assert table.item(f"J#{job.id}", f"I#{job.payload_digest.hex()[:16]}")["body"] == {"B": BODY}


# -- spills


def spills(table: Table) -> int:
    return sum(params["Item"]["sk"]["S"].startswith("X#") for params in table.asked("put_item"))


def test_a_spill_is_put_once_and_before_the_head(table: Table) -> None:
    job = put(table, a_job())
    table.client.calls.clear()
    job = written(table.store.write(changed(job, links=LINKS)))
    assert [params["Item"]["sk"]["S"][0] for params in table.asked("put_item")] == ["X", "H"]
    job = written(table.store.write(changed(job, absent=1)))
    written(table.store.write(changed(job, absent=2)))
    assert spills(table) == 1


def test_a_spill_that_was_read_is_not_put_again_by_another_process(table: Table) -> None:
    job = put(table, a_job())
    written(table.store.write(changed(job, links=LINKS)))
    other = table.new_store()
    read = other.load(job.id)
    assert read is not None
    written(other.write(changed(read, absent=1)))
    assert spills(table) == 1


def test_a_spill_lives_as_long_as_details_do(table: Table) -> None:
    job = put(table, a_job())
    written(table.new_store(detail_days=60).write(changed(job, links=LINKS)))
    (spill,) = [item for sort, item in table.items().items() if sort.startswith("X#")]
    assert spill["ttl"] == {"N": str(NOW // 1000 + 60 * 86_400)}


def test_a_job_whose_spill_has_expired_can_still_be_read_and_written(table: Table) -> None:
    job = put(table, a_job())
    written(table.store.write(changed(job, links=LINKS)))
    (sort,) = [sort for sort in table.items() if sort.startswith("X#")]
    table.real.delete_item(TableName="jobs", Key={"pk": {"S": f"J#{job.id}"}, "sk": {"S": sort}})
    read = table.store.load(job.id)
    assert read is not None
    assert read.links == ()
    assert written(table.store.write(changed(read, absent=1))).absent == 1


# -- tries, tokens and errors


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_in_somebodys_way_is_tried_again(table: Table, code: str) -> None:
    job = put(table, a_job())
    table.client.refuse = [code, code]
    written(table.store.write(changed(job, slot="001")))
    requests = table.asked("transact_write_items")
    assert len(requests) == 3
    assert requests[0] == requests[1] == requests[2]
    assert [0.02 <= wait <= 0.2 for wait in table.clock.slept] == [True, True]
    assert table.clock.slept[0] != table.clock.slept[1]


@pytest.mark.parametrize(
    ("code", "error"),
    [("TransactionConflictException", WriteConflict), ("ProvisionedThroughputExceededException", Throttled)],
)
def test_a_write_is_tried_so_often_and_then_raised(table: Table, code: str, error: type[Exception]) -> None:
    job = put(table, a_job())
    table.client.calls.clear()
    table.client.refuse = [code] * 20
    with pytest.raises(error):
        table.store.write(changed(job))
    assert len(table.asked("put_item")) == TRIES
    assert sum(table.clock.slept) < 2


def test_every_write_has_a_token_of_its_own(table: Table) -> None:
    """DynamoDB answers "done" to a twin's transaction that has the same token and parameters."""
    first, second = put(table, a_job()), put(table, a_job("second"))
    change = changed(first, slot="001")
    table.store.write(change)
    table.store.write(change)
    table.store.write(changed(second, slot="001"))
    tokens = [params["ClientRequestToken"] for params in table.asked("transact_write_items")]
    assert len(set(tokens)) == 3
    assert all(1 <= len(token) <= 36 for token in tokens)


def test_an_answer_that_is_lost_for_good_is_retryable_and_the_write_stands(table: Table) -> None:
    job = put(table, a_job())
    table.client.cut = 1
    with pytest.raises(Retryable, match="ReadTimeoutError"):
        table.store.write(changed(job, absent=1))
    read = table.store.load(job.id)
    assert read is not None
    assert (read.version, read.absent) == (2, 1)


def test_what_is_decided_on_is_read_strongly_and_what_is_only_a_start_is_not(table: Table) -> None:
    """An emulator is always up to date: only the request shows what a replica may answer."""
    job = put(table, a_job(links=LINKS))
    store, payload = table.new_store(), job.payload_digest
    table.client.calls.clear()
    store.load(job.id)
    store.load(job.id, strong=False)
    store.bound("sim", "p-1")
    store.input(job)
    store.put_input(job.id, BODY, payload, TTL)
    store.input(job)
    assert [one["ConsistentRead"] for one in table.asked("get_item")] == [True, False, True, False, True, False]
    store.load_many([job.id])
    whole = [one["RequestItems"]["jobs"]["ConsistentRead"] for one in table.asked("batch_get_item")]
    assert whole == [True, True, False, True], "what stands beside a head always, the heads of a list not"
    store.provider("sim")
    store.transfers(job.id)
    assert [one["ConsistentRead"] for one in table.asked("query")] == [True, True]
    store.waiting("sim", 1)
    list(store.due(NOW))
    assert not any(one.get("ConsistentRead") for one in table.asked("query")[2:]), "DynamoDB refuses it of an index"


def test_a_lost_race_costs_no_read(table: Table) -> None:
    job = put(table, a_job())
    written(table.store.write(changed(job)))
    table.store.write(changed(job))
    table.store.write(changed(job, slot="001"))
    assert isinstance(table.store.create(a_job()), Exists)
    assert not table.asked("get_item")


def test_a_taken_row_is_not_tried_again(table: Table) -> None:
    written(table.store.write(changed(put(table, a_job()), slot="001")))
    outcome = table.store.write(changed(put(table, a_job("second")), slot="001"))
    assert outcome == SlotTaken()
    assert len(table.asked("transact_write_items")) == 2


def test_a_row_left_over_from_this_very_job_is_taken(table: Table) -> None:
    job = put(table, a_job())
    table.real.put_item(TableName="jobs", Item={"pk": {"S": "S#sim"}, "sk": {"S": "001"}, "job": {"S": job.id}})
    written(table.store.write(changed(job, slot="001")))


def test_empty_pages_do_not_end_a_list(table: Table) -> None:
    job = put(table, a_job(due_at=NOW))
    real, pages = table.real, iter([{"Items": [], "LastEvaluatedKey": {"pk": {"S": "x"}}}])

    class Sparse:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def query(self, **params: Any) -> Any:
            empty = next(pages, None)
            params.pop("ExclusiveStartKey", None)
            return empty or real.query(**params)

    store = DynamoStore(Sparse(), "jobs", clock=table.clock, chance=SeededChance(7))
    assert list(store.due(NOW)) == [(NOW, job.id)]


def test_keys_left_unprocessed_are_asked_for_again(table: Table) -> None:
    jobs = [put(table, a_job(f"key-{number}")) for number in range(3)]
    real, rounds = table.real, iter(range(2))

    class Busy:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 as boto3 spells it
            answer = real.batch_get_item(RequestItems=RequestItems)
            if next(rounds, None) is not None:
                answer["UnprocessedKeys"] = {"jobs": {"Keys": RequestItems["jobs"]["Keys"][1:]}}
                answer["Responses"]["jobs"] = answer["Responses"]["jobs"][:1]
            return answer

    store = DynamoStore(Busy(), "jobs", clock=table.clock, chance=SeededChance(7))
    assert {job.id for job in store.load_many([job.id for job in jobs])} == {job.id for job in jobs}
    assert len(table.clock.slept) == 2


def test_every_call_is_metered_and_asks_for_its_cost_only_then(table: Table) -> None:
    costs: list[str] = []
    metered = table.new_store(meter=lambda operation, cost: costs.append(f"{operation} {cost['TableName']}"))
    metered.create(a_job())
    metered.load(a_job().id)
    list(metered.due(NOW))
    assert costs == ["put_item jobs", "get_item jobs", *["query jobs"] * 8]
    table.client.calls.clear()
    table.store.load(a_job().id)
    assert "ReturnConsumedCapacity" not in table.asked("get_item")[0]


def test_a_table_that_does_not_exist_is_a_configuration_error(table: Table) -> None:
    store = DynamoStore(table.client, "nowhere", clock=table.clock, chance=SeededChance(7))
    with pytest.raises(ConfigurationError, match="ResourceNotFoundException"):
        store.load("job-a")


def _error(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Op")


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (_error("ThrottlingException"), Throttled),
        (_error("RequestLimitExceeded"), Throttled),
        (_error("TransactionConflictException"), WriteConflict),
        (_error("ResourceNotFoundException"), ConfigurationError),
        (_error("AccessDeniedException"), ConfigurationError),
        (_error("InternalServerError", 500), Retryable),
        (_error("SomethingNew", 503), Retryable),
        (_error("ValidationException"), MediaJobsError),
        (EndpointConnectionError(endpoint_url="http://x"), Retryable),
        (NoCredentialsError(), MediaJobsError),
        (ParamValidationError(report="x"), MediaJobsError),
    ],
)
def test_each_error_of_aws_has_one_meaning(error: Any, meaning: type[MediaJobsError]) -> None:
    assert type(adapter.translated(error, "op")) is meaning


def test_one_call_with_all_its_resends_ends_within_an_api_functions_time() -> None:
    config: Any = adapter.config()
    assert config.retries == {"total_max_attempts": 3, "mode": "standard"}
    assert (config.connect_timeout + config.read_timeout) * 3 < 25
