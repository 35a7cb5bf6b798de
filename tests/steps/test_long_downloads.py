"""Long downloads: what broke goes on where it broke, in the same run or in the next one; several at once, or none."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from mediajobs.errors import NoAnswer, Throttled
from mediajobs.jobs.events import Decision, DecisionKind, Status
from mediajobs.jobs.model import Job, Link, Transfer
from mediajobs.jobs.states import State
from mediajobs.messages import LinkRules, Rest
from mediajobs.steps.store import store
from mediajobs.steps.transfers import LEASE_MS, MOST_ATTEMPTS
from tests import samples
from tests.steps.kit import Killed, Stage

FILM = samples.mp4(filling=100_000)
OTHER = samples.mp4(filling=100_001)
PART = 1000
URL = "https://cdn.example/a.mp4"
NINE_TENTHS = len(FILM) * 9 // 10


@dataclass
class Serving:
    """Implements `ports.Stream`."""

    status: int
    headers: dict[str, str]
    body: bytes
    fault: BaseException | None = None
    pieces: Callable[[], None] = lambda: None

    def chunks(self) -> Iterator[bytes]:
        for at in range(0, len(self.body), 700):
            self.pieces()
            yield self.body[at : at + 700]
        if self.fault is not None:
            raise self.fault

    def close(self) -> None: ...


@dataclass
class Files:
    """Implements `ports.Http` as far as downloads: a server that knows ranges, and breaks off as it is told.

    `breaks`: at which byte of the file each next answer ends, and how. `headers` go with each answer.
    """

    bodies: dict[str, bytes]
    breaks: list[tuple[int, BaseException | None]] = field(default_factory=list)
    tag: str = '"v1"'
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[Rest] = field(default_factory=list)
    refusing: int = 0
    pieces: Callable[[], None] = lambda: None

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Serving:
        rest = rest or Rest()
        self.asked.append(rest)
        if self.refusing:
            return Serving(self.refusing, {}, b"")
        body = self.bodies[url.partition("?")[0]]
        ranged = rest.start > 0 and rest.validator == self.tag
        start = rest.start if ranged else 0
        end, fault = self.breaks.pop(0) if self.breaks else (len(body), None)
        told = {"content-length": str(len(body) - start), "etag": self.tag, **self.headers}
        if ranged:
            told["content-range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return Serving(206 if ranged else 200, told, body[start:end], fault, self.pieces)

    @property
    def starts(self) -> list[int]:
        return [rest.start for rest in self.asked]


def staged(files: Files, *, note_bytes: int = 20_000) -> Stage:
    stage = Stage()
    stage.objects.part_bytes = PART
    settings = replace(stage.world.settings, note_bytes=note_bytes)
    stage.world = replace(stage.world, http=files, settings=settings)  # type: ignore[arg-type]
    return stage


def whole(stage: Stage, job: Job, body: bytes = FILM) -> None:
    """The job succeeded with that film, nothing else is kept and nothing is open."""
    assert stage.state(job) is State.SUCCEEDED
    (output,) = stage.read(job).outputs
    assert {key: one.body for key, one in stage.objects.stored.items()} == {output.key: body}
    assert (output.size, output.sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert stage.objects.open == []


def killed(stage: Stage) -> Job:
    """A run that was killed at nine tenths of the film."""
    assert isinstance(stage.world.http, Files)
    job = stage.storing(URL + "?sig=1")
    stage.world.http.breaks = [(NINE_TENTHS, Killed())]
    with pytest.raises(Killed):
        store(stage.world, job.id)
    assert stage.objects.stored == {}
    stage.world.http.asked.clear()
    return job


def test_a_broken_transfer_goes_on_where_it_broke_in_the_same_run() -> None:
    """With all that was checked so far: nothing is read twice, nothing counted as a failure."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset")), (NINE_TENTHS + 5, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, NINE_TENTHS, NINE_TENTHS + 5]
    assert files.asked[1].validator == '"v1"'
    assert stage.read(job).failures == 0
    whole(stage, job)


def test_a_body_that_just_ends_too_soon_is_gone_on_with_too() -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, None)])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


@pytest.mark.parametrize(
    "headers",
    [{"etag": 'W/"v1"'}, {"etag": ""}, {"etag": "v1"}, {"accept-ranges": "none"}, {"content-length": ""}],
    ids=str,
)
def test_without_a_promise_that_it_is_the_same_file_it_starts_again_later(headers: dict[str, str]) -> None:
    """A weak tag promises nothing about single bytes."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))], headers=headers)
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert files.starts == [0]
    assert (stage.objects.stored, stage.objects.open) == ({}, [])
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, 0]
    whole(stage, job)


def test_another_file_in_its_place_is_taken_whole_from_its_start() -> None:
    """If-Range: the server answers the whole of what it has now."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)

    def change() -> None:
        if files.starts == [0]:
            files.tag, files.bodies[URL] = '"v2"', OTHER

    files.breaks = [(NINE_TENTHS, NoAnswer("reset"))]
    files.pieces = change
    assert store(stage.world, job.id) == "30"
    whole(stage, job, OTHER)


