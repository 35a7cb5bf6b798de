"""Runway: tasks, polled only. Sources: runwayml/sdk-python, docs.dev.runwayml.com (errors, task failures, outputs)."""

from __future__ import annotations

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from tests.contract.vendors.shape import Case, Vendor, says

ID = "17f20503-6c24-4c16-946b-35dbbce2af2f"
LINK = "https://dnznrvs05pmza.cloudfront.net/a/b.mp4?_jwt=eyJh"
WORD = ReportKind.WORD
TASK = f"/v1/tasks/{ID}"


def task(status: str, **more: object) -> dict[str, object]:
    return {"id": ID, "status": status, "createdAt": "2027-01-15T08:00:00.000Z", **more}


RUNNING = says(200, task("RUNNING", progress=0.57))
DONE = says(200, task("SUCCEEDED", output=[LINK]))
NO_TASK = says(404, {"error": "Task not found"})

RUNWAY = Vendor(
    name="runway",
    tables="""
[providers.runway]
adapter = "runway"
[providers.runway.models]
gen4_turbo = { kind = "video", endpoint = "image_to_video", input_required = ["promptImage"] }
""",
    model="gen4_turbo",
    job_id=ID,
    submits=(
        Case(name="accepted", said=(says(200, {"id": ID}),), kind=AnswerKind.ACCEPTED, expect={"provider_job_id": ID}),
        Case(
            name="invalid",
            said=(says(400, {"error": "Validation of body failed", "issues": []}),),
            kind=AnswerKind.REJECTED,
        ),
        Case(
            name="no credits",
            said=(says(400, {"error": "You do not have enough credits to run this task."}),),
            kind=AnswerKind.BLOCKED,
        ),
        Case(name="key", said=(says(401, {"error": "Invalid API key"}),), kind=AnswerKind.BLOCKED),
        Case(
            name="daily limit",
            said=(says(429, {"error": "You have reached your daily task limit"}),),
            kind=AnswerKind.BLOCKED,
        ),
        Case(
            name="too many",
            said=(says(429, {"error": "Too many requests"}, retry_after="7"),),
            kind=AnswerKind.NOT_ACCEPTED,
        ),
        Case(name="overload", said=(says(503, {"error": "busy"}),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(
            name="pending", said=(says(200, task("PENDING")),), kind=WORD, status=Status.RUNNING, asked=(f"GET {TASK}",)
        ),
        Case(name="throttled", said=(says(200, task("THROTTLED")),), kind=WORD, status=Status.RUNNING),
        Case(name="running", said=(RUNNING,), kind=WORD, status=Status.RUNNING, expect={"progress": 57}),
        Case(name="succeeded", said=(DONE,), kind=WORD, status=Status.SUCCEEDED, links=(LINK,)),
        Case(
            name="unsafe",
            said=(says(200, task("FAILED", failure="no", failureCode="SAFETY.INPUT.TEXT")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED, "message": "no"},
        ),
        Case(
            name="bad output",
            said=(says(200, task("FAILED", failure="bad", failureCode="INTERNAL.BAD_OUTPUT.CODE01")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.PROVIDER_ERROR},
        ),
        Case(name="canceled", said=(says(200, task("CANCELLED")),), kind=WORD, status=Status.CANCELED),
        Case(name="unknown id", said=(NO_TASK,), kind=ReportKind.GONE),
        Case(
            name="gone once after a cancel proves nothing",
            said=(NO_TASK,),
            kind=ReportKind.GONE,
            job={"cancel_requested": True},
        ),
        Case(
            name="gone for good after a cancel",
            said=(NO_TASK,),
            kind=WORD,
            status=Status.CANCELED,
            job={"cancel_requested": True, "misses": 2},
        ),
        Case(name="gone for good without a cancel", said=(NO_TASK,), kind=ReportKind.GONE, job={"misses": 2}),
    ),
    cancels=(
        Case(
            name="while it runs",
            said=(RUNNING, says(204)),
            kind=WORD,
            status=Status.CANCELED,
            asked=(f"GET {TASK}", f"DELETE {TASK}"),
        ),
        Case(
            name="what is done is not deleted",
            said=(DONE,),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
            asked=(f"GET {TASK}",),
        ),
        Case(
            name="nothing is deleted on a guess",
            said=(says(502, raw=b""),),
            kind=ReportKind.UNAVAILABLE,
            asked=(f"GET {TASK}",),
        ),
        Case(
            name="an unknown word is not deleted",
            said=(says(200, task("DREAMING")),),
            kind=WORD,
            status=Status.UNKNOWN,
            asked=(f"GET {TASK}",),
        ),
        Case(name="the cancel fails", said=(RUNNING, says(500, raw=b"")), kind=ReportKind.UNAVAILABLE),
    ),
)
