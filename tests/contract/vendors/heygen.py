"""HeyGen v3: videos and the account's webhook endpoint. Source: developers.heygen.com (webhooks, error codes)."""

from __future__ import annotations

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from mediajobs.signatures import HmacForm, sign_body
from tests.contract.vendors.shape import Case, Vendor, says
from tests.fakes.jobs import a_job

ID = "vid_xyz789"
SECRET = "whsec_k7x9m2abcdefghij"
LINK = "https://files2.heygen.ai/video/vid_xyz789.mp4?Signature=x"
OURS = a_job().reference
WORD = ReportKind.WORD
USED_UP = ("quota_exceeded", "trial_limit_exceeded", "insufficient_credit")
FORM = HmacForm(header="Heygen-Signature")


def sign(body: bytes, now_s: int) -> dict[str, str]:
    return {"Heygen-Signature": sign_body(SECRET, body, FORM), "Heygen-Timestamp": str(now_s), "Heygen-Event-Id": "e-1"}


def video(status: str, **more: object) -> dict[str, object]:
    return {"data": {"id": ID, "status": status, "created_at": 1711382400, **more}}


def error(code: str) -> dict[str, object]:
    return {"error": {"code": code, "message": "no"}}


HEYGEN = Vendor(
    name="heygen",
    tables="""
[providers.heygen]
adapter = "heygen"
[providers.heygen.models]
avatar = { kind = "video" }
""",
    model="avatar",
    job_id=ID,
    webhook_secrets=(SECRET,),
    sign=sign,
    submits=(
        Case(
            name="accepted",
            said=(says(200, {"data": {"video_id": ID, "status": "waiting"}}),),
            kind=AnswerKind.ACCEPTED,
            expect={"provider_job_id": ID},
        ),
        Case(name="replayed", said=(says(200, {"data": {"video_id": ID}}),), kind=AnswerKind.ACCEPTED),
        Case(
            name="the first request still runs",
            said=(says(409, error("request_in_progress")),),
            kind=AnswerKind.AMBIGUOUS,
        ),
        Case(name="invalid", said=(says(400, error("invalid_parameter")),), kind=AnswerKind.REJECTED),
        Case(name="another's avatar", said=(says(403, error("resource_access_denied")),), kind=AnswerKind.REJECTED),
        Case(name="no right", said=(says(403, error("forbidden")),), kind=AnswerKind.BLOCKED),
        Case(name="key", said=(says(401, error("unauthorized")),), kind=AnswerKind.BLOCKED),
        Case(name="money", said=(says(402, error("insufficient_credit")),), kind=AnswerKind.BLOCKED),
        *(Case(name=f"429 {code}", said=(says(429, error(code)),), kind=AnswerKind.BLOCKED) for code in USED_UP),
        Case(
            name="refused content",
            said=(says(400, error("content_policy_violation")),),
            kind=AnswerKind.REJECTED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(
            name="rate", said=(says(429, error("rate_limit_exceeded"), retry_after="3"),), kind=AnswerKind.NOT_ACCEPTED
        ),
        Case(name="server", said=(says(500, error("internal_error")),), kind=AnswerKind.AMBIGUOUS),
        Case(name="gateway", said=(says(503, error("service_unavailable")),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(
            name="pending",
            said=(says(200, video("pending")),),
            kind=WORD,
            status=Status.RUNNING,
            asked=(f"GET /v3/videos/{ID}",),
        ),
        Case(name="waiting", said=(says(200, video("waiting")),), kind=WORD, status=Status.RUNNING),
        Case(name="processing", said=(says(200, video("processing")),), kind=WORD, status=Status.RUNNING),
        Case(
            name="completed",
            said=(says(200, video("completed", video_url=LINK)),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
        ),
        Case(
            name="failed",
            said=(says(200, video("failed", failure_code="x", failure_message="bad script")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"message": "bad script"},
        ),
        Case(
            name="refused content",
            said=(says(200, video("failed", failure_code="content_policy_violation", failure_message="no")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(name="unknown id", said=(says(404, error("video_not_found")),), kind=ReportKind.GONE),
        Case(name="no credit", said=(says(402, error("insufficient_credit")),), kind=ReportKind.BLOCKED),
    ),
    cancels=(Case(name="there is no cancel", kind=ReportKind.REFUSED),),
    webhooks=(
        Case(
            name="success",
            body={
                "event_type": "avatar_video.success",
                "event_data": {"video_id": ID, "url": LINK, "callback_id": OURS},
            },
            status=Status.SUCCEEDED,
            links=(LINK,),
            expect={"reference": OURS},
        ),
        Case(
            name="fail",
            body={
                "event_id": "e",
                "event_type": "avatar_video.fail",
                "event_data": {"video_id": ID, "msg": "bad", "callback_id": None},
            },
            status=Status.FAILED,
            expect={"message": "bad"},
        ),
        Case(
            name="another event",
            body={"event_type": "avatar_video_gif.success", "event_data": {"video_id": ID}},
            status=Status.UNKNOWN,
        ),
    ),
)
