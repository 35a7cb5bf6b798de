"""S3: results written in parts as they arrive, and short links to read them."""

from __future__ import annotations

import base64
import hashlib
import io
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters import aws
from mediajobs.errors import ConfigurationError, MediaJobsError, Retryable
from mediajobs.messages import Peeked

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 8 * 1024 * 1024
READ_BYTES = 256 * 1024
_READ_S = 30


def client_config() -> Config:
    """How the client is made: `aws.client("s3", config=s3.client_config())`.

    boto3 by default signs links the old way, which newer regions refuse, and sends them to the global endpoint, which
    answers with a redirect until a new bucket is known everywhere.
    """
    own = Config(
        signature_version="s3v4",
        s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
    )
    return aws.config(read_s=_READ_S).merge(own)


class S3Upload:
    """Implements `ports.Upload` with one buffer of one part: boto3's own uploader keeps fifteen."""

    def __init__(self, client: S3Client, bucket: str, key: str, content_type: str) -> None:
        self._client = client
        self._bucket = bucket
        self._key = key
        self._content_type = content_type
        self._buffer = io.BytesIO()  # sent as it is: a copy would double what each download holds
        self._upload_id: str | None = None
        self._parts: list[CompletedPartTypeDef] = []

    @property
    def id(self) -> str | None:
        return self._upload_id if self._parts else None

    @property
    def kept(self) -> int:
        return len(self._parts) * PART_BYTES

    def go_on(self, upload_id: str) -> bool:
        """Takes up the whole parts that this upload has, in order; False where there is no such upload."""
        self._upload_id, number = upload_id, 0
        while True:
            try:
                answer = self._client.list_parts(
                    Bucket=self._bucket, Key=self._key, UploadId=upload_id, PartNumberMarker=number
                )
            except (ClientError, BotoCoreError) as error:
                if isinstance(error, ClientError) and error.response["Error"]["Code"] == "NoSuchUpload":
                    return False
                raise aws.translated(error, "s3.list_parts") from error
            for part in answer.get("Parts", []):
                if (part["PartNumber"], part["Size"]) != (len(self._parts) + 1, PART_BYTES):
                    return True  # from here on it is sent again; a part of the same number is replaced
                known: CompletedPartTypeDef = {"PartNumber": part["PartNumber"], "ETag": part["ETag"]}
                if "ChecksumSHA256" in part:
                    known["ChecksumSHA256"] = part["ChecksumSHA256"]
                self._parts.append(known)
            if not answer.get("IsTruncated"):
                return True
            number = answer["NextPartNumberMarker"]

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            room = PART_BYTES - self._buffer.tell()
            self._buffer.write(view[:room])
            view = view[room:]
            if self._buffer.tell() == PART_BYTES:
                self._send_part()

    def finish(self) -> None:
        if self._upload_id is None:
            self._put()
            return
        if self._buffer.tell():
            self._send_part()
        with _translated("s3.complete_multipart_upload"):
            self._client.complete_multipart_upload(
                Bucket=self._bucket,
                Key=self._key,
                UploadId=self._upload_id,
                MultipartUpload={"Parts": self._parts},
            )

    def abort(self) -> None:
        self._buffer = io.BytesIO()
        if self._upload_id is not None:
            # It hides no fault that led here; the bucket's lifecycle rule removes what stays.
            with suppress(MediaJobsError), _translated("s3.abort_multipart_upload"):
                self._client.abort_multipart_upload(Bucket=self._bucket, Key=self._key, UploadId=self._upload_id)

    def _put(self) -> None:
        checksum = self._rewound()
        with _translated("s3.put_object"):
            self._client.put_object(
                Bucket=self._bucket,
                Key=self._key,
                Body=self._buffer,
                ContentType=self._content_type,
                ChecksumSHA256=checksum,
            )

    def _send_part(self) -> None:
        with _translated("s3.upload_part"):
            if self._upload_id is None:
                self._upload_id = self._client.create_multipart_upload(
                    Bucket=self._bucket, Key=self._key, ContentType=self._content_type, ChecksumAlgorithm="SHA256"
                )["UploadId"]
            number, checksum = len(self._parts) + 1, self._rewound()
            sent = self._client.upload_part(
                Bucket=self._bucket,
                Key=self._key,
                UploadId=self._upload_id,
                PartNumber=number,
                Body=self._buffer,
                ChecksumSHA256=checksum,
            )
        self._parts.append({"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum})
        self._buffer = io.BytesIO()

    def _rewound(self) -> str:
        """The checksum of what is to be sent, which is read from its start then."""
        self._buffer.seek(0)
        with self._buffer.getbuffer() as data:
            return base64.b64encode(hashlib.sha256(data).digest()).decode()


class S3Objects:
    """Implements `ports.Objects` over one bucket. The client is made with `client_config()`."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def upload(self, key: str, content_type: str) -> S3Upload:
        return S3Upload(self._client, self._bucket, key, content_type)

    def resume(self, key: str, upload_id: str) -> S3Upload | None:
        upload = S3Upload(self._client, self._bucket, key, "")
        return upload if upload.go_on(upload_id) else None

    def read(self, key: str) -> Iterator[bytes]:
        with _translated("s3.get_object"):
            body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        with body, _translated("s3.get_object"):
            yield from body.iter_chunks(READ_BYTES)

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        with _translated("s3.generate_presigned_url"):
            url = self._client.generate_presigned_url(
                "get_object",
                Params={
                    "Bucket": self._bucket,
                    "Key": key,
                    "ResponseContentType": content_type,
                    "ResponseContentDisposition": _download(name),
                },
                ExpiresIn=seconds,
            )
        if "X-Amz-Signature=" not in url:
            raise ConfigurationError("The S3 client must sign links with s3v4: make it with s3.client_config().")
        return url

    def delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), 1000):
            some = keys[start : start + 1000]
            with _translated("s3.delete_objects"):
                answer = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": [{"Key": key} for key in some], "Quiet": True}
                )
            if answer.get("Errors"):
                raise Retryable(f"S3 kept {len(answer['Errors'])} of {len(some)} objects to delete")

    def form(self, key: str, *, content_type: str, most_bytes: int, seconds: int) -> tuple[str, dict[str, str]]:
        with _translated("s3.generate_presigned_post"):
            made = self._client.generate_presigned_post(
                self._bucket,
                key,
                Fields={"Content-Type": content_type},
                Conditions=[{"Content-Type": content_type}, ["content-length-range", 1, most_bytes]],
                ExpiresIn=seconds,
            )
        return made["url"], dict(made["fields"])

    def peek(self, key: str, most: int) -> Peeked | None:
        with _translated("s3.get_object"):
            try:
                found = self._client.get_object(Bucket=self._bucket, Key=key, Range=f"bytes=0-{most - 1}")
            except ClientError as error:
                # Who may not list a bucket is told "denied" of what is not there; no role of ours needs to list.
                # An empty object has no range at all, and is no file.
                if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "AccessDenied", "InvalidRange"):
                    return None
                raise
            with found["Body"] as body:
                first = body.read()
        return Peeked(size=int(found["ContentRange"].rpartition("/")[2]), etag=found["ETag"], body=first)

    def copy(self, source: str, key: str, *, etag: str, content_type: str) -> bool:
        with _translated("s3.copy_object"):
            try:
                self._client.copy_object(
                    Bucket=self._bucket,
                    Key=key,
                    CopySource={"Bucket": self._bucket, "Key": source},
                    CopySourceIfMatch=etag,
                    MetadataDirective="REPLACE",
                    ContentType=content_type,
                    TaggingDirective="REPLACE",
                )
            except ClientError as error:
                code = error.response.get("Error", {}).get("Code")
                if code == "PreconditionFailed":
                    raise Retryable(f"{source} has changed since it was looked at") from error
                # "Denied" may be said of the source that is not there, or of the place where the copy is to stand.
                if code == "NoSuchKey" or (code == "AccessDenied" and self.peek(source, 1) is None):
                    return False
                raise
        return True


def _download(name: str) -> str:
    """The header that makes a browser save the file under this name, whatever characters it has."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._- ") else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{urllib.parse.quote(name, safe='')}"


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Nothing above this module sees an error of the SDK."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise aws.translated(error, what) from error
