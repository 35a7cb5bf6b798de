"""Cases 8, 9, 27 and 42: a provider that answers oddly, late or not at all, and is never charged twice for it."""

from __future__ import annotations

import json

import pytest

from mediajobs.errors import Throttled
from mediajobs.jobs.model import Job
from tests.api.events import document, header, problem
from tests.cases.conftest import NewPlace
from tests.cases.deployment import Hooked
from tests.cases.parts import KEYED, LOOKED_UP, ON_THIS_MACHINE, QUICK
from tests.cases.place import Place
from tests.hostile.names import Names
from tests.hostile.server import Behaviour, HostileServer, Peer, redirect, serve

MINUTE = 60
HOST = "api.example.test"

# -- 8


def test_case_08_a_dispatcher_that_dies_after_the_provider_accepted_is_no_second_create(place: Place) -> None:
    """(a) Redelivered at once and after the lease: a person is asked, and the provider's own webhook settles it."""
    job_id, url = place.killed()
    for _ in range(2):
        place.deliver("dispatch", job_id, receives=2)
    assert (place.creates(), place.get(job_id)["status"], place.get(job_id)["attention"]) == (1, "pending", None)
    place.clock.advance(91)
    place.deliver("dispatch", job_id, receives=3)
    told = place.get(job_id)
    assert (place.creates(), told["status"], told["attention"]["reason"]) == (1, "pending", "ambiguous_submission")
    again = document(place.submit())
    assert (again["request_id"], place.creates()) == (job_id, 1)
    place.say(url, status="processing")
    assert (place.get(job_id)["status"], place.get(job_id)["attention"]) == ("running", None)


def test_case_08_with_a_key_the_same_request_goes_again_and_the_provider_makes_one_job(new_place: NewPlace) -> None:
    """Byte for byte, under the same key: what the provider promises to be one job."""
    place = new_place(ON_THIS_MACHINE + KEYED)
    job_id, _ = place.killed()
    place.clock.advance(91)
    place.deliver("dispatch", job_id, receives=2)
    first, second = [asked for asked in place.server.asked if asked.method == "POST"]
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])
    assert (place.get(job_id)["status"], place.job(job_id).provider_job_id) == ("running", "p-1")


