"""Callbacks under every fault of a receiver: at least once, under one id, none lost, none twice for whoever dedupes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mediajobs.callbacks import LIFE_MS, MOST_SECRETS, Ended
from mediajobs.errors import Conflict, NoAnswer
from mediajobs.steps import callbacks
from tests.steps.kit import OPERATOR, Killed
from tests.steps.post import Post

HOUR_S = 3600
DAY_S = 24 * HOUR_S
FAULTS = ("refused", "hang", "500", "503", "404", "301", "307", "cut")


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return Post(tmp_path)


def known(post: Post, tenant: str = "acme") -> list[str]:
    """The ids of the jobs that the receiver knows, each once."""
    return [job["id"] for job in post.far.places[f"{tenant}.example"].receiver.jobs()]


def test_an_event_arrives_as_the_topic_has_it_and_verifies(post: Post) -> None:
    """The topic's bytes, under the topic's deduplication id; nothing is written for a happy callback."""
    place = post.registered()
    saves = post.callbacks.saves
    job = post.ended("a")
    post.run(1)
    (request,) = place.asked
    (sent,) = post.topic.sends
    assert request.body == sent.message.encode()
    assert request.headers["webhook-id"] == sent.deduplication_id == job.publication_id
    assert known(post) == [job.publication_id]
    assert (post.messages[0].receives, post.callbacks.saves) == (1, saves)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_receiver_that_is_down_for_an_hour_loses_nothing(post: Post, fault: str) -> None:
    """Every event of that hour and after arrives under its one id, though some were taken before and sent again."""
    start = post.clock.now()
    place = post.registered(line=lambda now: fault if now < start + HOUR_S * 1000 else "ok")
    ids = []
    for number in range(30):
        ids.append(post.ended(f"job-{number}").publication_id)
        post.run(240)
    post.run(2 * HOUR_S)
    assert all(message.gone for message in post.messages)
    assert post.callbacks.buried == []
    assert set(place.ids) <= set(ids)
    assert sorted(known(post)) == sorted(ids)
    assert (post.registration().failures, post.registration().trouble) == (0, "")


@pytest.mark.parametrize("fault", FAULTS)
def test_after_three_days_it_is_given_up_with_the_reason(post: Post, fault: str) -> None:
    """Not a minute earlier, in one copy each, and the number of receives is bounded."""
    place = post.registered(line=lambda _: fault)
    ids = [post.ended(f"job-{number}").publication_id for number in range(5)]
    post.run(3 * DAY_S - 60)
    assert (post.callbacks.buried, [message.gone for message in post.messages]) == ([], [False] * 5)
    post.run(HOUR_S)
    assert sorted(notice.event_id for notice, _ in post.callbacks.buried) == sorted(ids)
    assert all(why for _, why in post.callbacks.buried)
    assert max(message.receives for message in post.messages) <= 45
    asked = len(place.asked)
    post.run(DAY_S)
    assert len(place.asked) == asked


def test_what_a_receiver_wrote_into_the_reason_does_not_keep_its_event_from_being_shown(post: Post) -> None:
    """SQS takes no control character in an attribute, and what it refuses could never be given up."""
    post.registered()
    post.far.post = broken  # type: ignore[method-assign, assignment]
    post.ended("a")
    post.run(3 * DAY_S + HOUR_S)
    assert [why for _, why in post.callbacks.buried] == ["NoAnswer: length 1,?2 ?[31m?é"]


def broken(*_: object, **__: object) -> None:
    raise NoAnswer("length 1,\x0b2 \x1b[31m\ud800é")


def test_redirects_are_never_followed(post: Post) -> None:
    """They are a failure like another; nobody else is asked."""
    place = post.registered(line=lambda _: "302")
    post.ended("a")
    post.run(60)
    assert {request.url for request in place.asked} == {"https://acme.example/hooks"}
    assert "redirect" in post.registration().trouble


def test_private_addresses_are_refused_at_every_attempt(post: Post) -> None:
    """The name may have come to point inside since it was registered."""
    post.registered()
    post.ended("a")
    post.run(1)
    assert {(rules.allow_private, rules.allow_http) for rules in post.far.rules} == {(False, False)}


def test_gone_ends_the_registration_and_shows_a_person_the_event(post: Post) -> None:
    """The topic sends no more, what is on its way is dropped, and no secret is kept."""
    place = post.registered(line=lambda _: "410")
    post.registered("zeta")
    first, second = post.ended("a"), post.ended("b")
    post.run(HOUR_S)
    assert [(notice.event_id, why) for notice, why in post.callbacks.buried] == [(first.publication_id, "gone")]
    assert place.ids == [first.publication_id]
    assert second.publication_id not in place.ids
    ended = post.registration()
    assert (ended.ended, ended.secrets) == (Ended.GONE, ())
    assert post.callbacks.heard[-1] == ("zeta",)
    assert all(message.gone for message in post.messages)


def test_gone_ends_it_though_another_event_has_just_failed(post: Post) -> None:
    """A lost race is looked at again, not forgotten."""
    post.registered(line=lambda _: "410")
    post.ended("a")
    post.callbacks.lose = 1
    post.run(1)
    assert post.registration().ended is Ended.GONE


def test_gone_of_an_address_that_is_not_the_registered_one_any_more_ends_nothing(post: Post) -> None:
    """An operator moved it while the request was under way."""
    place = post.registered()
    other = post.far.places["new.example"] = replace(place, asked=[])

    def line(_: int) -> str:
        post.callbacks.rows["acme"] = replace(
            post.registration(), address="https://new.example/hooks", revision=post.registration().revision + 1
        )
        place.line = lambda _: "410"
        return "410"

    place.line, other.line = line, lambda _: "ok"
    post.ended("a")
    post.run(1)
    assert post.registration().ended is None


def test_a_tenant_without_registration_has_no_message_at_all(post: Post) -> None:
    """Neither while nobody is registered nor beside one that is."""
    post.ended("a")
    assert (post.messages, post.callbacks.heard) == ([], [])
    post.registered("zeta")
    post.ended("b")
    assert post.messages == []


def test_what_still_comes_after_the_end_is_dropped(post: Post) -> None:
    """The topic takes some minutes to hear of it."""
    place = post.registered()
    callbacks.end(post.world, OPERATOR, "acme")
    post.queue('{"id": "late", "type": "job.failed"}', "acme")
    post.run(1)
    assert (place.ids, post.messages[0].gone, post.callbacks.buried) == ([], True, [])


def test_a_topic_that_was_not_told_of_an_end_is_told_by_what_it_still_sends(post: Post) -> None:
    """Whoever ended it died before: else notify is started for nobody for ever. Not before SNS may have heeded the
    end, and not for every event.
    """
    post.registered("zeta")
    post.registered(line=lambda _: "410")
    post.ended("a")
    post.handler = post.handler_of(replace(post.world, **mortal(post, 5, lost=True)))  # right after `save`
    post.run(600)
    assert post.registration().ended is Ended.GONE
    told = list(post.callbacks.heard)
    assert told[-1] == ("acme", "zeta")
    for minutes, times in ((1, 0), (10, 1), (1, 1), (61, 2)):
        post.run(minutes * 60)
        post.queue('{"id": "late", "type": "job.failed"}', "acme")
        post.run(1)
        assert post.messages[-1].gone
        assert post.callbacks.heard[len(told) :] == [("zeta",)] * times


def test_a_receiver_that_hangs_costs_the_others_little(post: Post) -> None:
    """One probe at a time, less and less often: of 300 events to a hanging receiver some twenty are tried in an hour,
    and another tenant's arrive meanwhile.
    """
    slow, quick = post.registered("slow", line=lambda _: "hang"), post.registered("quick")
    for number in range(300):
        post.ended(f"slow-{number}", "slow")
    for number in range(60):
        post.ended(f"quick-{number}", "quick")
        post.run(60)
    assert len(slow.asked) <= 25
    assert len(set(quick.ids)) == 60
    assert max(message.receives for message in post.messages) <= 12


def test_one_event_that_is_refused_holds_the_others_for_seconds_only(post: Post) -> None:
    """A success of any ends the hold."""
    place = post.registered()
    bad = post.ended("bad")
    place.line = lambda _: "500"
    post.run(1)
    assert post.registration().failures == 1
    place.line = lambda _: "ok"
    post.ended("good")
    post.run(30)
    assert len(known(post)) == 2
    assert bad.publication_id in known(post)


def test_of_two_events_that_would_be_the_probe_at_once_one_goes(post: Post) -> None:
    """A receiver that hangs would else hold as many functions as events are due."""
    place = post.registered(line=lambda _: "500")
    post.ended("a")
    post.run(0)
    (message,) = post.messages
    post.clock.advance(HOUR_S)
    post.callbacks.lose = 1
    post.take(message)
    assert (len(place.ids), message.gone) == (1, False)
    assert message.visible > post.clock.now()
    post.take(message)
    assert len(place.ids) == 2


def test_how_an_old_address_fared_says_nothing_of_the_new_one(post: Post) -> None:
    old = post.registered(line=lambda _: "hang")
    post.ended("a")
    post.run(HOUR_S)
    assert post.registration().held_until > post.clock.now() - 300_000
    post.far.places["new.example"] = old
    old.line = lambda _: "ok"
    callbacks.register(post.world, OPERATOR, "acme", "https://new.example/hooks")
    fares = post.registration()
    assert (fares.failures, fares.failing_since, fares.trouble, fares.held_until) == (0, None, "", 0)


@pytest.mark.parametrize(
    ("asks", "least_s", "most_s"),
    [("", 5, 6), ("1200", 1200, 1200), ("999999", HOUR_S, HOUR_S), ("soon", 5, 6), ("-3", 5, 6), ("9" * 400, 5, 6)],
)
def test_a_receiver_may_ask_for_more_time(post: Post, asks: str, least_s: int, most_s: int) -> None:
    """By Retry-After in seconds, up to an hour; anything else means nothing."""
    post.registered(line=lambda _: f"429 {asks}".strip())
    post.ended("a")
    post.run(0)
    held = post.registration().held_until - post.clock.now()
    assert least_s * 1000 <= held <= most_s * 1000
    assert post.messages[0].visible >= post.registration().held_until


def test_secrets_rotate_with_both_accepted_in_between(post: Post) -> None:
    """Who knows only the old one and who knows only the new one both verify, until the overlap ends."""
    place = post.registered()
    _, new = callbacks.rotate(post.world, OPERATOR, "acme", DAY_S)
    post.ended("a")
    post.run(1)
    (request,) = [one for one in place.asked if b'"job.' in one.body]
    assert len(request.headers["webhook-signature"].split()) == 2
    assert len(known(post)) == 1  # by the old secret
    newer = type(place.receiver)([new], post.folder / "newer.sqlite")
    assert newer.take(request.headers, request.body, post.clock.now() / 1000)[0] == 200
    post.run(DAY_S)
    post.ended("b")
    post.run(1)
    assert len(place.asked[-1].headers["webhook-signature"].split()) == 1
    assert len(known(post)) == 1  # the old secret opens nothing any more
    assert newer.take(place.asked[-1].headers, place.asked[-1].body, post.clock.now() / 1000)[0] == 200


def test_rotation_with_no_overlap_ends_the_old_secret_at_once(post: Post) -> None:
    """For one that leaked."""
    post.registered()
    callbacks.rotate(post.world, OPERATOR, "acme", 0)
    assert len(post.registration().secrets) == 1


def test_a_second_rotation_does_not_lengthen_the_life_of_an_older_secret(post: Post) -> None:
    post.registered()
    callbacks.rotate(post.world, OPERATOR, "acme", HOUR_S)
    (_, first) = post.registration().secrets
    callbacks.rotate(post.world, OPERATOR, "acme", DAY_S)
    newest, second, oldest = post.registration().secrets
    assert (newest.until, oldest) == (None, first)
    assert second.until == post.clock.now() + DAY_S * 1000


def test_too_many_secrets_at_once_are_refused(post: Post) -> None:
    """A signature each: the header has an end."""
    post.registered()
    for _ in range(MOST_SECRETS - 1):
        callbacks.rotate(post.world, OPERATOR, "acme", DAY_S)
    with pytest.raises(Conflict, match="wait until"):
        callbacks.rotate(post.world, OPERATOR, "acme", DAY_S)
    assert len(post.registration().secrets) == MOST_SECRETS


def test_what_is_sent_again_carries_its_first_id(post: Post) -> None:
    """An operator's resend is dropped by a receiver that knows it, taken by one that lost it."""
    place = post.registered()
    job = post.ended("a")
    post.run(1)
    post.queue(post.topic.sends[0].message, "acme")
    post.run(1)
    assert place.ids == [job.publication_id] * 2
    assert known(post) == [job.publication_id]


