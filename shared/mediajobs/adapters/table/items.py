"""A job as items, and back. The only place that knows what the table's attributes are called.

The head is written whole, so an attribute that is absent was removed. Attributes that a newer release wrote are
kept in `Job.extra` in DynamoDB's own form. Short names, because a head over 1 KB costs double at every write.

Links and outputs stand in the head while it stays within a unit; else in an item of their own, named by its content
and put before the head. The head then holds that name, as bytes in the place of the list.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from mediajobs.adapters.table.values import Item, decode, encode, encoded, size
from mediajobs.jobs.model import Attempt, Attention, Finding, Job, JobError, Link, Output, due_shard
from mediajobs.jobs.states import ErrorCode, FindingKind, Outcome, Reason, State

UNIT = 1024
HEAD = "H"
SPILLS = ("links", "outputs")

# Job field -> attribute. Left out while it has the field's default.
PLAIN = {
    "provider": "provider",
    "model": "model",
    "state": "state",
    "version": "ver",
    "incarnation": "inc",
    "updated_at": "upd",
    "since": "since",
    "start_deadline": "dead",
    "start_within_s": "within",
    "payload_digest": "input",
    "submission": "sub",
    "slot": "slot",
    "first_sent_at": "sent",
    "unsettled": "unsettled",
    "absent": "absent",
    "misses": "misses",
    "failures": "fails",
    "patience": "patience",
    "retry_at": "retry",
    "provider_job_id": "pid",
    "poll_url": "ask",
    "adopt": "adopt",
    "cancel_requested": "cancel",
    "provider_word": "word",
    "due_at": "due_at",
    "final_version": "final",
    "published_at": "pub",
    "ttl": "ttl",
    "out": "out",
    "history": "hist",
    "history_count": "count",
    "written_by": "by",
    "wait": "wait_at",
}
# The same for the parts, each a map of its own.
PARTS: dict[type, dict[str, str]] = {
    Attempt: {"no": "n", "outcome": "o", "token": "t", "started": "s", "lease_until": "l", "digest": "d"},
    Attention: {"reason": "r", "since": "s", "version": "v", "evidence": "e"},
    Finding: {"kind": "k", "provider_job_id": "p", "since": "s", "acknowledged": "a"},
    JobError: {"code": "c", "message": "m"},
    Link: {"url": "u", "content_type": "t", "size": "s", "expires_at": "e"},
    Output: {
        "key": "k",
        "content_type": "t",
        "size": "s",
        "sha256": "d",
        "width": "w",
        "height": "h",
        "duration_ms": "l",
        "kept_until": "u",
    },
}
SINGLE: dict[str, tuple[str, type]] = {
    "attempt": ("try", Attempt),
    "attention": ("att", Attention),
    "error": ("err", JobError),
}
SEVERAL: dict[str, tuple[str, type]] = {
    "findings": ("find", Finding),
    "links": ("links", Link),
    "outputs": ("outs", Output),
}
INDEXED = ("pk", "sk", "list_key", "list_at", "due_shard", "att_shard", "att_at", "wait_key")
ENUMS: dict[str, type] = {"state": State, "outcome": Outcome, "reason": Reason, "kind": FindingKind, "code": ErrorCode}
DIGESTS = frozenset({"digest", "sha256"})
KNOWN = frozenset(
    {*PLAIN.values(), *INDEXED, *(name for name, _ in SINGLE.values()), *(name for name, _ in SEVERAL.values())}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What one head item says: the job, and where those of its parts are that stand elsewhere."""

    job: Job
    spilled: dict[str, bytes] = field(default_factory=dict)  # "links" or "outputs" -> name of its item


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What to put for one job: spills first, then the head."""

    head: dict[str, Any]
    spills: dict[bytes, Any]  # name -> the encoded list


def job_key(job_id: str) -> str:
    return f"J#{job_id}"


def head_key(job_id: str) -> dict[str, Any]:
    return encoded({"pk": job_key(job_id), "sk": HEAD})


def input_key(job_id: str, digest: bytes) -> dict[str, Any]:
    return encoded({"pk": job_key(job_id), "sk": f"I#{digest.hex()[:16]}"})


def spill_key(job_id: str, name: bytes) -> dict[str, Any]:
    return encoded({"pk": job_key(job_id), "sk": f"X#{name.hex()}"})


def moment(milliseconds: int, job_id: str) -> str:
    """A sort key that orders by time."""
    return f"{milliseconds:013d}#{job_id}"


def job_id_of(item: Item) -> str:
    """The id in a key of a job's item, as every index returns it."""
    return str(item["pk"]["S"]).removeprefix("J#")


def rows(job: Job) -> Rows:
    """The items of a job: as few units as can be, and of those as few items."""
    whole = {**_extra(job), **_head(job)}
    best = Rows(head=whole, spills={})
    for parts in (("links",), ("outputs",), SPILLS):
        if all(getattr(job, part) for part in parts):
            tried = _spilled(whole, parts)
            if units(tried.head) < units(best.head):
                best = tried
    return best


