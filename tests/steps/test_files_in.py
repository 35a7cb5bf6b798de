"""Files in: a form, a check before anything is charged, a copy of the job's own."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from mediajobs import uploads
from mediajobs.errors import NotFound, Retryable, Unprocessable
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Caller, Do, Peeked
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.submit import Submission, submit
from mediajobs.steps.uploads import AT_ONCE
from tests import samples
from tests.fakes.objects import MemoryObjects, StoredObject
from tests.fakes.store import MemoryStore
from tests.steps.files import DAY, PICTURE, command, given_urls, offered, posted, read, submitted
from tests.steps.kit import ACME, Stage


class Changing(MemoryObjects):
    """The file is posted anew just after it was looked at."""

    def peek(self, key: str, most: int) -> Peeked | None:
        found = super().peek(key, most)
        self.stored[key] = StoredObject(b"<html>", "image/png")
        return found


class Going(MemoryObjects):
    """The file is removed just after it was looked at, as the lifecycle does after a day."""

    def peek(self, key: str, most: int) -> Peeked | None:
        found = super().peek(key, most)
        self.stored.pop(key, None)
        return found


class Untouched:
    """A bucket that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"objects.{name} must not be asked")


class Counted(MemoryStore):
    """Counts how often a row is read."""

    loads = 0

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        self.loads += 1
        return super().load(job_id, strong=strong)


# -- the form


def test_a_form_is_for_one_file_of_one_type_in_the_callers_own_corner() -> None:
    stage = Stage()
    form = offered(stage)
    assert form.fields["key"] == f"uploads/acme/{form.upload.name}"
    assert form.fields["Content-Type"] == "image/png"
    assert form.fields["policy"] == f"{uploads.LIMITS['image']}/900"
    assert (form.until, form.most_bytes) == (stage.clock.now() + 900_000, uploads.LIMITS["image"])
    assert form.upload.until == stage.clock.now() // 1000 * 1000 + DAY * 1000
    assert offered(stage).upload.name != form.upload.name


# -- the submit


def test_a_job_gets_a_copy_of_its_own_before_it_exists() -> None:
    """A crash in between leaves a copy that nobody names, never a job without its file."""
    stage = Stage()
    name = posted(stage)

    def create(job: Job) -> None:
        assert f"inputs/{job.id}/{job.incarnation}/{name}" in stage.objects.stored
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        submit(replace(stage.world, create=create), ACME, "first", command(name))  # type: ignore[arg-type]
    assert stage.store.jobs == {}
    job = submitted(stage, name)
    copy = stage.objects.stored[f"inputs/{job.id}/{job.incarnation}/{name}"]
    assert (copy.body, copy.content_type) == (PICTURE, "image/png")


def test_a_file_that_is_posted_again_after_the_submit_changes_nothing() -> None:
    """The form may live longer than the submit took."""
    stage = Stage()
    name = posted(stage)
    submitted(stage, name)
    stage.objects.stored[f"uploads/acme/{name}"] = StoredObject(b"<html>", "image/png")
    stage.sim.accept()
    stage.dispatch(stage.read(next(iter(stage.store.jobs))))
    assert read(stage, given_urls(stage)[0]).body == PICTURE


def test_a_file_that_changes_while_it_is_looked_at_is_no_input() -> None:
    """The copy is of what was checked, or there is none; the caller sends the submit again."""
    stage = Stage()
    name = posted(stage)
    objects = Changing(stage.objects.stored)
    with pytest.raises(Retryable):
        submit(replace(stage.world, objects=objects), ACME, "first", command(name))
    assert (stage.store.jobs, stage.store.inputs) == ({}, {})


def test_a_file_that_goes_while_it_is_looked_at_is_404() -> None:
    stage = Stage()
    name = posted(stage)
    objects = Going(stage.objects.stored)
    with pytest.raises(NotFound, match="no such upload"):
        submit(replace(stage.world, objects=objects), ACME, "first", command(name))
    assert (stage.store.jobs, stage.store.inputs) == ({}, {})


def test_an_upload_may_be_named_for_a_day_by_several_jobs_and_twice_in_one() -> None:
    stage = Stage()
    name = posted(stage)
    stage.clock.advance(DAY - 1)
    first, second = submitted(stage, name, name), submitted(stage, name, key="second")
    copies = {key for key in stage.objects.stored if key.startswith("inputs/")}
    assert copies == {f"inputs/{job.id}/{job.incarnation}/{name}" for job in (first, second)}


@pytest.mark.parametrize("what", ["never posted", "another tenant's", "expired", "malformed", "of nobody", "empty"])
def test_an_upload_that_is_not_there_is_404_and_nothing_is_kept(what: str) -> None:
    """Another tenant's looks like one that never was."""
    stage = Stage()
    name = {
        "never posted": lambda: offered(stage).upload.name,
        "another tenant's": lambda: posted(stage, caller=Caller(tenant="other", scope="user")),
        "expired": lambda: posted(stage),
        "malformed": lambda: "../other/x.png",
        "of nobody": lambda: uploads.new_upload("image/png", "zzzzzzzzzzzzz", stage.clock.now()).name,
        "empty": lambda: "",
    }[what]()
    if what == "expired":
        stage.clock.advance(DAY + 1)
    with pytest.raises(NotFound, match=r"input\.frames\.0\.url: there is no such upload"):
        submitted(stage, name)
    assert (stage.store.jobs, stage.store.inputs) == ({}, {})


