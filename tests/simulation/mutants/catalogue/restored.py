"""Breakages of what happens after the table was put back, and of a single download."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

ROWS = ("tests/core/test_rows_restore.py",)
RESTORE = ("tests/steps/test_restore.py",)
FETCH = ("tests/hostile/test_fetch.py",)

MUTANTS = (
    Mutant(
        name="a restored pending job is sent afresh",
        why="restore",
        breaks="what was sent after the moment of the restore is charged a second time",
        file="jobs/rules_restore.py",
        old='rule("45", State.PENDING, Restored, to=State.SUBMITTING, effect=_perhaps_sent,',
        new='rule("45", State.PENDING, Restored, why=Why.STALE,',
        tests=ROWS,
    ),
    Mutant(
        name="a restored job's key is young",
        why="restore",
        breaks="a key of unknown age is sent again as if it had just been made",
        file="jobs/rules_restore.py",
        old="replace(m.job, attempt=attempt, first_sent_at=None)",
        new="replace(m.job, attempt=attempt, first_sent_at=m.now)",
        tests=ROWS,
    ),
    Mutant(
        name="a row made anew is dispatched again",
        why="restore",
        breaks="a row that the restore has lost begins its life a second time",
        file="steps/restore.py",
        old="    apply(world, job, Restored(), traits_of(world, job))\n",
        new="",
        tests=RESTORE,
    ),
    Mutant(
        name="a restored slot lapses with the attempt of long ago",
        why="restore",
        breaks="a request that was sent after the moment of the restore lives on without a slot",
        file="jobs/rules_restore.py",
        old="outcome=Outcome.AMBIGUOUS, started=m.now, lease_until",
        new="outcome=Outcome.AMBIGUOUS, lease_until",
        tests=ROWS,
    ),
    Mutant(
        name="a row made anew has its word for relay",
        why="restore",
        breaks="whoever dies right after the row leaves a job that is sent afresh",
        file="steps/restore.py",
        old="    return replace(job, out=None)\n",
        new="    return job\n",
        tests=RESTORE,
    ),
    Mutant(
        name="the first line of a lost row counts",
        why="restore",
        breaks="a row is made anew with the incarnation of a twin that lost, and no webhook finds it",
        file="steps/restore.py",
        old='            if known is None or line["message"] == "submitted":',
        new="            if known is None:",
        tests=RESTORE,
    ),
    Mutant(
        name="a part is taken for the whole file",
        why="results",
        breaks="204 and 206 count as the result",
        file="steps/fetch.py",
        old="    if status == 200:\n",
        new="    if 200 <= status < 300:\n",
        tests=FETCH,
    ),
    Mutant(
        name="a broken transfer leaves its parts",
        why="results",
        breaks="an upload that was begun is not ended",
        file="steps/fetch.py",
        old="        if final or not self._noted:\n",
        new="        if final and not self._noted:\n",
        tests=FETCH,
    ),
    Mutant(
        name="the declared length is not looked at",
        why="size",
        breaks="a file that says it is too large is downloaded to its limit",
        file="steps/fetch.py",
        old="        if self._length is not None and self._length > most:\n",
        new="        if self._length is not None and self._length < 0:\n",
        tests=FETCH,
    ),
)