@pytest.mark.parametrize("lost", [True, False])
def test_a_process_killed_at_any_call_loses_no_event(post: Post, lost: bool) -> None:
    """Before or after the call had its effect: the message comes back, and the receiver knows the id."""
    for at in range(1, 9):
        start = post.clock.now()
        place = post.registered(f"t{at}", line=lambda now, start=start: "503" if now < start + 20_000 else "ok")
        job = post.ended(f"job-{at}", f"t{at}")
        post.handler = post.handler_of(replace(post.world, **mortal(post, at, lost=lost)))
        post.run(20 * 60)
        assert (known(post, f"t{at}"), set(place.ids)) == ([job.publication_id], {job.publication_id}), at
    assert all(message.gone for message in post.messages)
    assert post.died >= 6


def mortal(post: Post, at: int, *, lost: bool) -> dict[str, object]:
    """Both ports with a process that is killed once, at call number `at`."""
    met = 0

    class Deadly:
        def __init__(self, real: object) -> None:
            self._real = real

        def __getattr__(self, verb: str) -> object:
            def call(*args: object, **named: object) -> object:
                nonlocal met
                met += 1
                now = met == at
                if now and lost:
                    raise Killed
                answer = getattr(self._real, verb)(*args, **named)
                if now:
                    raise Killed
                return answer

            return call

    return {"http": Deadly(post.far), "callbacks": Deadly(post.callbacks)}


