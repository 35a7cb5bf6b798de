"""Black Forest Labs: FLUX. Sources: the vendor's skills repository, docs.bfl.ml (errors), its OpenAPI."""

from __future__ import annotations

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind
from mediajobs.signatures import HmacForm, sign_body
from tests.contract.vendors.shape import Case, Vendor, says

ID = "1f0a8f9e-3f0e-4c0b-9f62-5d9e0d0b7a11"
SECRET = "a-secret-of-our-own-making"
LINK = "https://delivery-eu1.bfl.ai/results/a/sample.jpeg?sig=x"
REGION = f"https://api.eu1.bfl.ai/v1/get_result?id={ID}"
FORM = HmacForm(header="X-BFL-Signature", prefix="sha256=")
WORD = ReportKind.WORD


def sign(body: bytes, now_s: int) -> dict[str, str]:
    return {"X-BFL-Signature": sign_body(SECRET, body, FORM)}


def result(status: str, **more: object) -> dict[str, object]:
    return {"id": ID, "status": status, "result": None, "progress": None, "details": None, **more}


DONE = result("Ready", result={"sample": LINK, "prompt": "x", "seed": 42})

BFL = Vendor(
    name="bfl",
    tables="""
[providers.bfl]
adapter = "bfl"
[providers.bfl.models]
flux-2-pro = { kind = "image" }
""",
    model="flux-2-pro",
    job_id=ID,
    webhook_secrets=(SECRET,),
    hosts=("api.eu1.bfl.ai",),
    sign=sign,
    submits=(
        Case(
            name="accepted",
            said=(says(200, {"id": ID, "polling_url": REGION}),),
            kind=AnswerKind.ACCEPTED,
            expect={"provider_job_id": ID, "poll_url": REGION},
        ),
        Case(
            name="accepted, with a webhook",
            said=(says(200, {"id": ID, "status": "Pending", "webhook_url": "https://x"}),),
            kind=AnswerKind.ACCEPTED,
            expect={"poll_url": None},
        ),
        Case(
            name="invalid",
            said=(says(422, {"detail": [{"loc": ["body"], "msg": "no", "type": "missing"}]}),),
            kind=AnswerKind.REJECTED,
        ),
        Case(name="no credits", said=(says(402, {"detail": "Insufficient credits"}),), kind=AnswerKind.BLOCKED),
        Case(name="key", said=(says(403, {"detail": "Not authenticated"}),), kind=AnswerKind.BLOCKED),
        Case(
            name="24 in flight",
            said=(says(429, {"detail": "Too many active tasks"}, retry_after="5"),),
            kind=AnswerKind.NOT_ACCEPTED,
        ),
        Case(name="unavailable", said=(says(503, {"detail": "try later"}),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(
            name="pending",
            said=(says(200, result("Pending", progress=0.3)),),
            kind=WORD,
            status=Status.RUNNING,
            expect={"progress": 30},
            asked=(f"GET /v1/get_result?id={ID}",),
        ),
        Case(
            name="at its own address",
            said=(says(200, DONE),),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
            job={"poll_url": REGION},
            asked=(f"GET {REGION}",),
        ),
        Case(
            name="another's address is not asked",
            said=(says(200, DONE),),
            kind=WORD,
            job={"poll_url": "https://bfl.ai.example/v1/get_result?id=1"},
            asked=(f"GET /v1/get_result?id={ID}",),
        ),
        Case(
            name="error", said=(says(200, result("Error", details={"error": "boom"})),), kind=WORD, status=Status.FAILED
        ),
        Case(
            name="request moderated",
            said=(says(200, result("Request Moderated", details={"Moderation Reasons": ["x"]})),),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(
            name="content moderated",
            said=(says(200, result("Content Moderated")),),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(name="not found", said=(says(200, result("Task not found")),), kind=ReportKind.GONE),
        Case(name="not found, 404", said=(says(404, result("Task not found")),), kind=ReportKind.GONE),
    ),
    cancels=(Case(name="there is no cancel", kind=ReportKind.REFUSED),),
    webhooks=(
        Case(
            name="ready",
            body={
                "id": ID,
                "status": "Ready",
                "result": {"sample": LINK, "seed": 1},
                "timestamp": "2027-01-15T08:00:00Z",
            },
            status=Status.SUCCEEDED,
            links=(LINK,),
        ),
        Case(
            name="moderated",
            body={
                "id": ID,
                "status": "Error",
                "error": "content_policy_violation",
                "message": "violated",
                "timestamp": "2027-01-15T08:00:00Z",
            },
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED, "message": "violated"},
        ),
    ),
)