@pytest.mark.parametrize(
    "told",
    [
        {"content-range": f"bytes 0-{len(FILM) - 1}/{len(FILM)}"},
        {"content-range": f"bytes {NINE_TENTHS}-{len(FILM) - 1}/*"},
        {"content-range": f"bytes {NINE_TENTHS}-{len(FILM)}/{len(FILM) + 1}"},
        {"content-range": ""},
        {"etag": '"v2"'},
        {"content-encoding": "gzip"},
    ],
    ids=str,
)
def test_a_rest_that_is_not_the_one_asked_for_is_never_joined(told: dict[str, str]) -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    original = files.stream

    def lying(url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Serving:
        serving = original(url, headers, rules, rest)
        serving.headers |= told if rest and rest.start else {}
        return serving

    files.stream = lying  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "failed: Retryable"
    assert (stage.objects.stored, stage.objects.open) == ({}, [])


def test_a_server_that_breaks_off_each_time_is_asked_a_few_times_a_run() -> None:
    """And then, counted on the job, again later; five runs, and a person is asked."""
    files = Files({URL: FILM}, breaks=[(500 + number, NoAnswer("reset")) for number in range(100)])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert len(files.asked) == 6
    assert stage.objects.open == []
    for _ in range(4):
        store(stage.world, job.id)
    assert stage.reason(job) == "dead_letter"


def test_a_run_killed_at_nine_tenths_is_gone_on_with_by_the_next() -> None:
    """Only the last tenth comes again. The digest is of the object as it stands in S3, read back whole."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_while_the_first_run_may_live_another_leaves_it_alone() -> None:
    """Two runs that feed one upload, or download twice, help nobody."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000 - 1)
    assert store(stage.world, job.id) == "another run is at it"
    assert files.asked == []
    assert stage.state(job) is State.STORING
    assert stage.read(job).failures == 0


def test_a_killed_run_that_had_all_bytes_asks_for_none() -> None:
    body = samples.mp4(filling=90_000)
    body = samples.mp4(filling=90_000 + (-len(body)) % PART)
    files = Files({URL: body})
    stage = staged(files)
    job = stage.storing(URL)
    files.breaks = [(len(body), Killed())]
    with pytest.raises(Killed):
        store(stage.world, job.id)
    files.asked.clear()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.asked == []
    whole(stage, job, body)


def test_a_fresh_link_to_the_same_file_goes_on_with_it() -> None:
    """Its query differs; its path is the file."""
    files = Files({URL: FILM}, refusing=403)
    stage = staged(files)
    job = killed_before_refusal(stage, files)

    def serve_again(_: str) -> None:
        files.refusing = 0

    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    stage.sim.during_ask = serve_again
    assert store(stage.world, job.id) == "30"
    assert files.starts[-1] == NINE_TENTHS // PART * PART
    whole(stage, job)


def killed_before_refusal(stage: Stage, files: Files) -> Job:
    files.refusing = 0
    job = killed(stage)
    files.refusing = 403
    stage.clock.advance(LEASE_MS / 1000)
    return job


def test_a_fresh_link_to_another_place_starts_again_and_drops_what_was_there() -> None:
    files = Files({URL: FILM, "https://cdn.example/b.mp4": OTHER})
    stage = staged(files)
    job = killed_before_refusal(stage, files)

    def serve_again(_: str) -> None:
        files.refusing = 0

    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url="https://cdn.example/b.mp4?sig=2"),))
    stage.sim.during_ask = serve_again
    assert store(stage.world, job.id) == "30"
    assert files.starts[-1] == 0
    whole(stage, job, OTHER)


def test_parts_that_were_swept_meanwhile_are_fetched_again() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.objects.parts.clear()
    stage.objects.open.clear()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0]
    whole(stage, job)


def test_a_rest_that_spoils_the_file_is_found_when_the_whole_is_read_back() -> None:
    """A server that lies about its tag: what is stored is never believed unread."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)
    stage.objects.fail = ["read"]
    assert store(stage.world, job.id) == "failed: Retryable"
    assert stage.objects.stored == {}
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


def test_a_failed_run_gives_the_upload_back_at_once() -> None:
    """It is alive to say so: the next run need not wait until it certainly is not."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))] * 6)
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert len(stage.objects.open) == 1
    files.asked.clear()
    assert store(stage.world, job.id) == "30"
    assert files.starts == [NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_short_downloads_are_never_noted() -> None:
    """They cost no write more, and are as quickly made again."""
    files = Files({URL: FILM})
    stage = staged(files, note_bytes=len(FILM) + 1)
    job = killed(stage)
    assert stage.store.transfers(job.id) == ()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0]


