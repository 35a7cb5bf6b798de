"""How a job stands in the table: small, whole numbers only, sparse, and readable from the stream."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import fields, replace
from typing import Any

import pytest

from mediajobs.adapters.table import items, values
from mediajobs.adapters.table.expressions import INDEXES
from mediajobs.jobs.birth import new_job
from mediajobs.jobs.decide import Change, decide
from mediajobs.jobs.events import Answered, AnswerKind, Claim, Event, Published, Status, Stored, Traits, Word
from mediajobs.jobs.model import Attention, Job, Link, Output, request_id
from mediajobs.jobs.states import Reason, Source, State
from tests.fakes.jobs import NOW, a_job

SHA = hashlib.sha256(b"media").hexdigest()
PROVIDER_ID = "3f6c2a7e-1b7d-4c58-9d0f-5a1f2e3d4c5b"
TOKEN = "tokentokentok"
URL = f"https://cdn.example.com/results/{PROVIDER_ID}/0.mp4?expires=1800003600"
TRAITS = Traits(provider="longer-name", idempotent=True, key_life_s=86_400)


def happy_life(url: str = URL, outputs: int = 1) -> list[Job]:
    """Every state of a job whose names and ids are as long as real ones."""
    job = new_job(
        job_id=request_id("acme-studios-berlin", "key"),
        tenant="acme-studios-berlin",
        provider="longer-name",
        model="video-large-turbo-1080p",
        payload_digest=hashlib.sha256(b"body").digest(),
        incarnation="abcdefghijklm",
        start_within_s=86_400,
        traits=TRAITS,
        now=NOW + 123,
    )
    stored = [
        Output(
            key=f"results/{job.id}/{job.incarnation}/runrunrunrunr/{number}.mp4",
            content_type="video/mp4",
            size=12_345_678,
            sha256=SHA,
        )
        for number in range(outputs)
    ]
    events: list[Event] = [
        Claim(token=TOKEN, digest=SHA[:24], slot="001"),
        Answered(kind=AnswerKind.ACCEPTED, token=TOKEN, submission=1, provider_job_id=PROVIDER_ID),
        Word(
            status=Status.SUCCEEDED,
            provider_job_id=PROVIDER_ID,
            submission=1,
            source=Source.WEBHOOK,
            links=(Link(url=url, content_type="video/mp4", expires_at=NOW + 3_600_000),),
            raw="succeeded",
            event_id="msg_2bKfQ0jH3sVt9yWqLpXz1aBcDeF",
            body_digest=SHA,
        ),
        Stored(outputs=tuple(stored)),
        Published(ttl=NOW // 1000 + 400 * 86_400),
    ]
    life = [replace(job, written_by=TOKEN)]
    for number, event in enumerate(events, 1):
        change = decide(life[-1], event, NOW + number * 61_007, TRAITS)
        assert isinstance(change, Change)
        life.append(replace(change.after, written_by=TOKEN))
    return life


def test_the_head_of_a_happy_job_costs_one_unit_in_every_state() -> None:
    life = happy_life()
    assert [job.state for job in life] == [
        State.PENDING,
        State.SUBMITTING,
        State.RUNNING,
        State.STORING,
        State.SUCCEEDED,
        State.SUCCEEDED,
    ]
    sizes = [values.size(items.rows(job).head) for job in life]
    assert max(sizes) < items.UNIT, sizes
    assert not any(items.rows(job).spills for job in life)


@pytest.mark.parametrize(("url", "outputs"), [(URL + "&signature=" + "a" * 700, 1), (URL, 6)])
def test_long_links_and_many_outputs_stand_beside_the_head(url: str, outputs: int) -> None:
    life = happy_life(url, outputs)
    rows = [items.rows(job) for job in life]
    assert all(items.units(row.head) == 1 for row in rows)
    assert any(row.spills for row in rows)


def test_what_would_save_no_unit_is_not_put_beside_the_head() -> None:
    troubled = a_job(history=("h" * 90,) * 21, links=(Link(url=URL),))
    rows = items.rows(troubled)
    assert items.units(rows.head) == 3
    assert not rows.spills


def test_a_spill_is_named_by_its_content() -> None:
    def named(url: str) -> set[bytes]:
        return set(items.rows(a_job(links=(Link(url=url + "a" * 1000),))).spills)

    assert named("https://a.example/") == named("https://a.example/")
    assert named("https://a.example/") != named("https://b.example/")


def test_every_field_of_a_job_has_its_place() -> None:
    """A field added to Job and forgotten here would vanish at the first write."""
    derived = {"id", "tenant", "created_at", "extra"}
    placed = {*items.PLAIN, *items.SINGLE, *items.SEVERAL, *derived}
    assert placed == {field.name for field in fields(Job)}
    for kind, names in items.PARTS.items():
        assert set(names) == {field.name for field in fields(kind)}
        assert len(set(names.values())) == len(names)
    attributes = [*items.PLAIN.values(), *items.INDEXED]
    attributes += [name for name, _ in (*items.SINGLE.values(), *items.SEVERAL.values())]
    assert len(attributes) == len(set(attributes))


def test_a_calm_finished_job_stands_in_the_list_only() -> None:
    head = items.rows(a_job()).head
    in_index = {name for name, pair in INDEXES.items() if all(key in head for key in pair)}
    assert in_index == {"list"}
    assert not {key for name in ("due", "attention", "wait") for key in INDEXES[name]} & set(head)
    assert {"ttl", "out"}.isdisjoint(head)


def test_index_keys_stand_in_the_head_while_they_are_due() -> None:
    question = Attention(reason=Reason.OVERDUE, since=NOW, version=1, evidence="")
    job = a_job(due_at=NOW + 5, attention=question, wait="00000003#1800000000000#x", ttl=9, out="live")
    read = values.decoded({name: value for name, value in items.rows(job).head.items() if name != "att"})
    shard = read["due_shard"].removeprefix("D#")
    assert (read["list_key"], read["list_at"]) == ("T#acme", f"1800000000000#{job.id}")
    assert (shard in "01234567", read["due_at"]) == (True, NOW + 5)
    assert (read["att_shard"], read["att_at"]) == (f"A#{shard}", f"1800000000000#{job.id}")
    assert (read["wait_key"], read["wait_at"]) == ("W#sim", "00000003#1800000000000#x")
    assert (read["ttl"], read["out"]) == (9, "live")


def test_a_job_is_read_from_the_stream_where_bytes_are_text() -> None:
    job = happy_life()[-2]
    image = _as_stream(items.rows(job).head)
    assert items.from_stream(image) == job


def test_a_digest_that_is_not_hex_stays_as_it_is() -> None:
    for digest in (SHA, "AB12", "abc", "not hex", ""):
        output = Output(key="k", content_type="image/png", size=1, sha256=digest)
        assert items.read(items.rows(a_job(outputs=(output,))).head).job.outputs == (output,)


def test_an_attribute_that_is_ours_cannot_come_from_extra() -> None:
    job = a_job(extra={"state": {"S": "succeeded"}, "newer": {"S": "x"}})
    read = items.read(items.rows(job).head).job
    assert (read.state, read.extra) == (State.PENDING, {"newer": {"S": "x"}})


@pytest.mark.parametrize("number", [0, -1, 7, 10**12, 2**70, -(2**70)])
def test_whole_numbers_come_back_exactly(number: int) -> None:
    read = values.decode(values.encode({"a": [number]}))
    assert read == {"a": [number]}
    assert type(read["a"][0]) is int


def test_true_is_not_one() -> None:
    assert values.encode(True) == {"BOOL": True}
    assert values.decode(values.encode({"a": False})) == {"a": False}


@pytest.mark.parametrize("value", [0.5, float("nan"), {1}, object()])
def test_what_does_not_come_back_as_it_went_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        values.encode({"a": [value]})


def test_size_counts_as_dynamodb_does() -> None:
    item = values.encoded(
        {"pk": "ä", "n": 1_800_000_000_123, "m": {"a": b"123"}, "l": ["x", True], "z": 0, "none": None}
    )
    # pk 2+2, n 1+1+7, m 1+3+(1+1+3), l 1+3+(1+1)+(1+1), z 1+1
    assert values.size(item) == 4 + 9 + 9 + 8 + 2


def _as_stream(item: Any) -> Any:
    if isinstance(item, bytes):
        return base64.b64encode(item).decode()
    if isinstance(item, list):
        return [_as_stream(part) for part in item]
    if isinstance(item, dict):
        return {name: _as_stream(part) for name, part in item.items()}
    return item
