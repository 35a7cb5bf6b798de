"""The routes, as data: the functions register these and `docs/openapi.json` is written from them."""

from __future__ import annotations

from dataclasses import dataclass, field

# Statuses that any route of the API with a caller may answer: gateway and authorizer included.
_ALWAYS = (401, 403, 429, 500, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation of the API."""

    operation: str
    method: str
    path: str
    function: str
    summary: str
    detail: str = ""
    parameters: tuple[str, ...] = ()  # by their names in cli/openapi.py
    body: str | None = None  # name of a schema
    answers: dict[int, str] = field(default_factory=dict)  # status -> name of a schema
    headers: dict[int, tuple[str, ...]] = field(default_factory=dict)  # status -> header names
    problems: tuple[int, ...] = ()
    secured: bool = True


ROUTES: tuple[Route, ...] = (
    Route(
        operation="submit",
        method="POST",
        path="/v1/jobs",
        function="submit",
        summary="Submit a job",
        detail=(
            "Answers as soon as the job is recorded. The same Idempotency-Key with the same payload is the same job, "
            "however often it is sent; with another payload it is 422. Payloads are compared by value: 1 and 1.0 are "
            "the same, and so is any order of names. A key protects for as long as the job is kept: 400 days from its "
            "end; input, output list, progress and events are kept for 60 days, stored results for 30."
        ),
        parameters=("IdempotencyKey",),
        body="Submit",
        answers={202: "Accepted"},
        headers={202: ("Location", "Idempotency-Replayed")},
        problems=(400, *_ALWAYS, 404, 413, 422),
    ),
    Route(
        operation="new_upload",
        method="POST",
        path="/v1/uploads",
        function="submit",
        summary="Hand in a file",
        detail=(
            "Answers with a form for one file of this type: post it to `url` as multipart/form-data, every field of "
            "`fields` first, then the file as `file`. Larger than max_bytes or of another type, S3 refuses it. The "
            "form serves for 15 minutes; for 24 hours new jobs can name the upload anywhere in their input, also "
            "several of them. A job keeps a copy of its own for 14 days; the provider is given a URL at which it can "
            "read it until the job has ended. A submit checks the file's content before anything is charged: 404 where "
            "there is no such upload, also another tenant's; 422 where it is not of its type or the model does not "
            "take it."
        ),
        body="NewUpload",
        answers={201: "Upload"},
        problems=(400, *_ALWAYS, 413, 422),
    ),
    Route(
        operation="list_jobs",
        method="GET",
        path="/v1/jobs",
        function="jobs",
        summary="List jobs, newest first",
        detail=(
            "The caller's own jobs. With attention=true, for scope operator: every tenant's jobs with an open question."
        ),
        parameters=("Limit", "Cursor", "AttentionOnly"),
        answers={200: "JobList"},
        problems=(400, *_ALWAYS, 422),
    ),
    Route(
        operation="get_job",
        method="GET",
        path="/v1/jobs/{id}",
        function="jobs",
        summary="Read a job",
        detail="The truth about a job. Outputs carry URLs that serve for a few minutes; read again for fresh ones.",
        parameters=("JobId",),
        answers={200: "Job"},
        problems=(*_ALWAYS, 404),
    ),
    Route(
        operation="cancel_job",
        method="POST",
        path="/v1/jobs/{id}/cancel",
        function="jobs",
        summary="Ask for a job to be canceled",
        detail=(
            "A request: a job that the provider does not have is canceled at once; otherwise the provider is asked and "
            "its word decides. 409 where it cannot cancel, and once the result is being stored or the job has ended."
        ),
        parameters=("JobId",),
        answers={202: "Job"},
        problems=(*_ALWAYS, 404, 409),
    ),
    Route(
        operation="resolve_job",
        method="POST",
        path="/v1/jobs/{id}/resolve",
        function="jobs",
        summary="Answer a job's open question (scope operator)",
        detail=(
            "The decision names attention.version of the question it answers; another one, or none open, is 409 with "
            "the job as it is now. resubmit may charge again. adopt is 202: the provider is asked about the id first."
        ),
        parameters=("JobId",),
        body="Resolve",
        answers={200: "Job", 202: "Job"},
        problems=(400, *_ALWAYS, 404, 409, 413, 422),
    ),
    Route(
        operation="get_provider",
        method="GET",
        path="/v1/providers/{provider}",
        function="jobs",
        summary="Read a provider's slots and pause (scope operator)",
        parameters=("Provider",),
        answers={200: "Provider"},
        problems=(*_ALWAYS, 404),
    ),
    Route(
        operation="set_provider",
        method="POST",
        path="/v1/providers/{provider}",
        function="jobs",
        summary="Pause a provider, end its pause or lower its limit (scope operator)",
        parameters=("Provider",),
        body="ProviderChange",
        answers={200: "Provider"},
        problems=(400, *_ALWAYS, 404, 409, 413, 422),
    ),
    *(
        Route(
            operation=f"{verb}_input",
            method=method,
            path="/v1/inputs/{ref}/{name}",
            function="jobs",
            summary=summary,
            detail=(
                "Proved by the token in the reference; serves until the job has ended. Meant for providers, not for "
                "callers. Larger files are redirected."
            ),
            parameters=("InputReference", "InputName"),
            answers={200: "file", 307: "elsewhere"},
            headers={307: ("Location",)},
            problems=(404, 429, 500, 503),
            secured=False,
        )
        for verb, method, summary in (
            ("get", "GET", "Read a file of a job's input"),
            ("head", "HEAD", "Ask what a file of a job's input is"),
        )
    ),
    Route(
        operation="get_callback",
        method="GET",
        path="/v1/callbacks/{tenant}",
        function="notify",
        summary="Read a tenant's callback (scope operator)",
        parameters=("Tenant",),
        answers={200: "Callback"},
        problems=(*_ALWAYS, 404),
    ),
    Route(
        operation="register_callback",
        method="POST",
        path="/v1/callbacks/{tenant}",
        function="notify",
        summary="Register a URL for a tenant's callbacks, or move them to another one (scope operator)",
        detail=(
            "The URL is sent a challenge and must give it back, else nothing changes. A first registration answers "
            "with the secret that signs its events; a later one keeps the secrets. It may take some minutes until "
            "events come: send those again that were missed."
        ),
        parameters=("Tenant",),
        body="CallbackChange",
        answers={200: "Callback"},
        problems=(400, *_ALWAYS, 404, 413, 422),
    ),
    Route(
        operation="rotate_callback",
        method="POST",
        path="/v1/callbacks/{tenant}/rotate",
        function="notify",
        summary="Make a new secret for a tenant's callbacks (scope operator)",
        detail="Until the overlap is over each event carries a signature by every secret in force.",
        parameters=("Tenant",),
        body="Rotation",
        answers={200: "Callback"},
        problems=(400, *_ALWAYS, 404, 409, 413, 422),
    ),
    Route(
        operation="end_callback",
        method="DELETE",
        path="/v1/callbacks/{tenant}",
        function="notify",
        summary="End a tenant's callbacks (scope operator)",
        detail="What is on its way is dropped too.",
        parameters=("Tenant",),
        answers={200: "Callback"},
        problems=(*_ALWAYS, 404),
    ),
    Route(
        operation="receive_webhook",
        method="POST",
        path="/v1/webhooks/{provider}",
        function="webhook",
        summary="Receive a provider's event",
        detail="Proved by the provider's signature over the raw body. Meant for providers, not for callers.",
        parameters=("Provider",),
        answers={200: "Received"},
        problems=(400, 401, 404, 429, 500, 503),
        secured=False,
    ),
    Route(
        operation="receive_webhook_of_job",
        method="POST",
        path="/v1/webhooks/{provider}/{ref}",
        function="webhook",
        summary="Receive a provider's event about one job",
        detail="As above; the reference in the path was given to the provider with the job.",
        parameters=("Provider", "Reference"),
        answers={200: "Received"},
        problems=(400, 401, 404, 429, 500, 503),
        secured=False,
    ),
)


def of(function: str) -> tuple[Route, ...]:
    """The routes that one function serves."""
    return tuple(route for route in ROUTES if route.function == function)
