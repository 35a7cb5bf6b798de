"""S3: parts in constant memory, links that download, and errors in our own words."""

from __future__ import annotations

import base64
import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from moto import mock_aws

from mediajobs.adapters import aws
from mediajobs.adapters.s3 import PART_BYTES, S3Objects, client_config
from mediajobs.errors import ConfigurationError, MediaJobsError, Retryable, Throttled

BUCKET = "media-jobs-results"
CREDENTIALS = {"region_name": "eu-west-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client = aws.client("s3", config=client_config(), **CREDENTIALS)
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield client


class Recording:
    """A client that keeps calls, and answers uploads without storing anything; `refuse` maps a call to its error."""

    def __init__(self, refuse: dict[str, Exception] | None = None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._refuse = refuse or {}

    def __getattr__(self, name: str) -> Any:
        def call(**params: Any) -> dict[str, Any]:
            self.calls.append((name, {key: value for key, value in params.items() if key != "Body"}))
            if name in self._refuse:
                raise self._refuse[name]
            return {"UploadId": "u1", "ETag": f"e{len(self.calls)}"}

        return call

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def refusal(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "PutObject")


def test_small_object_is_one_put_with_its_checksum() -> None:
    """Nine of ten results are smaller than a part: one request each."""
    client = Recording()
    upload = S3Objects(client, BUCKET).upload("k", "image/png")  # type: ignore[arg-type]
    upload.write(b"abc")
    upload.write(b"def")
    upload.finish()
    ((name, params),) = client.calls
    assert name == "put_object"
    checksum = base64.b64encode(hashlib.sha256(b"abcdef").digest()).decode()
    assert params == {"Bucket": BUCKET, "Key": "k", "ContentType": "image/png", "ChecksumSHA256": checksum}


def test_large_object_goes_in_equal_parts_and_its_type_is_set_at_the_start() -> None:
    client = Recording()
    upload = S3Objects(client, BUCKET).upload("k", "video/mp4")  # type: ignore[arg-type]
    upload.write(bytes(PART_BYTES - 1))
    assert client.calls == []
    upload.write(bytes(PART_BYTES + 2))
    upload.finish()
    assert client.names() == ["create_multipart_upload", *["upload_part"] * 3, "complete_multipart_upload"]
    assert client.calls[0][1]["ContentType"] == "video/mp4"
    parts = client.calls[-1][1]["MultipartUpload"]["Parts"]
    assert [(part["PartNumber"], part["ETag"]) for part in parts] == [(1, "e2"), (2, "e3"), (3, "e4")]


def test_upload_of_64_mb_needs_memory_for_parts_only() -> None:
    """Each part is let go once it is sent."""
    upload = S3Objects(Recording(), BUCKET).upload("k", "video/mp4")  # type: ignore[arg-type]
    piece = bytes(1 << 18)
    tracemalloc.start()
    for _ in range(256):
        upload.write(piece)
    upload.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * PART_BYTES


def test_abort_ends_a_multipart_upload_and_hides_no_fault(s3: Any) -> None:
    """What stays behind where even that fails, the bucket's lifecycle rule removes."""
    upload = S3Objects(s3, BUCKET).upload("k", "video/mp4")
    upload.write(bytes(PART_BYTES))
    assert len(s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]) == 1
    upload.abort()
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=BUCKET)
    client = Recording({"abort_multipart_upload": refusal("InternalError", 500)})
    upload = S3Objects(client, BUCKET).upload("k", "video/mp4")  # type: ignore[arg-type]
    upload.abort()
    assert client.calls == []
    upload.write(bytes(PART_BYTES))
    upload.abort()
    assert client.names()[-1] == "abort_multipart_upload"


def test_link_downloads_the_object_under_type_and_name(s3: Any) -> None:
    """From the bucket's own host in its region, signed the present way."""
    objects = S3Objects(s3, BUCKET)
    upload = objects.upload("results/job/0", "video/mp4")
    upload.write(b"film")
    upload.finish()
    link = objects.link("results/job/0", seconds=120, content_type="video/mp4", name='f"ilm é;.mp4')
    parts = urlsplit(link)
    query = parse_qs(parts.query)
    assert parts.netloc == f"{BUCKET}.s3.eu-west-1.amazonaws.com"
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Expires"] == ["120"]
    assert query["response-content-disposition"] == [
        "attachment; filename=\"f_ilm __.mp4\"; filename*=UTF-8''f%22ilm%20%C3%A9%3B.mp4"
    ]
    answer = requests.get(link, timeout=5)
    assert (answer.content, answer.headers["content-type"]) == (b"film", "video/mp4")