def test_a_table_that_does_not_answer_is_no_answer_about_the_registration(post: Post) -> None:
    """The event comes again."""
    post.registered()
    post.ended("a")
    post.callbacks.fail = 1
    post.run(1)
    assert not post.messages[0].gone
    post.run(120)
    assert len(known(post)) == 1


@pytest.mark.parametrize("body", ["hello", "[]", "{}", '{"id": 7}', "null", "[" * 5000])
def test_a_message_that_is_none_of_ours_is_done_with(post: Post, body: str) -> None:
    """Counted, and acknowledged: no repeat makes it better."""
    post.registered()
    post.queue(body, "acme")
    post.run(1)
    assert post.messages[0].gone
    assert post.metrics.counted["MessagesRefused"] == 1


def test_no_log_line_and_no_text_of_an_error_tells_a_secret_or_the_address(post: Post) -> None:
    """A URL may hold a token of the tenant's."""
    place = post.registered(line=lambda _: "500")
    secret = post.registration().secrets[0].value
    post.ended("a")
    post.run(60)
    told = json.dumps(post.log.lines, default=repr) + repr(post.registration())
    assert secret not in told
    assert "/hooks" not in told
    assert place.asked


def test_no_attempt_is_made_after_the_end_of_its_life_while_it_is_held(post: Post) -> None:
    """A receiver that hangs for three days is not asked once more for each event of a long line."""
    place = post.registered(line=lambda _: "hang")
    for number in range(40):
        post.ended(f"job-{number}")
    post.run(LIFE_MS / 1000 + HOUR_S)
    assert len(post.callbacks.buried) == 40
    assert len(place.ids) <= 3 * 24 * 12 + 30  # one in five minutes
