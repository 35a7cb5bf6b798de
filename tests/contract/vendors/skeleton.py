"""An adapter to copy: a vendor's configuration, the module for what it cannot say, and its published wire.

For a vendor of your own: the configuration goes to `shared/mediajobs/adapters/providers/presets/<vendor>.toml`, the
class to `<vendor>.py` beside it, one line to `registry.CLASSES` and one to `config.Adapter`; the wire stays here.
"""

from __future__ import annotations

from dataclasses import replace

from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Report, ReportKind
from mediajobs.signatures import TimestampedForm, sign_timestamped
from tests.contract.vendors.shape import Case, Vendor, says

# 1. The configuration: what a table can say. Leave out a table that claims what the vendor does not document.
TABLES = """
[providers.skeleton]
adapter = "generic"
base_url = "https://api.skeleton.example"
[providers.skeleton.submit]
path = "/v1/renders"
model_field = "model"
webhook_field = "callback"
[providers.skeleton.poll]
path = "/v1/renders/{id}"
[providers.skeleton.cancel]
path = "/v1/renders/{id}/cancel"
[providers.skeleton.read]
outputs = "files"
error_code = "reason"
error_message = "text"
[providers.skeleton.webhook]
strategy = "timestamped-hex"
header = "Skeleton-Signature"
[providers.skeleton.statuses]
waiting = "running"
rendering = "running"
done = "succeeded"
broken = "failed"
[providers.skeleton.answers]
moderated_codes = ["unsafe"]
[providers.skeleton.models]
render-1 = { kind = "video" }
"""


# 2. The class: only what no configuration says. Here "done" without files is not done, says the vendor.
class SkeletonAdapter(GenericAdapter):
    """Implements `ports.ProviderAdapter`."""

    def report(self, document: object) -> Report:
        report = super().report(document)
        return replace(report, confirm=report.status is Status.SUCCEEDED and not report.links)


# 3. The wire: each status, error and event that the vendor documents, and what it must come to.
ID, LINK, SECRET = "r-1", "https://files.skeleton.example/r-1.mp4", "SuperSecret123"
FORM = TimestampedForm(header="Skeleton-Signature")


def sign(body: bytes, now_s: int) -> dict[str, str]:
    return {"Skeleton-Signature": sign_timestamped(SECRET, now_s, body, FORM)}


SKELETON = Vendor(
    name="skeleton",
    adapter=SkeletonAdapter,
    tables=TABLES,
    model="render-1",
    job_id=ID,
    webhook_secrets=(SECRET,),
    sign=sign,
    submits=(
        Case(name="accepted", said=(says(202, {"id": ID, "status": "waiting"}),), kind=AnswerKind.ACCEPTED),
        Case(
            name="unsafe",
            said=(says(422, {"reason": "unsafe", "text": "no"}),),
            kind=AnswerKind.REJECTED,
            expect={"code": ErrorCode.CONTENT_MODERATED},
        ),
        Case(name="account", said=(says(402, {"text": "pay"}),), kind=AnswerKind.BLOCKED),
        Case(name="rate", said=(says(429, {}),), kind=AnswerKind.NOT_ACCEPTED),
        Case(name="outage", said=(says(503, {}),), kind=AnswerKind.AMBIGUOUS),
    ),
    polls=(
        Case(
            name="rendering",
            said=(says(200, {"id": ID, "status": "rendering"}),),
            kind=ReportKind.WORD,
            status=Status.RUNNING,
        ),
        Case(
            name="done",
            said=(says(200, {"id": ID, "status": "done", "files": [LINK]}),),
            kind=ReportKind.WORD,
            status=Status.SUCCEEDED,
            links=(LINK,),
        ),
        Case(
            name="broken",
            said=(says(200, {"id": ID, "status": "broken"}),),
            kind=ReportKind.WORD,
            status=Status.FAILED,
        ),
        Case(name="unknown", said=(says(404, {}),), kind=ReportKind.GONE),
    ),
    cancels=(Case(name="asked", said=(says(202, {}),), kind=ReportKind.WORD, status=Status.UNKNOWN),),
    webhooks=(
        Case(
            name="done",
            body={"id": ID, "status": "done", "files": [LINK]},
            status=Status.SUCCEEDED,
            links=(LINK,),
            expect={"confirm": False},
        ),
        Case(
            name="done, no files",
            body={"id": ID, "status": "done"},
            status=Status.SUCCEEDED,
            expect={"confirm": True},
        ),
    ),
)
