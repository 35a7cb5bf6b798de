"""Variations of what the vendors publish: odd, cut, swapped. None raises, and none ends a job by an unknown word."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediajobs.errors import BadRequest
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.messages import Report, ReportKind, Response
from tests.contract.test_adapters import sent, vendors
from tests.contract.vendors.shape import Vendor, Wire
from tests.fakes.jobs import NOW

FINAL = {Status.SUCCEEDED, Status.FAILED, Status.CANCELED}

ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "{}", "http://x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def known_words(vendor: Vendor) -> set[str]:
    return set(vendor.config.statuses)


@st.composite
def varied(draw: st.DrawFn, document: Any) -> Any:
    """A published document with some of its parts gone, or odd."""
    if draw(st.integers(0, 19)) == 0:
        return draw(ODD)
    if isinstance(document, dict):
        kept = {name: value for name, value in document.items() if draw(st.integers(0, 9)) > 0}
        return {name: draw(varied(value)) for name, value in kept.items()}
    if isinstance(document, list):
        return [draw(varied(item)) for item in document] * draw(st.sampled_from([1, 1, 0, 2]))
    return document


@st.composite
def answers(draw: st.DrawFn, said: Response) -> Response:
    try:
        document = json.loads(said.body)
    except ValueError:
        document = draw(ODD)
    raw = json.dumps(draw(varied(document))).encode("utf-8", "surrogatepass")
    cut = draw(st.sampled_from([len(raw)] * 9 + [len(raw) // 2]))
    status = draw(st.sampled_from([said.status] * 5 + [200, 202, 204, 302, 400, 401, 404, 409, 429, 500, 503]))
    headers = draw(st.sampled_from([said.headers, {"retry-after": "soon"}, {"retry-after": "9" * 400}, {"date": "x"}]))
    return Response(status=status, headers=dict(headers), body=raw[:cut])


class Endless(Wire):
    """Gives the same answers again and again, so that a case may ask as often as it likes."""

    def _next(self) -> Response:
        answer = super()._next()
        self._answers.append(answer)
        return answer


def settled_only_by_known_words(vendor: Vendor, report: Report, said: bytes) -> None:
    """A terminal status needs a word that the vendor documents, somewhere in what it said."""
    if report.status in FINAL and "gone after" not in report.raw and "deleted" not in report.raw:
        assert report.raw in known_words(vendor), report
    if report.status is Status.SUCCEEDED and report.kind is ReportKind.WORD:
        assert said


@pytest.mark.parametrize("vendor", vendors())
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_variation_of_an_answer_raises_or_ends_a_job_by_an_unknown_word(vendor: Vendor, data: st.DataObject) -> None:
    """Poll, cancel, lookup and submit."""
    case = data.draw(st.sampled_from([case for case in (*vendor.polls, *vendor.submits, *vendor.lookups) if case.said]))
    said = [data.draw(answers(one)) for one in case.said]
    job = vendor.job(**case.job)
    for question in ("poll", "cancel", "lookup"):
        made = vendor.made(Endless(*said))
        report = made.poll(job, job.provider_job_id) if question == "poll" else getattr(made, question)(job)
        settled_only_by_known_words(vendor, report, b"".join(one.body for one in said))
    answered = sent(vendor, Endless(*said), **case.job)
    assert answered.kind in AnswerKind
    assert (answered.provider_job_id is None) is (answered.kind is not AnswerKind.ACCEPTED)


@pytest.mark.parametrize("vendor", vendors(lambda vendor: vendor.webhooks))
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_variation_of_an_event_is_more_than_a_bad_request(vendor: Vendor, data: st.DataObject) -> None:
    """Signed and unusable is a 400; signed and unknown decides nothing."""
    case = data.draw(st.sampled_from(vendor.webhooks))
    raw = json.dumps(data.draw(varied(case.body))).encode("utf-8", "surrogatepass")
    made = vendor.made(Wire(published=vendor.published))
    delivery = vendor.delivery(raw)
    made.verify(delivery, NOW)
    try:
        report = made.read(delivery)
    except BadRequest:
        return
    assert report.provider_job_id
    settled_only_by_known_words(vendor, report, raw)


@pytest.mark.parametrize("vendor", vendors())
@settings(max_examples=60, deadline=None)
@given(word=st.text(min_size=1, max_size=70))
def test_an_unknown_word_is_never_terminal(vendor: Vendor, word: str) -> None:
    """In the place of each published status word."""
    words = known_words(vendor)
    if word in words:
        return
    for case in vendor.polls:
        texts = [one.body.decode("utf-8", "replace") for one in case.said]
        swapped = [_without(words, text, word) for text in texts]
        said = [replace(one, body=text.encode()) for one, text in zip(case.said, swapped, strict=True)]
        report = vendor.made(Endless(*said)).poll(vendor.job(), vendor.job_id)
        assert report.status not in FINAL, (case.name, report)


def _without(words: set[str], text: str, word: str) -> str:
    """The JSON text with every known status word replaced."""
    for known in words:
        text = text.replace(json.dumps(known), json.dumps(word))
    return text