def test_client_that_signs_links_the_old_way_is_refused() -> None:
    """boto3's default, which works in tests and fails in newer regions."""
    client = aws.client("s3", config=Config(signature_version="s3"), **CREDENTIALS)
    for wrong in (client, aws.client("s3", **CREDENTIALS)):
        with pytest.raises(ConfigurationError, match="client_config"):
            S3Objects(wrong, BUCKET).link("k", seconds=60, content_type="image/png", name="k.png")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (refusal("SlowDown", 503), Throttled),
        (refusal("ThrottlingException"), Throttled),
        (refusal("InternalError", 500), Retryable),
        (refusal("Whatever", 502), Retryable),
        (EndpointConnectionError(endpoint_url="https://s3"), Retryable),
        (ReadTimeoutError(endpoint_url="https://s3"), Retryable),
        (refusal("AccessDenied", 403), ConfigurationError),
        (refusal("NoSuchBucket", 404), ConfigurationError),
        (refusal("EntityTooLarge"), MediaJobsError),
    ],
)
def test_errors_of_the_sdk_become_ours_at_every_call(fault: Exception, expected: type[Exception]) -> None:
    calls = ("put_object", "create_multipart_upload", "upload_part", "complete_multipart_upload", "delete_objects")
    for call in calls:
        objects = S3Objects(Recording({call: fault}), BUCKET)  # type: ignore[arg-type]
        with pytest.raises(expected):
            _use(objects, 3 if call == "put_object" else PART_BYTES + 1)


def _use(objects: S3Objects, size: int) -> None:
    upload = objects.upload("k", "video/mp4")
    upload.write(bytes(size))
    upload.finish()
    objects.delete(["k"])


def test_object_that_s3_would_not_delete_is_reported() -> None:
    class Keeping:
        def delete_objects(self, **_: Any) -> dict[str, Any]:
            return {"Errors": [{"Key": "a", "Code": "InternalError"}]}

    with pytest.raises(Retryable):
        S3Objects(Keeping(), BUCKET).delete(["a", "b"])  # type: ignore[arg-type]


def test_copy_names_what_was_looked_at() -> None:
    """By its ETag; type and tags are ours to say."""
    client = Recording()
    S3Objects(client, BUCKET).copy("uploads/a", "inputs/a", etag='"e"', content_type="image/png")  # type: ignore[arg-type]
    assert client.calls == [
        (
            "copy_object",
            {
                "Bucket": BUCKET,
                "Key": "inputs/a",
                "CopySource": {"Bucket": BUCKET, "Key": "uploads/a"},
                "CopySourceIfMatch": '"e"',
                "MetadataDirective": "REPLACE",
                "ContentType": "image/png",
                "TaggingDirective": "REPLACE",
            },
        )
    ]


@pytest.mark.parametrize("code", ["NoSuchKey", "AccessDenied", "InvalidRange"])
def test_what_is_not_there_is_none_however_s3_says_so(code: str) -> None:
    """Without the right to list, S3 calls a missing object denied."""
    objects = S3Objects(Recording({"get_object": refusal(code)}), BUCKET)  # type: ignore[arg-type]
    assert objects.peek("uploads/a", 10) is None


@pytest.mark.parametrize(("code", "expected"), [("SlowDown", Throttled), ("InternalError", Retryable)])
def test_a_bucket_that_does_not_answer_is_no_missing_upload(code: str, expected: type[Exception]) -> None:
    objects = S3Objects(Recording({"get_object": refusal(code), "copy_object": refusal(code)}), BUCKET)  # type: ignore[arg-type]
    with pytest.raises(expected):
        objects.peek("uploads/a", 10)
    with pytest.raises(expected):
        objects.copy("uploads/a", "inputs/a", etag="e", content_type="image/png")


