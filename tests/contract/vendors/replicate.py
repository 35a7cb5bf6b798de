"""Replicate: predictions and Standard Webhooks. Sources: the SDKs' docstrings, replicate.com/docs/topics."""

from __future__ import annotations

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from mediajobs.signatures import sign_standard
from tests.contract.vendors.shape import Case, Vendor, says

ID = "ufawqhfynnddngldkgtslldrkq"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LINK = "https://replicate.delivery/pbxt/abc/out-0.webp"


def sign(body: bytes, now_s: int) -> dict[str, str]:
    return {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "Webhook-Timestamp": str(now_s),
        "Webhook-Signature": sign_standard(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", now_s, body),
    }


def prediction(status: str, **more: object) -> dict[str, object]:
    url = f"https://api.replicate.com/v1/predictions/{ID}"
    base: dict[str, object] = {"id": ID, "model": "acme/flux", "status": status, "output": None, "error": None}
    times = {"created_at": "2027-01-15T08:00:00.000Z", "completed_at": None}
    return {**base, **times, "urls": {"get": url, "cancel": f"{url}/cancel"}, "input": {"prompt": "x"}, **more}


DONE = prediction("succeeded", output=[LINK], completed_at="2027-01-15T08:00:10.5Z")
EXPIRES = 1_800_000_010_500 + 3_600_000
FLAGGED = (
    "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
    "NSFW content detected. Try running it again, or try a different prompt.",
)
WORD, RUNNING = ReportKind.WORD, Status.RUNNING

REPLICATE = Vendor(
    name="replicate",
    tables="""
[providers.replicate]
adapter = "replicate"
[providers.replicate.models]
"acme/flux" = { kind = "image" }
"acme/flux:5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa" = { kind = "image" }
""",
    model="acme/flux",
    job_id=ID,
    webhook_secrets=(SECRET,),
    sign=sign,
    submits=(
        Case(
            name="created",
            said=(says(201, prediction("starting")),),
            kind=AnswerKind.ACCEPTED,
            expect={"provider_job_id": ID},
        ),
        Case(
            name="invalid",
            said=(says(422, {"title": "Input validation failed", "detail": "- prompt is required", "status": 422}),),
            kind=AnswerKind.REJECTED,
            expect={"message": "HTTP 422: - prompt is required"},
        ),
        Case(
            name="no such model",
            said=(says(404, {"detail": "The requested resource could not be found."}),),
            kind=AnswerKind.REJECTED,
        ),
        Case(
            name="key",
            said=(says(401, {"title": "Unauthenticated", "detail": "Invalid token", "status": 401}),),
            kind=AnswerKind.BLOCKED,
        ),
        Case(
            name="money",
            said=(says(402, {"title": "Insufficient credit", "detail": "buy some", "status": 402}),),
            kind=AnswerKind.BLOCKED,
        ),
        Case(
            name="rate",
            said=(
                says(
                    429, {"detail": "Request was throttled. Your rate limit resets in ~30s."}, ratelimit_remaining="0"
                ),
            ),
            kind=AnswerKind.NOT_ACCEPTED,
        ),
        Case(name="gateway", said=(says(502, raw=b"<html>"),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(
            name="starting",
            said=(says(200, prediction("starting")),),
            kind=WORD,
            status=RUNNING,
            asked=(f"GET /v1/predictions/{ID}",),
        ),
        Case(name="processing", said=(says(200, prediction("processing", logs="40%")),), kind=WORD, status=RUNNING),
        Case(
            name="succeeded",
            said=(says(200, DONE),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
            expect={"expires": EXPIRES},
        ),
        Case(
            name="one link",
            said=(says(200, prediction("succeeded", output=LINK)),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
        ),
        Case(
            name="links by name",
            said=(says(200, prediction("succeeded", output={"video": LINK, "seed": 5})),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
        ),
        Case(
            name="an hour later",
            said=(says(200, prediction("succeeded", data_removed=True)),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(),
        ),
        Case(
            name="failed",
            said=(says(200, prediction("failed", error="CUDA out of memory")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"message": "CUDA out of memory"},
        ),
        *(
            Case(
                name=f"refused content: {text[:9]}",
                said=(says(200, prediction("failed", error=text)),),
                kind=WORD,
                status=Status.FAILED,
                expect={"code": ErrorCode.CONTENT_MODERATED},
            )
            for text in FLAGGED
        ),
        Case(name="canceled", said=(says(200, prediction("canceled")),), kind=WORD, status=Status.CANCELED),
        Case(name="aborted", said=(says(200, prediction("aborted")),), kind=WORD, status=Status.CANCELED),
        Case(name="unknown id", said=(says(404, {"detail": "Prediction not found"}),), kind=ReportKind.GONE),
    ),
    cancels=(
        Case(
            name="asked",
            said=(says(200, prediction("canceled")),),
            kind=WORD,
            status=Status.CANCELED,
            asked=(f"POST /v1/predictions/{ID}/cancel",),
        ),
        Case(name="too late", said=(says(200, DONE),), kind=WORD, status=Status.SUCCEEDED, links=(LINK,)),
    ),
    webhooks=(
        Case(name="completed", body=DONE, status=Status.SUCCEEDED, links=(LINK,)),
        Case(name="start", body=prediction("starting"), status=RUNNING),
        Case(name="failed", body=prediction("failed", error="boom"), status=Status.FAILED),
        Case(name="aborted", body=prediction("aborted"), status=Status.CANCELED),
    ),
)
