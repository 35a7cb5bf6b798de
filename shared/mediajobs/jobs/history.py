"""A job's bounded memory: short strings, the first and the last twenty kept, all of them counted.

A transition reads `version|from|to|source|ms|attempt|provider_job_id|event_id|body_sha256`, a note
`version|~remark|source|ms|attempt`; empty fields at the end are left off.
"""

from __future__ import annotations

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Source, State

KEPT = 20


def transition(  # noqa: PLR0913 one field of the entry each
    version: int,
    before: State | None,
    after: State,
    source: Source,
    now: int,
    *,
    attempt: int = 0,
    provider_job_id: str = "",
    event_id: str = "",
    body_digest: str = "",
) -> str:
    """The entry of a change of state."""
    fields = [
        str(version),
        before or "",
        after,
        source,
        str(now),
        str(attempt or ""),
        _clean(provider_job_id),
        _clean(event_id),
        body_digest,
    ]
    return "|".join(fields).rstrip("|")


def note(version: int, remark: str, source: Source, now: int, attempt: int = 0) -> str:
    """The entry of an attempt's outcome or a person's decision."""
    return "|".join([str(version), f"~{_clean(remark)}", source, str(now), str(attempt or "")]).rstrip("|")


def append(job: Job, entry: str) -> tuple[tuple[str, ...], int]:
    """The history with one entry more, and the count of all there ever were."""
    entries = (*job.history, entry)
    if len(entries) > KEPT + 1:
        entries = (entries[0], *entries[-KEPT:])
    return entries, job.history_count + 1


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() and c != "|" else "_" for c in text)[:80]