@pytest.mark.parametrize(
    "faults",
    [
        {"copy_object": refusal("NoSuchKey", 404)},
        {"copy_object": refusal("AccessDenied", 403), "get_object": refusal("AccessDenied", 403)},
    ],
)
def test_a_source_that_went_is_no_copy_however_s3_says_so(faults: dict[str, Exception]) -> None:
    objects = S3Objects(Recording(faults), BUCKET)  # type: ignore[arg-type]
    assert not objects.copy("uploads/a", "inputs/a", etag="e", content_type="image/png")


def test_a_copy_that_our_role_may_not_write_is_a_fault_of_the_set_up(s3: Any) -> None:
    """The source is still there to be read."""
    s3.put_object(Bucket=BUCKET, Key="uploads/a", Body=b"12345")

    class Denied:
        get_object = s3.get_object

        def copy_object(self, **_: Any) -> None:
            raise refusal("AccessDenied", 403)

    with pytest.raises(ConfigurationError):
        S3Objects(Denied(), BUCKET).copy("uploads/a", "inputs/a", etag="e", content_type="image/png")  # type: ignore[arg-type]


def test_form_says_key_type_and_size_in_what_is_signed(s3: Any) -> None:
    """What a client changes in its fields is not what the policy says."""
    url, fields = S3Objects(s3, BUCKET).form("uploads/a", content_type="image/png", most_bytes=10, seconds=60)
    assert urlsplit(url).netloc == f"{BUCKET}.s3.eu-west-1.amazonaws.com"
    policy = json.loads(base64.b64decode(fields["policy"]))
    assert {"key": "uploads/a"} in policy["conditions"]
    assert {"Content-Type": "image/png"} in policy["conditions"]
    assert ["content-length-range", 1, 10] in policy["conditions"]
    assert fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256"


class Listing:
    """A client whose upload has these parts, told in pages of two."""

    def __init__(self, *sizes: int, fault: Exception | None = None) -> None:
        self.sizes, self.fault, self.completed = sizes, fault, []  # type: ignore[var-annotated]

    def list_parts(self, *, PartNumberMarker: int, **_: Any) -> dict[str, Any]:  # noqa: N803 as S3 calls it
        if self.fault is not None:
            raise self.fault
        page = range(PartNumberMarker, min(PartNumberMarker + 2, len(self.sizes)))
        parts = [{"PartNumber": n + 1, "ETag": f"e{n + 1}", "Size": self.sizes[n], "ChecksumSHA256": "s"} for n in page]
        more = PartNumberMarker + 2 < len(self.sizes)
        return {"Parts": parts, "IsTruncated": more, "NextPartNumberMarker": PartNumberMarker + 2}

    def upload_part(self, **params: Any) -> dict[str, Any]:
        return {"ETag": f"new{params['PartNumber']}"}

    def complete_multipart_upload(self, **params: Any) -> None:
        self.completed = [(part["PartNumber"], part["ETag"]) for part in params["MultipartUpload"]["Parts"]]


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((), 0), ((PART_BYTES,) * 5, 5), ((PART_BYTES, 5, PART_BYTES), 1), ((PART_BYTES, PART_BYTES, 9), 2)],
)
def test_resumed_upload_takes_up_whole_parts_in_order_from_every_page(sizes: tuple[int, ...], kept: int) -> None:
    """From the first one that is not whole on they are sent again."""
    client = Listing(*sizes)
    upload = S3Objects(client, BUCKET).resume("k", "u1")  # type: ignore[arg-type]
    assert upload is not None
    assert upload.kept == kept * PART_BYTES
    upload.write(b"end")
    upload.finish()
    known = [(number, f"e{number}") for number in range(1, kept + 1)]
    assert client.completed == [*known, (kept + 1, f"new{kept + 1}")]


def test_upload_that_is_gone_is_none_and_every_other_fault_is_ours() -> None:
    assert S3Objects(Listing(fault=refusal("NoSuchUpload", 404)), BUCKET).resume("k", "u1") is None  # type: ignore[arg-type]
    for fault, expected in (
        (refusal("InternalError", 500), Retryable),
        (refusal("AccessDenied", 403), ConfigurationError),
    ):
        with pytest.raises(expected):
            S3Objects(Listing(fault=fault), BUCKET).resume("k", "u1")  # type: ignore[arg-type]


def test_object_that_is_read_and_is_not_there_is_an_error_of_ours(s3: Any) -> None:
    with pytest.raises(MediaJobsError):
        list(S3Objects(s3, BUCKET).read("none"))
