"""fal.ai: the queue, its results and its webhooks. Sources: docs.fal.ai (queue, webhooks, errors), its client."""

from __future__ import annotations

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import ReportKind, Response
from tests.contract.vendors.shape import Case, Vendor, says

ID = "024ca5b1-45d3-4afd-883e-ad3abe2a1c4d"
JWKS_URL = "https://rest.fal.ai/.well-known/jwks.json"
QUEUE = "https://queue.fal.run/fal-ai/flux/requests"
IMAGE = {"url": "https://v3.fal.media/files/a/b.png", "content_type": "image/png", "file_size": 9, "width": 1}
LINK = IMAGE["url"]

# The key of RFC 8032's first test vector: nobody's secret.
KEY = Ed25519PrivateKey.from_private_bytes(
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
)
PUBLIC = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def jwks(*keys: bytes, padded: bool = False) -> Response:
    """A key set as fal publishes it; the live one has been seen with padding."""
    texts = [base64.urlsafe_b64encode(key).decode() for key in keys]
    shown = texts if padded else [text.rstrip("=") for text in texts]
    return says(
        200, {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": text, "kid": str(n)} for n, text in enumerate(shown)]}
    )


def sign(body: bytes, now_s: int, key: Ed25519PrivateKey = KEY, request_id: str = ID) -> dict[str, str]:
    message = "\n".join([request_id, "user-1", str(now_s), hashlib.sha256(body).hexdigest()])
    return {
        "X-Fal-Webhook-Request-Id": request_id,
        "X-Fal-Webhook-User-Id": "user-1",
        "X-Fal-Webhook-Timestamp": str(now_s),
        "X-Fal-Webhook-Signature": key.sign(message.encode()).hex(),
    }


def queued(**more: object) -> dict[str, object]:
    urls = {"status_url": f"{QUEUE}/{ID}/status", "response_url": f"{QUEUE}/{ID}", "cancel_url": f"{QUEUE}/{ID}/cancel"}
    return {"request_id": ID, "gateway_request_id": ID, "status": "IN_QUEUE", "queue_position": 0, **urls, **more}


def event(**more: object) -> dict[str, object]:
    return {"request_id": ID, "gateway_request_id": ID, "status": "OK", **more}


DETAIL = {"detail": [{"loc": ["body", "prompt"], "msg": "refused", "type": "content_policy_violation"}]}
INVALID = {"detail": [{"loc": ["body", "prompt"], "msg": "field required", "type": "value_error.missing"}]}
LOST = {"detail": "the runner went away", "error_type": "runner_disconnected"}
A, N, B = AnswerKind.ACCEPTED, AnswerKind.NOT_ACCEPTED, AnswerKind.BLOCKED
WORD = ReportKind.WORD
DONE = says(200, {"status": "COMPLETED", "logs": None, "metrics": {"inference_time": 1.5}})
ASKED = (f"GET /fal-ai/flux/requests/{ID}/status", f"GET /fal-ai/flux/requests/{ID}")

FAL = Vendor(
    name="fal",
    tables="""
[providers.fal]
adapter = "fal"
[providers.fal.models]
"fal-ai/flux/dev" = { kind = "image", input_required = ["prompt"] }
""",
    model="fal-ai/flux/dev",
    job_id=ID,
    published={JWKS_URL: jwks(PUBLIC)},
    hosts=("queue.falrun.com",),
    sign=sign,
    submits=(
        Case(name="queued", said=(says(200, queued()),), kind=A, expect={"provider_job_id": ID, "poll_url": None}),
        Case(
            name="another status address is kept",
            said=(says(200, queued(status_url=f"https://queue.falrun.com/fal-ai/other/requests/{ID}/status")),),
            kind=A,
            expect={"poll_url": f"https://queue.falrun.com/fal-ai/other/requests/{ID}/status"},
        ),
        Case(name="invalid", said=(says(422, INVALID),), kind=AnswerKind.REJECTED, expect={"code": ErrorCode.REJECTED}),
        Case(
            name="moderated",
            said=(says(422, DETAIL),),
            kind=AnswerKind.REJECTED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(name="no such app", said=(says(404, {"detail": "Application not found"}),), kind=AnswerKind.REJECTED),
        Case(name="locked account", said=(says(403, {"detail": "User is locked"}),), kind=B),
        Case(name="too many", said=(says(429, {"detail": "slow down"}, retry_after="7"),), kind=N),
        Case(name="ingress", said=(says(503, raw=b"<html>"),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(name="in queue", said=(says(202, queued()),), kind=WORD, status=Status.RUNNING, asked=ASKED[:1]),
        Case(
            name="in progress",
            said=(says(202, {"status": "IN_PROGRESS", "logs": []}),),
            kind=WORD,
            status=Status.RUNNING,
        ),
        Case(
            name="completed and there",
            said=(DONE, says(200, {"images": [IMAGE], "seed": 1, "prompt": "x"})),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
            asked=ASKED,
        ),
        Case(
            name="completed: one video",
            said=(DONE, says(200, {"video": {"url": "https://v3b.fal.media/files/v.mp4"}})),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=("https://v3b.fal.media/files/v.mp4",),
        ),
        Case(
            name="completed with an error",
            said=(says(200, {"status": "COMPLETED", "error": "it broke", "error_type": "internal_error"}),),
            kind=WORD,
            status=Status.FAILED,
            expect={"message": "it broke", "code": ErrorCode.PROVIDER_ERROR},
        ),
        Case(
            name="completed after a cancel",
            said=(says(200, {"status": "COMPLETED", "error": "cancelled", "error_type": "client_cancelled"}),),
            kind=WORD,
            status=Status.CANCELED,
        ),
        Case(
            name="the result is the model's refusal",
            said=(DONE, says(422, DETAIL)),
            kind=WORD,
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
            links=(),
        ),
        Case(name="the result is a lost runner", said=(DONE, says(503, LOST)), kind=WORD, status=Status.FAILED),
        Case(
            name="the result is an error named by header",
            said=(DONE, says(504, raw=b"timeout", x_fal_error_type="request_timeout")),
            kind=WORD,
            status=Status.FAILED,
        ),
        Case(
            name="the result is a model's own error",
            said=(DONE, says(500, {"detail": [{"loc": ["body"], "msg": "it broke", "type": "internal_server_error"}]})),
            kind=WORD,
            status=Status.FAILED,
            expect={"message": "HTTP 500: it broke"},
        ),
        Case(
            name="an error by a name that nobody knows is no end",
            said=(DONE, says(503, {"detail": "later", "error_type": "queue_unavailable"})),
            kind=ReportKind.UNAVAILABLE,
        ),
        Case(
            name="the same by header",
            said=(DONE, says(422, raw=b"", x_fal_error_type="queue_unavailable")),
            kind=ReportKind.UNAVAILABLE,
        ),
        Case(
            name="a limit of ours is no end",
            said=(DONE, says(429, {"detail": "slow down", "error_type": "bad_request"}, retry_after="7")),
            kind=ReportKind.UNAVAILABLE,
            expect={"retry_after_s": 7},
        ),
        Case(
            name="the result is asked for too early",
            said=(DONE, says(400, {"detail": "Request is still in progress"})),
            kind=ReportKind.UNAVAILABLE,
        ),
        *(
            Case(
                name=f"{word}, a word of webhooks, says nothing here",
                said=(says(200, {"status": word, "error": "x"}),),
                kind=WORD,
                status=Status.UNKNOWN,
                links=(),
            )
            for word in ("OK", "ERROR")
        ),
        Case(name="the result's own failure", said=(DONE, says(502, raw=b"<html>")), kind=ReportKind.UNAVAILABLE),
        Case(name="the result is garbage", said=(DONE, says(200, raw=b"{")), kind=ReportKind.UNAVAILABLE),
        Case(name="the result is refused to us", said=(DONE, says(403, LOST)), kind=ReportKind.BLOCKED),
        Case(
            name="the result is gone",
            said=(DONE, says(404, {"detail": "gone"})),
            kind=WORD,
            status=Status.SUCCEEDED,
            links=(),
        ),
        Case(
            name="asked at its own address",
            said=(DONE, says(200, {"images": [IMAGE]})),
            kind=WORD,
            status=Status.SUCCEEDED,
            job={"poll_url": f"https://queue.falrun.com/fal-ai/other/requests/{ID}/status"},
            asked=(f"GET /fal-ai/other/requests/{ID}/status", f"GET /fal-ai/other/requests/{ID}"),
        ),
        Case(
            name="an address of somebody else is not asked",
            said=(says(202, queued()),),
            kind=WORD,
            job={"poll_url": "https://fal.example/fal-ai/flux/requests/1/status"},
            asked=ASKED[:1],
        ),
        Case(name="unknown id", said=(says(404, {"status": "NOT_FOUND"}),), kind=ReportKind.GONE),
    ),
    cancels=(
        Case(
            name="asked",
            said=(says(202, {"status": "CANCELLATION_REQUESTED"}),),
            kind=WORD,
            status=Status.UNKNOWN,
            asked=(f"PUT /fal-ai/flux/requests/{ID}/cancel",),
        ),
        Case(
            name="removed from the queue: it never runs",
            said=(says(200, {"status": "OK"}),),
            kind=WORD,
            status=Status.CANCELED,
            links=(),
            expect={"provider_job_id": ID},
        ),
        Case(name="done already", said=(says(400, {"status": "ALREADY_COMPLETED"}),), kind=ReportKind.REFUSED),
        Case(name="unknown", said=(says(404, {"status": "NOT_FOUND"}),), kind=ReportKind.GONE),
    ),
    webhooks=(
        Case(
            name="done",
            body=event(payload={"images": [IMAGE]}),
            status=Status.SUCCEEDED,
            links=(LINK,),
            expect={"confirm": False},
        ),
        Case(
            name="done, and the payload is missing",
            body=event(payload=None, payload_error="Response payload is not JSON serializable"),
            status=Status.SUCCEEDED,
            expect={"confirm": True},
        ),
        Case(
            name="failed",
            body=event(status="ERROR", error="Invalid status code: 422", payload=DETAIL),
            status=Status.FAILED,
            expect={"code": ErrorCode.CONTENT_MODERATED, "message": "Invalid status code: 422"},
        ),
        Case(name="failed, no payload", body=event(status="ERROR", error="boom", payload=None), status=Status.FAILED),
    ),
)