def test_an_operator_may_name_no_other_tenants_upload_either() -> None:
    """The scope is for reading and deciding; the job would be the operator's own."""
    stage = Stage()
    with pytest.raises(NotFound):
        submitted(stage, posted(stage), caller=Caller(tenant="ops", scope="operator"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b'{"error": "expired"}', "JSON"),
        (samples.jpeg(), "is image/jpeg"),
        (PICTURE[:40], "is not image/png"),
        (samples.mp4(), "video/mp4"),
        (b"x", "not a media type"),
    ],
    ids=["page", "json", "jpeg", "cut", "film", "crumb"],
)
def test_what_is_not_what_it_was_said_to_be_is_refused_before_anything_is_kept(body: bytes, text: str) -> None:
    """By content: nothing wrong is claimed, sent or charged."""
    stage = Stage()
    with pytest.raises(Unprocessable, match=text) as refused:
        submitted(stage, posted(stage, body))
    assert refused.value.members["errors"][0]["field"] == "input.frames.0.url"  # type: ignore[index]
    assert (stage.store.jobs, stage.store.inputs) == ({}, {})
    assert not [key for key in stage.objects.stored if key.startswith("inputs/")]


def test_a_kind_or_size_that_the_model_does_not_take_is_refused() -> None:
    stage = Stage()
    film = posted(stage, samples.mp4(), content_type="video/mp4")
    with pytest.raises(Unprocessable, match="kind video; video-1 takes: image"):
        submitted(stage, film)
    stage.sim.inputs = {"image": len(PICTURE) - 1}
    with pytest.raises(Unprocessable, match="at most"):
        submitted(stage, posted(stage))
    stage.sim.inputs = {}
    with pytest.raises(Unprocessable, match="takes: none"):
        submitted(stage, posted(stage))


def test_a_large_file_is_told_by_its_beginning() -> None:
    """Without its end: a submit takes no longer for it."""
    stage = Stage()
    large = PICTURE[:33] + samples.png_chunk(b"IDAT", bytes(200_000))
    stage.sim.inputs = {"image": 1_000_000}
    assert submitted(stage, posted(stage, large)).state is State.PENDING


def test_several_files_are_copied_at_once() -> None:
    """One after the other, large ones would outlast the request, and so would each retry of it."""
    stage = Stage()
    stage.sim.inputs = {"image": len(PICTURE)}
    names = [posted(stage) for _ in range(AT_ONCE)]
    together = threading.Barrier(AT_ONCE, timeout=30)
    copy = stage.objects.copy

    def meets_the_others(source: str, key: str, *, etag: str, content_type: str) -> bool:
        together.wait()
        return copy(source, key, etag=etag, content_type=content_type)

    stage.objects.copy = meets_the_others  # type: ignore[method-assign]
    job = submitted(stage, *names)
    assert {f"inputs/{job.id}/{job.incarnation}/{name}" for name in names} <= set(stage.objects.stored)


def test_of_several_files_the_first_wrong_one_is_told() -> None:
    stage = Stage()
    stage.sim.inputs = {"image": len(PICTURE)}
    names = [posted(stage), posted(stage, b"no picture"), "1800000000-aaaaaaaaaaaaa.png"]
    with pytest.raises(Unprocessable, match=r"input\.frames\.1\.url"):
        submitted(stage, *names)
    assert stage.store.jobs == {}


def test_more_files_than_a_job_may_have_are_refused() -> None:
    stage = Stage()
    names = [posted(stage) for _ in range(uploads.MOST_FILES + 1)]
    with pytest.raises(Unprocessable, match="16 is the most"):
        submitted(stage, *names)
    assert submitted(stage, *names[1:]).state is State.PENDING


def test_a_replay_needs_no_upload_any_more() -> None:
    """The job has its files; the key answers with it, however late."""
    stage = Stage()
    name = posted(stage)
    first = submitted(stage, name)
    stage.clock.advance(3 * DAY)
    stage.objects.stored.pop(f"uploads/acme/{name}")
    again, replayed = submit(stage.world, ACME, "first", command(name))
    assert (again.id, again.incarnation, replayed) == (first.id, first.incarnation, True)
    assert len([key for key in stage.objects.stored if key.startswith("inputs/")]) == 1


@pytest.mark.parametrize("prompt", ["a boat, then a bicycle", "upload: a boat, then a bicycle"])
def test_a_job_without_a_file_asks_the_bucket_nothing(prompt: str) -> None:
    """Nor is its row read before it is put, whatever its prompt begins with."""
    stage = Stage(make_store=Counted)
    world = replace(stage.world, objects=cast("Any", Untouched()))
    plain = b'{"input":%b}' % json.dumps({"prompt": prompt}).encode()
    given = Submission(provider="sim", model="video-1", body=plain, digest=hashlib.sha256(plain).digest())
    job = submit(world, ACME, "first", given)[0]
    assert cast("Counted", stage.store).loads == 0
    stage.sim.accept()
    assert dispatch(world, job.id, Do.SUBMIT) == "accepted"
    assert json.loads(stage.sim.submits[0].body)["input"] == {"prompt": prompt}


def test_a_prompt_that_begins_with_the_word_needs_no_base_and_no_haste() -> None:
    """It names no file, so nothing of a file's conditions holds for it."""
    stage = Stage(callback_base=None)
    body = b'{"input":{"prompt":"upload: a boat"}}'
    late = Submission(
        provider="sim", model="video-1", body=body, digest=b"1" * 32, start_within_s=uploads.KEPT_DAYS * DAY * 2
    )
    job = submit(stage.world, ACME, "first", late)[0]
    stage.clock.advance(uploads.KEPT_DAYS * DAY)
    stage.sim.accept()
    assert stage.dispatch(job) == "accepted"
