"""Files in under the very rights that the template gives: an emulator that asks for them, and for signatures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from mediajobs.adapters import aws as sdk
from mediajobs.adapters.s3 import S3Objects, client_config
from tests.contract import emulator
from tests.contract.aws import CREDENTIALS
from tests.template.reading import load, statements, text

pytestmark = pytest.mark.emulator
BUCKET = "media-jobs-rights"
UPLOADED, COPY = "uploads/acme/a.png", "inputs/job/row/a.png"


@dataclass
class Functions:
    """The bucket as each of the two sees it."""

    submit: S3Objects
    jobs: S3Objects


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Functions]:
    with emulator.running(tmp_path_factory.mktemp("rights"), AUTH="true") as endpoint:
        root: dict[str, Any] = {"endpoint_url": endpoint, **CREDENTIALS}
        sdk.client("s3", **root).create_bucket(Bucket=BUCKET)
        yield Functions(_as("SubmitRole", root), _as("JobsRole", root))


def _as(role: str, root: dict[str, Any]) -> S3Objects:
    """The adapter with the credentials of a session of that role; of its policy what is about S3."""
    iam, sts = sdk.client("iam", **root), sdk.client("sts", **root)
    anybody = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=_policy([anybody]))
    iam.put_role_policy(RoleName=role, PolicyName="s3", PolicyDocument=_policy(_about_s3(role)))
    session = sts.assume_role(RoleArn=f"arn:aws:iam::000000000000:role/{role}", RoleSessionName="session")
    given = session["Credentials"]
    own = {"aws_access_key_id": given["AccessKeyId"], "aws_secret_access_key": given["SecretAccessKey"]}
    client = sdk.client("s3", config=client_config(), aws_session_token=given["SessionToken"], **root | own)
    return S3Objects(client, BUCKET)


def _about_s3(role: str) -> list[dict[str, Any]]:
    return [
        {
            "Effect": "Allow",
            "Action": each["Action"],
            "Resource": [text(one).replace("${Bucket.Arn}", f"arn:aws:s3:::{BUCKET}") for one in each["Resource"]],
        }
        for each in statements(load(), role)
        if all(action.startswith("s3:") for action in each["Action"])
    ]


def _policy(given: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": given})


def _post(objects: S3Objects, key: str, /, *, seconds: int = 60, **changed: str) -> int:
    url, fields = objects.form(key, content_type="image/png", most_bytes=10, seconds=seconds)
    return requests.post(url, data=fields | changed, files={"file": ("a.png", b"12345")}, timeout=10).status_code


@pytest.fixture(scope="module")
def handed_in(functions: Functions) -> Functions:
    """A file was posted, looked at and copied, all of it as submit."""
    assert _post(functions.submit, UPLOADED) == 204
    seen = functions.submit.peek(UPLOADED, 3)
    assert seen is not None
    functions.submit.copy(UPLOADED, COPY, etag=seen.etag, content_type="image/png")
    return functions


def test_jobs_serves_the_copy_and_nothing_that_was_merely_uploaded(handed_in: Functions) -> None:
    """As bytes and by a link; a link to the upload opens nothing."""
    found = handed_in.jobs.peek(COPY, 10)
    assert found is not None
    assert found.body == b"12345"
    for key, status in ((COPY, 200), (UPLOADED, 403)):
        link = handed_in.jobs.link(key, seconds=60, content_type="image/png", name="a.png")
        assert requests.get(link, timeout=10).status_code == status


def test_what_is_not_there_is_none_without_the_right_to_list(handed_in: Functions) -> None:
    assert handed_in.submit.peek("uploads/acme/none.png", 10) is None
    assert handed_in.jobs.peek("inputs/job/row/none.png", 10) is None


def test_submit_cannot_read_or_spread_what_was_copied(handed_in: Functions) -> None:
    """It makes a job's copy once; from then on only jobs reads it."""
    seen = handed_in.jobs.peek(COPY, 10)
    assert seen is not None
    assert handed_in.submit.peek(COPY, 10) is None
    other = "inputs/other/row/a.png"
    assert not handed_in.submit.copy(COPY, other, etag=seen.etag, content_type="image/png")
    assert handed_in.jobs.peek(other, 10) is None


def test_form_ends_and_cannot_be_forged(functions: Functions) -> None:
    """Spoiled, over, for another place than it was signed for, or signed by one who may not put: 403."""
    assert _post(functions.submit, "uploads/acme/b.png", **{"x-amz-signature": "0" * 64}) == 403
    assert _post(functions.submit, "uploads/acme/b.png", seconds=-5) == 403
    assert _post(functions.submit, "uploads/acme/b.png", key="results/b.png") == 403
    assert _post(functions.jobs, "uploads/acme/b.png") == 403
    assert functions.submit.peek("uploads/acme/b.png", 1) is None