ACCEPTED = {"id": "p-1", "status": "processing"}
ANSWERS: dict[str, tuple[Behaviour, str]] = {
    "(b) 450 kB": (serve(json.dumps(ACCEPTED | {"log": "x" * 450_000}).encode(), 201), "running"),
    "(b) more than is read": (serve(json.dumps(ACCEPTED | {"log": "x" * 1_500_000}).encode(), 201), "pending"),
    "(c) bytes": (serve(b"\x80\x81\xfe\xff" * 40, 201), "pending"),
    "(c) a number that nothing keeps": (
        serve(b'{"id":"p-1","status":"processing","cost":1e999,"n":NaN}', 201),
        "running",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_case_08_an_answer_that_cannot_be_kept_is_no_second_create(place: Place, answer: str) -> None:
    """Only the id of it is; where that cannot be read the job asks a person, now and after the deadline."""
    place.server.routes["/v1/jobs"], status = ANSWERS[answer]
    job_id = document(place.submit())["request_id"]
    place.deliver("dispatch", job_id)
    for wait in (0, 91, 3600):
        place.clock.advance(wait)
        place.deliver("dispatch", job_id, receives=2)
        again = place.submit()
        assert (again["statusCode"], document(again)["request_id"]) == (202, job_id)
    told = place.get(job_id)
    assert (told["status"], place.creates()) == (status, 1)
    assert (told["attention"] is None) == (status == "running")


def test_case_08_a_submit_whose_reply_failed_after_the_job_was_put_is_replayed(place: Place) -> None:
    """The job's own row is the record: there is no other that could fail after it."""
    place.client.cut = 1
    problem(place.submit(), 503, "unavailable")  # the input stands, the job does not

    def create(job: Job) -> None:
        place.store.create(job)
        raise Throttled("the answer was lost")

    place.rewire(store=Hooked(place.store, create=create))
    problem(place.submit(), 503, "unavailable")
    answer = place.rewire(store=place.store).submit()
    assert (answer["statusCode"], header(answer, "Idempotency-Replayed")) == (202, "true")
    assert len(place.heads()) == 1


# -- 9


def broken(peer: Peer) -> None:
    """Took the whole request, then closes without a word."""


UNPROVEN: dict[str, Behaviour] = {
    "(a) closed without a reply": broken,
    "(a) reset": Peer.reset,
    "(b) read timeout": lambda peer: peer.stall(1.5),
    "(d) 502": serve(b"<html>Bad gateway</html>", 502),
    "(d) 503": serve(b"", 503),
    "(d) 500": serve(b"{}", 500),
    "(e) 302": redirect("/elsewhere"),
    "(e) 307": redirect("/v1/jobs", 307),
    "(f) 200 without an id": serve(b'{"status":"processing"}'),
    "(f) 200 and HTML": serve(b"<html>ok</html>"),
    "(g) 409, and nothing to look up": serve(b'{"error":"already exists"}', 409),
}


@pytest.mark.parametrize("answer", UNPROVEN)
def test_case_09_an_unproven_create_is_flagged_and_never_sent_again(new_place: NewPlace, answer: str) -> None:
    """Not failed, not resubmitted by SQS, reconcile or the HTTP client: perhaps paid for."""
    place = new_place(limits=QUICK)
    place.server.routes["/v1/jobs"] = UNPROVEN[answer]
    place.server.routes["/elsewhere"] = serve(b'{"id":"p-9","status":"processing"}')
    job_id = document(place.submit())["request_id"]
    for receives in range(1, 6):
        place.deliver("dispatch", job_id, receives)
        place.clock.advance(91)
    place.tick()
    place.clock.advance(2 * 3600)
    place.tick()
    told = place.get(job_id)
    assert (told["status"], told["attention"]["reason"]) == ("pending", "ambiguous_submission")
    assert place.decisions(job_id) == ["adopt", "resubmit", "fail"]
    assert (place.creates(), len(place.server.asked)) == (1, 1)


def test_case_09_a_refused_connection_may_be_tried_again(new_place: NewPlace, server: HostileServer) -> None:
    """(c) No byte left: idle, slot free, and the same job goes later."""
    names = Names({HOST: [["8.8.4.4"]]}, {"8.8.4.4": ConnectionRefusedError("refused")})
    place = new_place(server=server, base_url=server.url("", HOST), names=names)
    job_id = place.accepted()
    place.deliver("dispatch", job_id)
    job = place.job(job_id)
    assert (job.slot, job.unsettled, job.attention, job.retry_at is not None) == (None, False, None, True)
    assert (place.get(job_id)["status"], place.creates()) == ("pending", 0)
    del names.faults["8.8.4.4"]
    place.clock.advance(1000)
    place.deliver("dispatch", job_id, receives=2)
    assert (place.get(job_id)["status"], place.creates()) == ("running", 1)


@pytest.mark.parametrize("ours", [True, False])
def test_case_09_an_existing_job_is_adopted_if_it_is_ours(new_place: NewPlace, ours: bool) -> None:
    """(g) 409 proves nothing; a lookup by our reference does, and one of somebody else's is not taken."""
    place = new_place(ON_THIS_MACHINE + LOOKED_UP)
    place.server.routes["/v1/jobs"] = serve(b'{"error":"already exists"}', 409)
    job_id = document(place.submit())["request_id"]
    place.deliver("dispatch", job_id)
    reference = place.job(job_id).reference if ours else "of.somebody.else"
    found = {"jobs": [{"id": "p-1", "status": "processing", "reference": reference}]}
    place.server.routes["/v1/lookup"] = serve(json.dumps(found).encode())
    place.server.routes["/v1/jobs/p-1"] = serve(b'{"id":"p-1","status":"processing"}')
    for _ in range(6):
        place.clock.advance(10 * MINUTE)
        place.tick()
        place.deliver("dispatch", job_id, receives=2)
    told, job = place.get(job_id), place.job(job_id)
    if ours:
        assert (told["status"], job.provider_job_id) == ("running", "p-1")
    else:
        assert (told["status"], job.provider_job_id) == ("pending", None)
        assert told["attention"]["reason"] == "ambiguous_submission"
    assert place.creates() == 1