def units(item: Item) -> int:
    """Write units of one put."""
    return -(-size(item) // UNIT)


def read(item: Item) -> Head:
    """The job of a head item."""
    job_id = job_id_of(item)
    created_at = int(item["list_at"]["S"].split("#", 1)[0])
    values: dict[str, Any] = {
        "id": job_id,
        "tenant": item["list_key"]["S"].removeprefix("T#"),
        "created_at": created_at,
    }
    values |= {name: _plain(name, item[attribute]) for name, attribute in PLAIN.items() if attribute in item}
    for name, (attribute, kind) in SINGLE.items():
        if attribute in item:
            values[name] = _unpack(kind, decode(item[attribute]))
    spilled: dict[str, bytes] = {}
    for name, (attribute, kind) in SEVERAL.items():
        if attribute in item and "B" in item[attribute]:
            spilled[name] = item[attribute]["B"]
        elif attribute in item:
            values[name] = read_part(kind, item[attribute])
    values["extra"] = {name: value for name, value in item.items() if name not in KNOWN}
    return Head(job=Job(**values), spilled=spilled)


def read_part(kind: type, value: Mapping[str, Any]) -> tuple[Any, ...]:
    """A list of parts."""
    return tuple(_unpack(kind, part) for part in decode(value))


def with_spills(head: Head, found: Mapping[bytes, Any]) -> Job:
    """The whole job. A spill whose own time to live is over counts as empty: what it named is gone as well."""
    parts: dict[str, Any] = {
        part: read_part(SEVERAL[part][1], found[name]) for part, name in head.spilled.items() if name in found
    }
    return replace(head.job, **parts) if parts else head.job


def from_stream(image: Mapping[str, Any]) -> Job:
    """The job of a new image in the table's stream, where bytes are base64 text. Spilled parts are left out."""
    return read({name: _from_json(value) for name, value in image.items()}).job


def _from_json(value: Mapping[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(value.items()))
    if kind == "B":
        return {kind: base64.b64decode(content)}
    if kind == "BS":
        return {kind: [base64.b64decode(part) for part in content]}
    if kind == "L":
        return {kind: [_from_json(part) for part in content]}
    if kind == "M":
        return {kind: {name: _from_json(part) for name, part in content.items()}}
    return dict(value)


def _head(job: Job) -> dict[str, Any]:
    attention = job.attention
    attributes: dict[str, object] = {
        "pk": job_key(job.id),
        "sk": HEAD,
        "list_key": f"T#{job.tenant}",
        "list_at": moment(job.created_at, job.id),
        "due_shard": None if job.due_at is None else f"D#{due_shard(job.id)}",
        "att_shard": attention and f"A#{due_shard(job.id)}",
        "att_at": attention and moment(attention.since, job.id),
        "wait_key": job.wait and f"W#{job.provider}",
    }
    attributes |= {attribute: getattr(job, name) for name, attribute in PLAIN.items() if not _is_default(job, name)}
    attributes |= {attribute: _pack(getattr(job, name)) for name, (attribute, _) in SINGLE.items()}
    for name, (attribute, _) in SEVERAL.items():
        attributes[attribute] = [_pack(part) for part in getattr(job, name)] or None
    return encoded(attributes)


def _extra(job: Job) -> dict[str, Any]:
    return {name: value for name, value in job.extra.items() if name not in KNOWN}


def _spilled(head: Mapping[str, Any], parts: tuple[str, ...]) -> Rows:
    changed, spills = dict(head), {}
    for part in parts:
        attribute = SEVERAL[part][0]
        text = json.dumps(head[attribute], sort_keys=True, default=bytes.hex)
        name = hashlib.sha256(text.encode()).digest()[:8]
        spills[name] = head[attribute]
        changed[attribute] = encode(name)
    return Rows(head=changed, spills=spills)


_DEFAULTS = {f.name: f.default for f in fields(Job) if f.default is not MISSING}


def _is_default(job: Job, name: str) -> bool:
    return name in _DEFAULTS and getattr(job, name) == _DEFAULTS[name]


def _plain(name: str, value: Mapping[str, Any]) -> Any:
    content = decode(value)
    if isinstance(content, list):
        return tuple(content)
    return ENUMS[name](content) if name in ENUMS else content


def _pack(part: Any) -> dict[str, object] | None:
    """A part as a map; digests as bytes, which halves them."""
    if part is None:
        return None
    packed = {short: getattr(part, name) for name, short in PARTS[type(part)].items()}
    for name in DIGESTS & PARTS[type(part)].keys():
        short = PARTS[type(part)][name]
        packed[short] = _halved(packed[short])
    return {short: value for short, value in packed.items() if value is not None and value is not False}


def _unpack(kind: type, packed: Mapping[str, Any]) -> Any:
    """The part of that map. What a newer release added to it is not kept: parts are replaced, never amended."""
    values = {name: packed[short] for name, short in PARTS[kind].items() if short in packed}
    for name in values.keys() & DIGESTS:
        values[name] = values[name].hex() if isinstance(values[name], bytes) else values[name]
    for name in values.keys() & ENUMS.keys():
        values[name] = ENUMS[name](values[name])
    return kind(**values)


def _halved(text: str) -> bytes | str:
    """A digest in lower-case hex as bytes; any other text as it is."""
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        return text
    return packed if packed.hex() == text else text
