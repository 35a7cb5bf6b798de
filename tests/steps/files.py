"""Files in, as a caller posts and names them and a provider reads them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mediajobs.jobs.model import Job
from mediajobs.messages import Caller
from mediajobs.steps import jobs
from mediajobs.steps.submit import Submission, offer_upload, submit
from mediajobs.uploads import Form
from tests import samples
from tests.fakes.objects import StoredObject
from tests.steps.kit import ACME, Stage

PICTURE = samples.png()
HOUR = 3600
DAY = 24 * HOUR


def offered(stage: Stage, caller: Caller = ACME, content_type: str = "image/png") -> Form:
    return offer_upload(stage.world, caller, content_type)


def posted(stage: Stage, body: bytes = PICTURE, caller: Caller = ACME, content_type: str = "image/png") -> str:
    """A file by its form; its name."""
    form = offered(stage, caller, content_type)
    stage.objects.stored[form.fields["key"]] = StoredObject(body, content_type)
    return form.upload.name


def command(*names: str, **fields: object) -> Submission:
    given = {"prompt": "a red bicycle", "frames": [{"url": f"upload:{name}"} for name in names], **fields}
    body = json.dumps({"input": given, "metadata": {}}, separators=(",", ":")).encode()
    return Submission(provider="sim", model="video-1", body=body, digest=hashlib.sha256(body).digest())


def submitted(stage: Stage, *names: str, caller: Caller = ACME, key: str = "first") -> Job:
    return submit(stage.world, caller, key, command(*names))[0]


def given_urls(stage: Stage, attempt: int = -1) -> list[str]:
    """What the provider was told to read."""
    document: dict[str, Any] = json.loads(stage.sim.submits[attempt].body)
    return [frame["url"] for frame in document["input"]["frames"]]


def parts(url: str) -> tuple[str, str, str]:
    """Job, token and name of an input's URL."""
    base, _, name = url.rpartition("/")
    job_id, _, token = base.rpartition("/")[2].partition(".")
    return job_id, token, name


def read(stage: Stage, url: str) -> jobs.Served:
    return jobs.input_file(stage.world, *parts(url))
