"""Values from outside: whatever they are, nothing but `Unusable` is raised."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediajobs import expiry
from mediajobs.adapters.providers import reading
from mediajobs.adapters.providers.reading import Unusable
from mediajobs.adapters.providers.vocabulary import Path
from mediajobs.jobs.events import AnswerKind
from mediajobs.messages import ReportKind, Response
from tests.unit.providers.kit import NOW, ScriptedHttp, adapter, job

T = 1_800_000_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(
        ["id", "status", "output", "url", "error", "code", "message", "progress", "size", "expires_at", "jobs", "data"]
    ), inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (1_800_000_000, T), (1_800_000_000.5, T + 500), (T, T), ("1800000000", T), (str(T), T),
        ("2027-01-15T08:00:00Z", T), ("2027-01-15T09:00:00+01:00", T), ("2027-01-15T08:00:00", T),
        ("2027-01-15T08:00:00.250000Z", T + 250), (" 2027-01-15 08:00:00 ", T),
        (None, None), (True, None), ("", None), ("soon", None), (3600, None), ("3600", None), (-1, None),
        (10**400, None),         (float("nan"), None), (float("inf"), None), ("9" * 400, None), ([], None),
        ("0001-01-01T00:00:00Z", None), ("0001-01-01T00:00:00+23:59", None),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_a_time_is_read_in_any_common_form(value: object, ms: int | None) -> None:
    """Seconds, milliseconds, ISO 8601; a duration is no time."""
    assert expiry.moment(value) == ms


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 0), (5, 5), (5.0, 5), (5.5, None), (-1, None), (True, None), ("5", None), (None, None), (2**63, None),
     (float("inf"), None), (float("nan"), None), (1e300, None)],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_a_size_is_a_whole_number_or_nothing(value: object, size: int | None) -> None:
    """It is compared with bytes received."""
    assert reading.size(value) == size


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_any_value_is_read_without_another_error(value: Any) -> None:
    """Words are bounded and can be stored; numbers are whole; ids are ids."""
    assert len(reading.words(value).encode("utf-8")) <= 4 * reading.MOST_MESSAGE
    assert isinstance(reading.percent(value, 100), int | None)
    assert isinstance(expiry.moment(value), int | None)
    with contextlib.suppress(Unusable):
        assert len(reading.identifier(value).encode()) <= reading.MOST_ID_BYTES


@given(
    st.integers(100, 599), st.binary(max_size=200), st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text())
)
@settings(max_examples=200, deadline=None)
def test_any_answer_becomes_an_outcome(status: int, body: bytes, headers: dict[str, str]) -> None:
    """Garbage proves nothing: it is accepted only with an id, and refused only by a listed status."""
    answer = Response(status=status, headers=headers, body=body)
    made = adapter(ScriptedHttp(answer))
    answered = made.submit(made.request(job(), {}, None), "t", 1, NOW)
    listed = {400, 413, 422, 401, 402, 403, 429, 503}
    assert answered.kind in (AnswerKind.AMBIGUOUS, AnswerKind.ACCEPTED) or status in listed
    assert answered.retry_at is None or NOW <= answered.retry_at <= NOW + 900_000
    asked = adapter(ScriptedHttp(answer)).poll(job(), "p-1")
    assert asked.kind in set(ReportKind)


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_any_json_becomes_a_report(value: Any) -> None:
    """Poll, lookup and cancel never raise."""
    answer = Response(status=200, headers={}, body=json.dumps(value).encode())
    assert adapter(ScriptedHttp(answer)).poll(job(), "p-1").kind in (ReportKind.WORD, ReportKind.UNAVAILABLE)
    assert adapter(ScriptedHttp(answer)).lookup(job()).kind is not ReportKind.GONE
    assert adapter(ScriptedHttp(answer)).cancel(job(provider_job_id="p")).kind is ReportKind.WORD


@pytest.mark.parametrize(
    "expression", ["sort(@)", "sum(@)", "max_by(@, &a)", "join(',', @)", "keys(@)", "abs(@)", "@[::0]"]
)
def test_a_function_of_the_wrong_type_finds_nothing(expression: str) -> None:
    """The configuration is right, the answer is not."""
    assert Path(expression).find({"a": [1, "x", None]} if expression != "keys(@)" else 5) is None
    assert Path(None).find({"a": 1}) is None