def test_a_note_that_another_run_keeps_is_asked_for_once() -> None:
    """At each piece, a twin of a long download would be billed for thousands of refused writes."""
    stage = staged(Files({URL: FILM}))
    job = stage.storing(URL)
    asked: list[Transfer] = []

    def kept_by_another(job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        assert (job_id, owner) == (job.id, None), ttl
        asked.append(transfer)
        return False

    stage.store.save_transfer = kept_by_another  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "30"
    assert len(asked) == 1
    whole(stage, job)


def test_an_upload_whose_note_could_not_be_kept_is_dropped() -> None:
    """No other run can find its parts."""
    stage = staged(Files({URL: FILM}))
    job = stage.storing(URL)

    def throttled(*_: object, **__: object) -> bool:
        raise Throttled("put_item")

    stage.store.save_transfer = throttled  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "failed: Throttled"
    assert stage.objects.open == []


def test_a_first_run_reads_no_notes() -> None:
    files = Files({URL: FILM})
    stage = staged(files)

    def never(job_id: str) -> tuple[()]:
        raise AssertionError(job_id)

    stage.store.transfers = never  # type: ignore[method-assign]
    assert store(stage.world, stage.storing(URL).id) == "30"


def test_a_file_that_was_tried_often_enough_asks_a_person_who_gives_it_a_new_budget() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    (noted,) = stage.store.transfers(job.id)
    stage.store.long_downloads[job.id][0] = replace(noted, attempts=MOST_ATTEMPTS)
    stage.clock.advance(LEASE_MS / 1000)
    files.refusing = 404
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL),))
    assert store(stage.world, job.id) == "32"
    attention = stage.read(job).attention
    assert attention is not None
    assert (attention.reason, stage.objects.open) == ("result_unavailable", [])
    files.refusing = 0
    stage.apply(job, Decision(kind=DecisionKind.RETRY, attention_version=attention.version))
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


def test_no_fresh_link_makes_up_for_a_budget_that_is_used_up() -> None:
    """Else runs that are killed each time begin again for ever, and nobody is asked."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    (noted,) = stage.store.transfers(job.id)
    stage.store.long_downloads[job.id][0] = replace(noted, attempts=MOST_ATTEMPTS)
    stage.clock.advance(LEASE_MS / 1000)
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    assert store(stage.world, job.id) == "32"
    assert files.asked == []
    attention = stage.read(job).attention
    assert attention is not None
    assert f"tried {MOST_ATTEMPTS + 1} times" in attention.evidence


def test_a_link_that_ends_before_the_file_is_whole_is_refreshed_and_not_asked_again() -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.running()
    stage.say(job, Status.SUCCEEDED, links=(Link(url=URL, expires_at=stage.clock.now() + 60_000),))
    files.pieces = lambda: stage.clock.advance(1)
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_a_run_that_has_no_time_left_starts_nothing() -> None:
    """Each request ends with the run, and is told how long it may take."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    files.pieces = lambda: stage.clock.advance(7)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert [rest.seconds for rest in files.asked] == [830.0]


def test_of_two_runs_that_went_on_with_one_upload_the_loser_deletes_nothing_that_the_row_names() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)

    def other(_: object) -> None:
        """Its own end came late: the same object, recorded by the run that was taken for dead."""
        (key,) = stage.objects.stored
        output = replace(stage.succeeded("other").outputs[0], key=key)
        stage.store.jobs[job.id] = replace(
            stage.read(job), state=State.SUCCEEDED, outputs=(output,), version=stage.read(job).version + 1
        )

    stage.store.before_write = [other]
    assert store(stage.world, job.id) == "another run was first"
    assert list(stage.objects.stored) == [stage.read(job).outputs[0].key]


# -- several at once


def urls(count: int) -> list[str]:
    return [f"https://cdn.example/{number}.mp4" for number in range(count)]


def test_several_outputs_come_at_once_within_the_bound_and_keep_their_order() -> None:
    """Three at a time hold three parts of memory, however many there are."""
    files = Files({url: samples.mp4(filling=5000 + number) for number, url in enumerate(urls(7))})
    stage = staged(files)
    together = threading.Barrier(3, timeout=30)
    at_work: set[int] = set()
    most: list[int] = []

    def piece() -> None:
        at_work.add(threading.get_ident())
        most.append(len(at_work))
        if len(files.asked) <= 3 and len(most) <= 3:
            together.wait()  # passes only where three are under way

    files.pieces = piece
    job = stage.storing(*urls(7))
    assert store(stage.world, job.id, workers=3) == "30"
    outputs = stage.read(job).outputs
    assert [output.size for output in outputs] == [len(body) for body in files.bodies.values()]
    assert max(most) == 3


def test_when_one_fails_the_others_stop_and_nothing_is_kept() -> None:
    """All or none, and no byte more than needed for none."""
    bodies = dict.fromkeys(urls(3), FILM)
    files = Files({**bodies, urls(3)[1]: b"<html>sign in</html>" * 100})
    stage = staged(files, note_bytes=10**9)
    failed = threading.Event()
    pieces: list[int] = []

    def piece() -> None:
        pieces.append(1)
        if len(pieces) > 10:  # the others wait here until the page has been refused
            failed.wait(0.01)

    files.pieces = piece
    job = stage.storing(*urls(3))
    stage.sim.says("poll", Status.SUCCEEDED, links=tuple(Link(url=url) for url in urls(3)))
    assert store(stage.world, job.id, workers=3) == "31"
    assert (stage.objects.stored, stage.objects.open) == ({}, [])
    assert len(pieces) < 2 * 3 * len(FILM) // 700
