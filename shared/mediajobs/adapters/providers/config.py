"""The providers' configuration, `shared/providers.toml`, as typed tables.

Each field's description says what it is and what to write: errors quote it (`loading.py`), and the table in
docs/providers.md is compared with it by a test. What one field cannot know of another is in `checks.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mediajobs.adapters.providers.fields import (
    Bytes,
    ExactHost,
    Expression,
    HeaderName,
    HeaderValue,
    Host,
    HttpStatus,
    Kind,
    Name,
    Seconds,
    Table,
    Text,
    UrlPath,
    Word,
)
from mediajobs.adapters.providers.inputs_config import Inputs
from mediajobs.adapters.providers.webhook_config import Webhook

Adapter = Literal["generic", "fal", "replicate", "runway", "bfl", "kling", "heygen"]


class Auth(Table):
    """Where the API key goes."""

    header: HeaderName = Field(
        default="Authorization", description='the header that carries the API key, for example "Authorization"'
    )
    prefix: Annotated[str, StringConstraints(pattern=r"^[!-~]* ?$", max_length=40)] = Field(
        default="Bearer",
        description='the word before the key and a space, for example "Bearer", or "" for the key alone',
    )


class Submit(Table):
    """How a job is submitted."""

    method: Literal["POST", "PUT"] = Field(default="POST", description='"POST" or "PUT"')
    path: UrlPath = Field(
        description='the path after base_url, for example "/v1/jobs"; {model} and {endpoint} are the model\'s'
    )
    model_field: Name | None = Field(default=None, description='the field for the model\'s name, for example "model"')
    input_field: Name | None = Field(
        default=None,
        description='the field for the caller\'s input, for example "input"; left out: its fields stand at the top',
    )
    webhook_field: Name | None = Field(
        default=None, description='the field for the webhook URL of this job, for example "webhook_url"'
    )
    webhook_query: Name | None = Field(
        default=None, description="the query parameter for the webhook URL of this job, in place of webhook_field"
    )
    reference_field: Name | None = Field(
        default=None, description='the field for our own reference, for example "reference"'
    )
    extra: dict[Name, object] = Field(
        default_factory=dict, description="fields that every request has, the same for all jobs"
    )


class Idempotency(Table):
    """Present only where the provider documents that a repeated key makes no second job."""

    header: HeaderName = Field(default="Idempotency-Key", description='the header, for example "Idempotency-Key"')
    key_life_s: Seconds = Field(
        description="how long the provider remembers a key, in seconds (86400 for a day), as it documents it"
    )


class Lookup(Table):
    """Present only where the provider can find a job by our reference."""

    path: UrlPath = Field(description='the path after base_url, for example "/v1/jobs?reference={reference}"')
    items: Expression = Field(
        default="@", description='JMESPath to the list of jobs, or to the one job, for example "jobs"'
    )


class Poll(Table):
    """How to ask for one job."""

    path: UrlPath = Field(
        description='the path after base_url, for example "/v1/jobs/{id}"; {model} and {endpoint} as in submit.path'
    )
    hosts: list[Host] = Field(
        default=[],
        description='hosts that may be asked at the URL of read.poll_url, with our key, for example ["*.example.com"]',
    )


class Result(Table):
    """Present only where the links of a job that succeeded are told by a second address."""

    path: UrlPath = Field(description='the path after base_url, for example "/v1/files?file_id={key}"; or {id}')
    key: Expression | None = Field(
        default=None, description='JMESPath in the answer of poll to what {key} stands for, for example "file_id"'
    )


class Cancel(Table):
    """Present only where a job can be canceled."""

    method: Literal["POST", "PUT", "DELETE"] = Field(default="POST", description='"POST", "PUT" or "DELETE"')
    path: UrlPath = Field(description='the path after base_url, for example "/v1/jobs/{id}/cancel"')


class Read(Table):
    """JMESPath: where things stand in an answer or a webhook. One expression serves both; `a || b` takes either."""

    id: Expression = Field(default="id", description='JMESPath to the provider\'s job id, for example "id"')
    status: Expression = Field(default="status", description='JMESPath to the status word, for example "status"')
    progress: Expression | None = Field(default=None, description='JMESPath to a number, for example "progress"')
    progress_scale: Literal[1, 100] = Field(
        default=100, description="the number that means done: 100 for a percentage, 1 for a fraction"
    )
    stage: Expression | None = Field(
        default=None, description='JMESPath to a word that says what the provider is doing, for example "stage"'
    )
    outputs: Expression = Field(
        description='JMESPath to the results: links or objects, one or a list, for example "outputs"'
    )
    url: Expression = Field(default="url", description='JMESPath within one result to its link, for example "url"')
    content_type: Expression | None = Field(
        default=None, description='JMESPath within one result to its type, for example "content_type"'
    )
    size: Expression | None = Field(
        default=None, description='JMESPath within one result to its size in bytes, for example "size"'
    )
    expires_at: Expression | None = Field(
        default=None,
        description="JMESPath within one result to the end of its link: ISO 8601, or seconds or ms since 1970",
    )
    error_code: Expression | None = Field(
        default=None, description='JMESPath to the code of an error, for example "error.code"'
    )
    error_message: Expression | None = Field(
        default=None, description='JMESPath to the text of an error, for example "error.message"'
    )
    reference: Expression | None = Field(
        default=None, description='JMESPath to our reference, where it is echoed, for example "reference"'
    )
    poll_url: Expression | None = Field(
        default=None,
        description='JMESPath in the answer to a submit to the URL that tells of this job, for example "polling_url"',
    )
    completed_at: Expression | None = Field(
        default=None, description="JMESPath to the time at which a job ended, from which results.life_s counts"
    )


class Answers(Table):
    """What the HTTP status of an answer to a submit proves. A status in no list proves nothing."""

    rejected: list[HttpStatus] = Field(
        default=[400, 413, 422], description="statuses that prove a fault of the request itself, for example [400, 422]"
    )
    blocked: list[HttpStatus] = Field(
        default=[401, 402, 403], description="statuses that prove a fault of the account, for example [401, 402, 403]"
    )
    not_accepted: list[HttpStatus] = Field(
        default=[429],
        description="statuses that prove that no job was made and a later try may work, for example [429]",
    )
    not_accepted_with_retry_after: list[HttpStatus] = Field(
        default=[], description="statuses that prove it only together with a Retry-After header, for example [503]"
    )
    moderated_codes: list[Text] = Field(
        default=[],
        description='error codes or status words for refused content, for example ["content_moderated", "SAFETY.*"]',
    )
    code: Expression | None = Field(
        default=None,
        description="JMESPath to a code that says more than the status, also in a 2xx, for example "
        '"base_resp.status_code"',
    )
    ok_codes: list[Text] = Field(default=[], description='codes that are no error, for example ["0"]')
    rejected_codes: list[Text] = Field(
        default=[],
        description='codes that prove a fault of the request itself, whatever the status, for example ["2013"]',
    )
    blocked_codes: list[Text] = Field(
        default=[], description='codes that prove a fault of the account, whatever the status, for example ["1008"]'
    )
    not_accepted_codes: list[Text] = Field(
        default=[], description='codes that prove that no job was made, whatever the status, for example ["1002"]'
    )
    missing_codes: list[Text] = Field(
        default=[], description='codes by which a poll is told that the id is unknown, for example ["1203"]'
    )


class Timing(Table):
    """How long things take."""

    expected_s: Seconds = Field(default=300, description="how long a job takes as a rule, in seconds")
    max_run_s: Seconds = Field(
        default=7200, description="the time after which no job of this provider can still be running, in seconds"
    )
    poll_floor_s: Seconds = Field(default=10, description="the shortest wait between two polls of a job, in seconds")
    lost_after: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description='how many answers "unknown id" make a job lost, a whole number'
    )


class MaxBytes(Table):
    """How large one result may be."""

    video: Bytes = Field(default=2 * 1024**3, description="bytes of a video at most (2 GiB)")
    image: Bytes = Field(default=50_000_000, description="bytes of an image at most (50 MB)")
    audio: Bytes = Field(default=200_000_000, description="bytes of a recording at most (200 MB)")


class Results(Table):
    """Which result links may be followed."""

    hosts: list[Host] = Field(
        default=[],
        description='hosts of result links, for example ["cdn.example.com", "*.example.net"]; []: any public',
    )
    allow_http: bool = Field(default=False, description="true allows http:// here and in base_url; for a laptop only")
    allow_private: bool = Field(default=False, description="true allows addresses of this machine; for a laptop only")
    life_s: Seconds | None = Field(
        default=None, description="how long a link serves after read.completed_at, in seconds, as it is documented"
    )
    credential_hosts: list[ExactHost] = Field(
        default=[], description='hosts whose result links need the API key, for example ["api.example.com"]'
    )
    max_bytes: MaxBytes = Field(default=MaxBytes(), description="a table of limits: video, image, audio")


class Model(Table):
    """One model that callers may name."""

    kind: Kind = Field(description='"video", "image" or "audio"')
    expected_s: Seconds | None = Field(default=None, description="how long this model takes as a rule, in seconds")
    input_required: list[Text] = Field(
        default=[], description='fields that the input must have, for example ["prompt"]'
    )
    inputs: list[Kind] = Field(
        default=["video", "image", "audio"],
        description='kinds of file that may be uploaded for it, for example ["image"]',
    )
    name: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")] | None = Field(
        default=None, description="the provider's own name for it, where callers know it by another"
    )
    endpoint: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$", max_length=200),
        ]
        | None
    ) = Field(default=None, description='what {endpoint} stands for in paths, for example "videos/text2video"')


class Provider(Table):
    """One provider."""

    adapter: Adapter = Field(description='the adapter that maps this provider: "generic", or a vendor\'s')
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,300}$")] = Field(
        description='the address that every path follows, for example "https://api.example.com"'
    )
    limit: Annotated[int, Field(ge=1, le=900)] | None = Field(
        default=None, description="jobs in flight at this provider at most, where lower than MaxInFlight; 1 to 900"
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict, description='headers that every request has, for example { X-Version = "2026-01-01" }'
    )
    auth: Auth = Field(default=Auth(), description="a table that says where the API key goes")
    submit: Submit = Field(description="a table that says how a job is submitted")
    idempotency: Idempotency | None = Field(
        default=None, description="a table, present only where a repeated key makes no second job"
    )
    lookup: Lookup | None = Field(default=None, description="a table that says how to find a job by our reference")
    poll: Poll = Field(description="a table that says how to ask for one job")
    result: Result | None = Field(default=None, description="a table that says where the links are told, if not there")
    cancel: Cancel | None = Field(default=None, description="a table that says how to cancel a job")
    read: Read = Field(description="a table of JMESPath expressions that say where things stand in an answer")
    webhook: Webhook | None = Field(default=None, description="a table that says how to read a webhook")
    statuses: dict[Text, Word] = Field(
        description='each status word becomes "running", "succeeded", "failed", "canceled" or "gone" (unknown id)'
    )
    answers: Answers = Field(default=Answers(), description="a table that says what an HTTP status proves")
    timing: Timing = Field(default=Timing(), description="a table of durations")
    results: Results = Field(default=Results(), description="a table of rules for result links")
    inputs: Inputs = Field(default=Inputs(), description="a table of rules for files that callers upload")
    models: dict[Text, Model] = Field(description="a table with one table for each model")


class Configuration(Table):
    """The whole file."""

    providers: dict[str, Provider] = Field(description="one table for each provider: [providers.NAME]")
