"""Files that callers hand in: what they may be, what they are called, and where an input names them. Pure.

An upload's name says everything about it: until when it may be named, and of which type it is. It stands in the input
as "upload:<name>", at the end of its object's key, and at the end of the URL by which a provider reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# What the bytes of an input item hold where some text in it begins so. Nearly all lack it and cost no further look.
MARK = b'"upload:'

MIB = 1024 * 1024
# The most bytes of a file by its kind; a provider's configuration may say less.
LIMITS = {"image": 20 * MIB, "audio": 50 * MIB, "video": 200 * MIB}
MOST_FILES = 16  # in one job
# What a function may answer with: base64 of it, and its headers, must fit Lambda's 6 MB. Larger ones are redirected.
MOST_DIRECT = 4 * MIB

FORM_S = 900  # a signature dies with the session of the role that made it, whatever is asked for
NAMED_S = 86_400  # from then on no new job may name the upload
# From a job's submit; the lifecycle rule of inputs/ says the same. It may wait a week for its start, and then the
# provider and a person's second thought have another.
KEPT_DAYS = 14
MARGIN_DAYS = 1  # nothing is submitted whose file might go while the provider still reads it

TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "avif": "image/avif",
    "heic": "image/heic",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "m4a": "audio/mp4",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mov": "video/quicktime",
}
_ENDINGS = {content_type: ending for ending, content_type in TYPES.items()}
# Without blanks: a prompt may begin with this word, a reference never has more than one.
_REFERENCE = re.compile(r"upload:(\S*)")
_NAME = re.compile(rf"([0-9]{{10}})-[a-z2-7]{{13}}\.({'|'.join(TYPES)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One well-formed name. `until`: milliseconds; new jobs may name it before."""

    name: str
    until: int
    content_type: str

    @property
    def kind(self) -> str:
        return self.content_type.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Where and with which fields one file may be posted, until `until` (milliseconds)."""

    url: str
    fields: dict[str, str]
    until: int
    most_bytes: int
    upload: Upload


def content_types() -> tuple[str, ...]:
    """The types that may be uploaded."""
    return tuple(_ENDINGS)


def new_upload(content_type: str, token: str, now: int) -> Upload:
    """A name that nobody has yet; `content_type` is one of `content_types()`."""
    until_s = now // 1000 + NAMED_S
    name = f"{until_s:010d}-{token}.{_ENDINGS[content_type]}"
    return Upload(name=name, until=until_s * 1000, content_type=content_type)


def read_name(name: str) -> Upload | None:
    """The upload of that name; None where it can be nobody's."""
    match = _NAME.fullmatch(name)
    return Upload(name=name, until=int(match[1]) * 1000, content_type=TYPES[match[2]]) if match else None


def uploaded_key(tenant: str, name: str) -> str:
    """Where the form puts the file. Another tenant's is nowhere to be found."""
    return f"uploads/{tenant}/{name}"


def input_key(job_id: str, incarnation: str, name: str) -> str:
    """Where a job's own copy stands, which nobody can change any more."""
    return f"inputs/{job_id}/{incarnation}/{name}"


def references(value: object, place: str = "input") -> Iterator[tuple[str, str]]:
    """(place, name) of every text anywhere in the value that is a reference, well-formed or not."""
    match value:
        case str():
            if match_ := _REFERENCE.fullmatch(value):
                yield place, match_[1]
        case dict():
            for key, each in value.items():
                yield from references(each, f"{place}.{key}")
        case list():
            for number, each in enumerate(value):
                yield from references(each, f"{place}.{number}")


def replaced(value: object, url_of: Callable[[str], str]) -> object:
    """The same value with the URL of its upload in the place of every reference."""
    match value:
        case str():
            found = _REFERENCE.fullmatch(value)
            return url_of(found[1]) if found else value
        case dict():
            return {key: replaced(each, url_of) for key, each in value.items()}
        case list():
            return [replaced(each, url_of) for each in value]
        case _:
            return value
