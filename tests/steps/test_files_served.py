"""Files in, at the provider: a URL that stays the same, and is served while the job is under way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs import uploads
from mediajobs.errors import ConfigurationError, NotFound
from mediajobs.jobs.events import AnswerKind, Status, Stored
from mediajobs.jobs.model import Job, Output
from mediajobs.jobs.states import Outcome, Reason, State
from mediajobs.messages import Do
from mediajobs.steps import jobs
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.submit import submit
from tests import samples
from tests.steps.files import DAY, HOUR, PICTURE, command, given_urls, parts, posted, read, submitted
from tests.steps.kit import ACME, KEYED, Killed, Stage, die

# -- the dispatch


def test_the_provider_is_told_a_url_for_each_reference() -> None:
    stage = Stage()
    name = posted(stage)
    job = submitted(stage, name, name)
    stage.sim.accept()
    assert stage.dispatch(job) == "accepted"
    first, second = given_urls(stage)
    assert first == second
    assert first.startswith(f"https://jobs.example/v1/inputs/{job.id}.")
    assert first.endswith(f"/{name}")
    assert len(first) < 200
    assert "upload:" not in stage.sim.submits[0].body.decode()


@pytest.mark.parametrize("way", ["answer lost", "killed"])
def test_an_attempt_that_is_repeated_has_the_very_same_bytes(way: str) -> None:
    """Hours later, from another process, with the upload long gone from its corner: the digest fits, so it is sent."""
    stage = Stage(KEYED)
    name = posted(stage)
    job = submitted(stage, name)
    if way == "killed":
        stage.sim.during_submit = die
        with pytest.raises(Killed):
            stage.dispatch(job)
        stage.sim.during_submit = None
    else:
        stage.sim.answer(AnswerKind.AMBIGUOUS, message="reset", retry_at=stage.clock.now() + 1000)
        assert stage.dispatch(job) == "ambiguous"
    stage.clock.advance(20 * HOUR)
    stage.objects.stored.pop(f"uploads/acme/{name}")
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    first, again = stage.sim.submits
    assert (first.method, first.url, first.headers, first.body) == (again.method, again.url, again.headers, again.body)
    assert read(stage, given_urls(stage)[0]).body == PICTURE
    assert stage.read(job).attention is None


def test_a_changed_base_is_noticed_and_nothing_is_sent_again() -> None:
    """As with the webhook's URL: the bytes would not be the same."""
    stage = Stage(KEYED)
    job = submitted(stage, posted(stage))
    stage.sim.answer(AnswerKind.AMBIGUOUS, message="reset", retry_at=stage.clock.now() + 1000)
    stage.dispatch(job)
    stage.clock.advance(100)
    settings = replace(stage.world.settings, callback_base="https://elsewhere.example")
    dispatch(replace(stage.world, settings=settings), job.id, Do.SUBMIT)
    assert len(stage.sim.submits) == 1
    assert stage.reason(job) is Reason.AMBIGUOUS_SUBMISSION


@pytest.mark.parametrize("missing", ["time", "base"])
def test_nothing_is_sent_whose_file_the_provider_might_not_find(missing: str) -> None:
    """No claim, no slot, no charge; after five tries a person is asked."""
    stage = Stage(callback_base=None if missing == "base" else "https://jobs.example")
    name = posted(stage)
    body = command(name)
    job = submit(stage.world, ACME, "first", replace(body, start_within_s=30 * DAY))[0]
    if missing == "time":
        stage.clock.advance((uploads.KEPT_DAYS - uploads.MARGIN_DAYS) * DAY)
    with pytest.raises(ConfigurationError):
        stage.dispatch(job)
    assert (stage.sim.submits, stage.state(job), stage.held()) == ([], State.PENDING, {})


# -- serving


def running(stage: Stage, body: bytes = PICTURE) -> tuple[Job, str]:
    stage.sim.inputs = {"image": 50_000_000}
    job = submitted(stage, posted(stage, body))
    stage.sim.accept("p-1")
    stage.dispatch(job)
    assert stage.read(job).attempt.outcome is not Outcome.OPEN  # type: ignore[union-attr]
    return stage.read(job), given_urls(stage)[0]


def test_a_file_is_served_as_it_is_again_and_again() -> None:
    stage = Stage()
    _, url = running(stage)
    for _ in range(3):
        served = read(stage, url)
        assert (served.body, served.content_type, served.url) == (PICTURE, "image/png", None)
        stage.clock.advance(HOUR)


def test_a_large_file_is_elsewhere_for_a_moment() -> None:
    """It would not fit a function's answer."""
    stage = Stage()
    large = PICTURE[:33] + samples.png_chunk(b"IDAT", bytes(uploads.MOST_DIRECT))
    job, url = running(stage, large)
    served = read(stage, url)
    assert served.body == b""
    assert served.url is not None
    assert f"inputs/{job.id}/" in served.url
    assert "expires=900" in served.url


def test_nothing_is_served_once_the_job_has_ended() -> None:
    """Whoever logged the URL cannot read the caller's file by it for weeks."""
    stage = Stage()
    job, url = running(stage)
    stage.say(job, Status.SUCCEEDED)
    assert read(stage, url).body == PICTURE
    stage.apply(job, Stored(outputs=(Output(key="results/x/0", content_type="video/mp4", size=4, sha256="0" * 64),)))
    with pytest.raises(NotFound):
        read(stage, url)


@pytest.mark.parametrize("odd", ["token", "job", "name", "other file", "gone", "webhook's token"])
def test_a_url_that_is_not_ours_leads_nowhere(odd: str) -> None:
    stage = Stage()
    job, url = running(stage)
    job_id, token, name = parts(url)
    if odd == "gone":
        stage.objects.stored.clear()
    changed = {
        "token": (job_id, "a" * 26, name),
        "job": ("a" * 26, token, name),
        "name": (job_id, token, f"../{name}"),
        "other file": (job_id, token, uploads.new_upload("image/png", "b" * 13, stage.clock.now()).name),
        "gone": (job_id, token, name),
        "webhook's token": (job_id, stage.ref(job).rpartition(".")[2], name),
    }[odd]
    with pytest.raises(NotFound, match="There is nothing at this address"):
        jobs.input_file(stage.world, *changed)
