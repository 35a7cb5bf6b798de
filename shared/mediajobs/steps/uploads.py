"""Files in: a form to post one with, a copy of the job's own that nobody can change, a URL that stays the same.

Loaded only where a file is at hand: a job whose input names no upload pays nothing for this.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NoReturn

from mediajobs import uploads
from mediajobs.errors import ConfigurationError, InvalidMedia, NotFound, Unprocessable
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from mediajobs.media import Checker
from mediajobs.messages import Caller
from mediajobs.ports import World
from mediajobs.signatures import input_token, input_token_matches
from mediajobs.uploads import Form, Upload

HEAD_BYTES = 64 * 1024  # enough to tell any type; a file that is no longer is checked whole
AT_ONCE = 8  # fewer than the connections of one client
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A file of an input: its bytes, or a short-lived URL of a large one's."""

    content_type: str
    body: bytes = b""
    url: str | None = None


def form(world: World, caller: Caller, content_type: str) -> Form:
    """A form by which one file of this type can be posted to the caller's own corner of the bucket."""
    upload = uploads.new_upload(content_type, world.chance.token(), world.clock.now())
    most = uploads.LIMITS[upload.kind]
    url, fields = world.objects.form(
        uploads.uploaded_key(caller.tenant, upload.name),
        content_type=content_type,
        most_bytes=most,
        seconds=uploads.FORM_S,
    )
    until = world.clock.now() + uploads.FORM_S * 1000
    world.log.info("upload offered", tenant=caller.tenant, upload=upload.name)
    return Form(url=url, fields=fields, until=until, most_bytes=most, upload=upload)


def keep(world: World, job: Job, given: object, limits: dict[str, int]) -> None:
    """Check every upload that the input names and copy it to the job's own place; all of it before the job exists.

    A copy of a submit that did not win its job is named by nobody and expires. Raises NotFound for an upload that is
    unknown, expired or another tenant's, Unprocessable for one that is not what it was said to be or what the model
    takes. A replay is checked no more: its job has its files.
    """
    places = {name: place for place, name in uploads.references(given)}
    if not places or world.store.load(job.id) is not None:
        return
    if len(places) > uploads.MOST_FILES:
        raise Unprocessable(f"The input names {len(places)} uploads; {uploads.MOST_FILES} is the most.")
    if len(places) == 1:
        _keep(world, job, *next(iter(places.items())), limits)
        return
    # S3 takes seconds to copy a large file, and all of them must be copied while the caller waits.
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for done in [pool.submit(_keep, world, job, name, place, limits) for name, place in places.items()]:
            done.result()


def _keep(world: World, job: Job, name: str, place: str, limits: dict[str, int]) -> None:
    upload = uploads.read_name(name)
    source = uploads.uploaded_key(job.tenant, name)
    found = None
    if upload is not None and world.clock.now() < upload.until:
        found = world.objects.peek(source, HEAD_BYTES)
    if upload is None or found is None:
        raise _unknown(place)
    if upload.kind not in limits:
        _refuse(place, f"is a file of kind {upload.kind}; {job.model} takes: {', '.join(sorted(limits)) or 'none'}")
    if found.size > limits[upload.kind]:
        _refuse(place, f"is a file of {found.size} bytes; {job.model} takes {limits[upload.kind]} at most")
    _check_type(place, upload, found.body, whole=len(found.body) == found.size)
    key = uploads.input_key(job.id, job.incarnation, name)
    if not world.objects.copy(source, key, etag=found.etag, content_type=upload.content_type):
        raise _unknown(place)  # it went while it was looked at


def _unknown(place: str) -> NotFound:
    return NotFound(
        f"{place}: there is no such upload. It was never posted, or more than a day ago; ask for a new one with "
        "POST /v1/uploads, post the file, and name it again."
    )


def _check_type(place: str, upload: Upload, head: bytes, *, whole: bool) -> None:
    """By content, before anything is charged: what the file was called proves nothing."""
    checker = Checker(upload.kind, uploads.LIMITS[upload.kind])
    try:
        checker.feed(head)
        if whole:
            checker.finish()
    except InvalidMedia as error:
        _refuse(place, f"is not {upload.content_type}: {error}")
    if checker.content_type != upload.content_type:
        _refuse(place, f"was announced as {upload.content_type} and is {checker.content_type}")


def _refuse(place: str, text: str) -> NoReturn:
    raise Unprocessable(f"{place} {text}.", errors=[{"field": place, "message": text}])


def placed(world: World, job: Job, given: object) -> object:
    """The input as the provider gets it: a URL for every reference, the same bytes at every attempt.

    Raises ConfigurationError where the files may be gone before the provider has read them: nothing is sent then.
    """
    if not any(True for _ in uploads.references(given)):
        return given  # a prompt that begins with the word
    base = world.settings.callback_base
    if not base:
        raise ConfigurationError("the input names uploads and CALLBACK_BASE is not set: no provider could read them")
    kept_until = job.created_at + (uploads.KEPT_DAYS - uploads.MARGIN_DAYS) * DAY_MS
    if world.clock.now() >= kept_until:
        raise ConfigurationError(f"the files of job {job.id} are not kept any longer; fail the job")
    secret = world.secrets.tokens()

    def url_of(name: str) -> str:
        return f"{base}/v1/inputs/{job.id}.{input_token(secret, job.id, job.incarnation, name)}/{name}"

    return uploads.replaced(given, url_of)


def serve(world: World, job_id: str, token: str, name: str) -> Served:
    """A file of a job's input, to whoever holds the URL that its provider was given, until the job has ended.

    Raises NotFound in every other case, and says no more.
    """
    gone = NotFound("There is nothing at this address.")
    upload = uploads.read_name(name)
    job = world.store.load(job_id) if upload else None
    if upload is None or job is None or job.state in TERMINAL or not _is_ours(world, job, token, name):
        raise gone
    key = uploads.input_key(job.id, job.incarnation, name)
    found = world.objects.peek(key, uploads.MOST_DIRECT)
    if found is None:
        raise gone
    large = found.size > len(found.body)
    world.log.info("input served", job=job.id, upload=name, size=found.size, redirected=large)
    if not large:
        return Served(content_type=upload.content_type, body=found.body)
    url = world.objects.link(
        key, seconds=world.settings.link_seconds, content_type=upload.content_type, name=upload.name
    )
    return Served(content_type=upload.content_type, url=url)


def _is_ours(world: World, job: Job, token: str, name: str) -> bool:
    """A rotated secret is fetched once."""
    return any(
        input_token_matches(world.secrets.tokens(refresh=refresh), token, job.id, job.incarnation, name)
        for refresh in (False, True)
    )
