"""Kling: video tasks. Sources: kling.ai/document-api (general information, callbacks) and copies of it."""

from __future__ import annotations

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from tests.contract.vendors.shape import Case, Vendor, says
from tests.fakes.jobs import a_job

ID = "823645762934"
LINK = "https://cdn.klingai.com/bs2/upload-kling-api/x/final.mp4"
WORD = ReportKind.WORD
OURS = a_job().reference
PATH = "/v1/videos/text2video"


def task(status: str, reference: str = OURS, **more: object) -> dict[str, object]:
    info = {"task_info": {"external_task_id": reference}}
    times = {"created_at": 1722769557708, "updated_at": 1722769557708}
    return {"task_id": ID, "task_status": status, "task_status_msg": "", **info, **times, **more}


def ok(data: object) -> dict[str, object]:
    return {"code": 0, "message": "SUCCEED", "request_id": "r-1", "data": data}


def no(code: int, message: str = "no") -> dict[str, object]:
    return {"code": code, "message": message, "request_id": "r-1"}


DONE = task("succeed", task_result={"videos": [{"id": "v", "url": LINK, "duration": "5.1"}]})
R, B, N, U = AnswerKind.REJECTED, AnswerKind.BLOCKED, AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS
CODES = [
    (401, 1000, B), (401, 1001, B), (401, 1002, B), (401, 1003, B), (401, 1004, B), (429, 1100, B), (429, 1101, B),
    (429, 1102, B), (403, 1103, B), (400, 1200, R), (400, 1201, R), (404, 1202, R), (404, 1203, R), (400, 1300, R),
    (429, 1302, N), (429, 1303, N), (429, 1304, B), (500, 5000, U), (503, 5001, U), (504, 5002, U), (200, 1102, B),
    (200, 1303, N), (200, 5000, U),
]  # fmt: skip

KLING = Vendor(
    name="kling",
    tables="""
[providers.kling]
adapter = "kling"
[providers.kling.models]
kling-v2-master = { kind = "video", endpoint = "videos/text2video" }
kling-v2-image = { kind = "video", endpoint = "videos/image2video", name = "kling-v2-master" }
""",
    model="kling-v2-master",
    job_id=ID,
    api_key="access-key-one:secret-key-one",
    submits=(
        Case(
            name="submitted",
            said=(says(200, ok(task("submitted"))),),
            kind=AnswerKind.ACCEPTED,
            expect={"provider_job_id": ID},
        ),
        *(Case(name=f"{status} {code}", said=(says(status, no(code)),), kind=kind) for status, code, kind in CODES),
        Case(
            name="unsafe", said=(says(400, no(1301, "security")),), kind=R, expect={"code": ErrorCode.CONTENT_MODERATED}
        ),
        *(
            Case(name=f"the reference was used before: {text}", said=(says(400, no(1201, text)),), kind=U)
            for text in ("external_task_id is duplicated", "The External Task ID exists already")
        ),
        Case(name="conflict", said=(says(409, no(1999, "conflict")),), kind=U),
    ),
    polls=(
        Case(
            name="submitted",
            said=(says(200, ok(task("submitted"))),),
            kind=WORD,
            status=Status.RUNNING,
            asked=(f"GET {PATH}/{ID}",),
        ),
        Case(name="processing", said=(says(200, ok(task("processing"))),), kind=WORD, status=Status.RUNNING),
        Case(
            name="succeed",
            said=(says(200, ok(DONE)),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
            expect={"reference": OURS},
        ),
        Case(
            name="failed",
            said=(says(200, ok(task("failed", task_status_msg="risk control"))),),
            kind=WORD,
            status=Status.FAILED,
            expect={"message": "risk control"},
        ),
        Case(name="unknown id", said=(says(404, no(1203)),), kind=ReportKind.GONE),
        Case(name="unknown id inside 200", said=(says(200, no(1203)),), kind=ReportKind.GONE),
        Case(name="an error inside 200", said=(says(200, no(5000)),), kind=ReportKind.UNAVAILABLE),
        Case(name="in arrears inside 200", said=(says(200, no(1101)),), kind=ReportKind.BLOCKED),
        Case(
            name="images",
            said=(says(200, ok(task("succeed", task_result={"images": [{"index": 0, "url": LINK}]}))),),
            kind=WORD,
            links=(LINK,),
        ),
    ),
    lookups=(
        Case(
            name="there",
            said=(says(200, ok(task("processing"))),),
            kind=WORD,
            status=Status.RUNNING,
            expect={"provider_job_id": ID},
            asked=(f"GET {PATH}/{OURS}",),
        ),
        Case(
            name="another's",
            said=(says(200, ok(task("processing", reference="somebody.else"))),),
            kind=ReportKind.ABSENT,
        ),
        Case(name="absent", said=(says(404, no(1203)),), kind=ReportKind.ABSENT),
        Case(
            name="an unknown word is there", said=(says(200, ok(task("dreaming"))),), kind=WORD, status=Status.RUNNING
        ),
        Case(name="an outage", said=(says(500, no(5000)),), kind=ReportKind.UNAVAILABLE),
    ),
    cancels=(Case(name="there is no cancel", kind=ReportKind.REFUSED),),
    webhooks=(
        Case(name="without an envelope", body=DONE, status=Status.SUCCEEDED, links=(LINK,), expect={"reference": OURS}),
        Case(name="in the envelope", body=ok(DONE), status=Status.SUCCEEDED, links=(LINK,)),
        Case(name="on its way", body=task("processing"), status=Status.RUNNING),
        Case(name="failed", body=task("failed", task_status_msg="x"), status=Status.FAILED),
    ),
)
