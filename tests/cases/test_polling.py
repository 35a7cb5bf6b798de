"""Cases 27 and 42: one bad poll neither kills nor freezes a job, and a provider that asks for patience gets it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.api.events import document
from tests.cases.conftest import NewPlace
from tests.cases.parts import QUICK, in_turn
from tests.cases.place import Place
from tests.hostile.server import Behaviour, Peer, each, serve
from tests.template import reading

RUNS = serve(b'{"id":"p-1","status":"processing"}')
CAP_S = 900
QUICK_POLLS = (("poll_floor_s = 120", "poll_floor_s = 5"),)

# -- 27

NO_WORD: dict[str, Behaviour] = {
    "500": serve(b"{}", 500),
    "522": serve(b"<html>", 522),
    "timeout": lambda peer: peer.stall(1.5),
    "200 and HTML": serve(b"<html>ok</html>"),
    "200 and half of it": serve(b"{"),
    "200 about another job": serve(b'{"id":"p-2","status":"failed"}'),
    "429": serve(b"{}", 429),
    "reset": Peer.reset,
    "closed": each(),
}


def next_poll(place: Place, job_id: str) -> None:
    place.due(job_id)
    place.tick()


@pytest.mark.parametrize("answer", NO_WORD)
def test_case_27_a_poll_without_a_word_leaves_the_job_and_is_asked_again_later(
    new_place: NewPlace, answer: str
) -> None:
    """Not failed, not counted against it; looks come further apart, and the deadline asks a person."""
    place = new_place(limits=QUICK)
    job_id, _ = place.running()
    place.server.routes["/v1/jobs/p-1"] = NO_WORD[answer]
    looks = []
    for polls in range(1, 4):
        next_poll(place, job_id)
        looks.append(place.clock.now())
        assert (place.get(job_id)["status"], place.get(job_id)["error"], place.polls()) == ("running", None, polls)
    waits = [later - earlier for earlier, later in pairwise(looks)]
    assert all(wait >= 60_000 for wait in waits)
    assert place.get(job_id)["attention"]["reason"] == "overdue"
    assert place.decisions(job_id) == ["wait", "fail"]
    place.server.routes["/v1/jobs/p-1"] = serve(b'{"id":"p-1","status":"failed","error":"no"}')
    next_poll(place, job_id)
    assert (place.get(job_id)["status"], place.get(job_id)["attention"]) == ("failed", None)


@pytest.mark.parametrize("status", [401, 402, 403])
def test_case_27_a_refused_account_is_an_alert_and_no_failure_of_the_job(place: Place, status: int) -> None:
    """`PollBlocked` has an alarm of its own; once the key is right again the job goes on."""
    job_id, _ = place.running()
    place.server.routes["/v1/jobs/p-1"] = serve(b'{"error":"no such key"}', status)
    next_poll(place, job_id)
    assert (place.get(job_id)["status"], place.metrics.counted["PollBlocked"]) == ("running", 1)
    alarms = reading.of_type(reading.load(), "AWS::CloudWatch::Alarm")
    assert "PollBlocked" in {alarm["MetricName"] for alarm in alarms.values()}
    place.server.routes["/v1/jobs/p-1"] = serve(b'{"id":"p-1","status":"failed"}')
    next_poll(place, job_id)
    assert place.get(job_id)["status"] == "failed"


def test_case_27_an_unknown_id_is_flagged_after_three_answers_and_not_before(place: Place) -> None:
    """Right after a submit a provider may not know it yet; one good poll begins the count anew."""
    job_id, _ = place.running()
    place.server.routes["/v1/jobs/p-1"] = in_turn(
        serve(b"{}", 404), serve(b"{}", 404), RUNS, serve(b"{}", 404), serve(b"{}", 410), serve(b"{}", 404)
    )
    misses = []
    for _ in range(6):
        assert (place.get(job_id)["attention"] or {}).get("reason") != "provider_lost"
        next_poll(place, job_id)
        misses.append(place.job(job_id).misses)
    assert misses == [1, 2, 0, 1, 2, 3]
    told = place.get(job_id)
    assert (told["status"], told["attention"]["reason"]) == ("running", "provider_lost")
    assert place.decisions(job_id) == ["adopt", "fail"]


# -- 42

DATE = "Fri, 15 Jan 2027 08:00:00 GMT"
FORMS: dict[str, tuple[str, int]] = {
    "seconds": ("7", 7),
    "a fraction": ("1.5", 1),
    "negative": ("-3", 0),
    "empty": ("", 0),
    "a date that is past": ("Wed, 21 Oct 2026 07:28:00 GMT", 0),
    "a date two hours ahead": ("Fri, 15 Jan 2027 10:00:00 GMT", CAP_S),
    "the year 99999": ("Wed, 21 Oct 99999 07:28:00 GMT", 0),
    "a number of 401 digits": ("1" + "0" * 400, CAP_S),
    "a word": ("soon", 0),
    "ten minutes": ("600", 600),
}


def rate_limited(form: str) -> Behaviour:
    return serve(b"{}", 429, retry_after=FORMS[form][0], date=DATE)


@pytest.mark.parametrize("form", FORMS)
def test_case_42_a_submit_waits_as_long_as_it_is_asked_to_and_no_longer_than_a_quarter_of_an_hour(
    new_place: NewPlace, form: str
) -> None:
    """Our own backoff (5 s here, and its jitter) or the provider's wish, whichever is later; never their product."""
    place = new_place(edits=QUICK_POLLS)
    place.server.routes["/v1/jobs"] = rate_limited(form)
    job_id = document(place.submit())["request_id"]
    asked = FORMS[form][1]
    for backoff in (5, 10):
        now = place.clock.now()
        place.deliver("dispatch", job_id)
        job = place.job(job_id)
        assert type(job.retry_at) is int
        wait = (job.retry_at - now) / 1000
        assert max(asked, backoff) <= wait <= max(asked, backoff * 1.2)
        assert (job.unsettled, job.slot, place.get(job_id)["attention"]) == (False, None, None)
        place.clock.advance(wait)
    assert place.creates() == 2


@pytest.mark.parametrize("form", FORMS)
def test_case_42_a_poll_waits_so_too(new_place: NewPlace, form: str) -> None:
    """The next look is a whole number of milliseconds, no earlier than asked for and no later than the cap."""
    place = new_place(edits=QUICK_POLLS)
    job_id, _ = place.running()
    place.server.routes["/v1/jobs/p-1"] = in_turn(rate_limited(form), RUNS)
    place.due(job_id)
    polled_at = place.clock.now()
    place.tick()
    job = place.job(job_id)
    assert type(job.due_at) is int
    assert polled_at + FORMS[form][1] * 1000 <= job.due_at <= polled_at + CAP_S * 1000 + 50_000
    assert place.get(job_id)["status"] == "running"
    if FORMS[form][1] > 50:
        assert (place.polls(), job.due_at) == (1, polled_at + FORMS[form][1] * 1000)


def test_case_42_a_wait_without_a_date_to_count_from_is_our_own(place: Place) -> None:
    """The answer's Date is what a date in Retry-After is compared with; no clock of ours is trusted with theirs."""
    job_id, _ = place.running()
    place.server.routes["/v1/jobs/p-1"] = serve(
        json.dumps({}).encode(), 429, retry_after=FORMS["a date two hours ahead"][0]
    )
    next_poll(place, job_id)
    due_at = place.job(job_id).due_at
    assert due_at is not None
    assert 0 < due_at - place.clock.now() <= 300_000
