"""MiniMax by configuration alone, as docs/providers.md shows it: errors inside 200, results at a second address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind, Response
from tests.contract.test_adapters import asked, compared, sent
from tests.contract.vendors.shape import Case, Vendor, Wire, says

DOCUMENT = Path(__file__).parents[4] / "docs" / "providers.md"
_FOUND = re.search(r"```toml\n(# MiniMax.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
assert _FOUND is not None
TABLES = _FOUND[1]

FILE = says(200, {"file": {"download_url": "https://cdn.minimax.example/1.mp4"}, "base_resp": {"status_code": 0}})
MINIMAX = Vendor(
    name="minimax", tables=TABLES, model="MiniMax-Hailuo-02", job_id="106916112212032", submits=(), polls=()
)


def no(code: int, message: str = "no") -> dict[str, Any]:
    return {"task_id": "", "base_resp": {"status_code": code, "status_msg": message}}


def query(status: str, **more: Any) -> dict[str, Any]:
    return {
        "task_id": MINIMAX.job_id,
        "status": status,
        "base_resp": {"status_code": 0, "status_msg": "success"},
        **more,
    }


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (query("Preparing"), AnswerKind.ACCEPTED, None),
        (no(1002, "rate limit"), AnswerKind.NOT_ACCEPTED, None),
        (no(1004, "not authorized"), AnswerKind.BLOCKED, None),
        (no(1008, "insufficient balance"), AnswerKind.BLOCKED, None),
        (no(2013, "invalid params"), AnswerKind.REJECTED, ErrorCode.REJECTED),
        (no(1026, "sensitive"), AnswerKind.REJECTED, ErrorCode.CONTENT_MODERATED),
        (no(1000, "unknown error"), AnswerKind.AMBIGUOUS, None),
        ({"task_id": ""}, AnswerKind.AMBIGUOUS, None),
    ],
)
def test_an_error_inside_200_is_what_its_code_proves(
    answer: dict[str, Any], kind: AnswerKind, code: ErrorCode | None
) -> None:
    """A code in no list proves nothing."""
    answered = sent(MINIMAX, Wire(says(200, answer)))
    assert answered.kind is kind
    assert code is None or answered.code is code


@pytest.mark.parametrize(
    "case",
    [
        Case(name="queueing", said=(says(200, query("Queueing")),), kind=ReportKind.WORD, status=Status.RUNNING),
        Case(
            name="success",
            said=(says(200, query("Success", file_id="f-1")), FILE),
            kind=ReportKind.WORD,
            status=Status.SUCCEEDED,
            links=("https://cdn.minimax.example/1.mp4",),
            asked=("GET /v1/query/video_generation?task_id=106916112212032", "GET /v1/files/retrieve?file_id=f-1"),
        ),
        Case(
            name="the file's own failure is not the job's",
            said=(says(200, query("Success", file_id="f-1")), says(200, no(1000))),
            kind=ReportKind.UNAVAILABLE,
        ),
        Case(
            name="the file is gone",
            said=(says(200, query("Success", file_id="f-1")), says(404, {})),
            kind=ReportKind.WORD,
            status=Status.SUCCEEDED,
            links=(),
        ),
        Case(
            name="success without a file",
            said=(says(200, query("Success")),),
            kind=ReportKind.WORD,
            status=Status.SUCCEEDED,
            links=(),
        ),
        Case(name="fail", said=(says(200, query("Fail")),), kind=ReportKind.WORD, status=Status.FAILED),
        Case(name="error inside 200", said=(says(200, no(1000)),), kind=ReportKind.UNAVAILABLE),
        Case(name="balance inside 200", said=(says(200, no(1008)),), kind=ReportKind.BLOCKED),
    ],
    ids=lambda case: case.name,
)
def test_each_published_status_is_read(case: Case) -> None:
    """The second address only after success."""
    wire = Wire(*case.said)
    compared(case, MINIMAX.made(wire).poll(MINIMAX.job(), MINIMAX.job_id))
    if case.asked:
        assert asked(wire) == case.asked


def test_a_refused_key_inside_200_is_looked_at_anew_once() -> None:
    """As with a 401."""
    kept = MINIMAX.secrets()
    kept.provider("minimax")
    kept.put("minimax", "sk-newer-newer")
    answers: list[Response] = [says(200, no(1004)), says(200, query("Preparing"))]
    wire = Wire(*answers)
    made = MINIMAX.made(wire, kept)
    answered = made.submit(made.request(MINIMAX.job(), {"prompt": "x"}, None), "t", 1, 0)
    assert answered.kind is AnswerKind.ACCEPTED
    assert len(wire.submits) == 2


def test_a_callback_is_a_hint_in_lower_case() -> None:
    """Unsigned; each job is polled as well."""
    made = MINIMAX.made(Wire())
    delivery = MINIMAX.delivery({"task_id": MINIMAX.job_id, "status": "success", "file_id": "f-1"})
    assert made.verify(delivery, 0).proven is False
    assert made.read(delivery).status is Status.SUCCEEDED
    assert made.traits(MINIMAX.model).webhooks is False
