"""Breakages of what stands in the table: conditions, tokens, pages, keys."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

JOBS = ("tests/contract/test_store_jobs.py",)
PROVIDERS = ("tests/contract/test_store_providers.py",)
DETAILS = ("tests/contract/test_store_details.py",)
INDEXES = ("tests/contract/test_store_indexes.py",)
READS = ("tests/adapters/test_table.py",)
APPLY = ("tests/steps/test_apply.py",)
EXPRESSIONS = "adapters/table/expressions.py"

MUTANTS = (
    Mutant(
        name="a write under any version",
        why="condition",
        breaks="the version's condition is dropped: of two writers the second one wins",
        file=EXPRESSIONS,
        old='"ConditionExpression": "ver = :ver AND inc = :inc",',
        new='"ConditionExpression": "(ver = :ver OR attribute_exists(ver)) AND inc = :inc",',
        tests=JOBS,
    ),
    Mutant(
        name="a write to whichever row stands there",
        why="H10",
        breaks="the incarnation's condition is dropped: a word about an earlier job changes a later one",
        file=EXPRESSIONS,
        old='"ConditionExpression": "ver = :ver AND inc = :inc",',
        new='"ConditionExpression": "ver = :ver AND (inc = :inc OR attribute_exists(inc))",',
        tests=JOBS,
    ),
    Mutant(
        name="a job is put over another",
        why="condition",
        breaks="a second submit of a key replaces the job of the first",
        file=EXPRESSIONS,
        old="""return {"Item": dict(item), "ConditionExpression": ABSENT, **OLD_ITEM}""",
        new="""return {"Item": dict(item)}""",
        tests=JOBS,
    ),
    Mutant(
        name="a pause over any other",
        why="condition",
        breaks="the revision's condition is dropped: a reset wipes a pause that it has not seen",
        file=EXPRESSIONS,
        old='        condition = "#revision = :before"\n',
        new='        condition = "#revision = :before OR attribute_exists(#revision)"\n',
        tests=PROVIDERS,
    ),
    Mutant(
        name="one token for all writes of a version",
        why="H8",
        breaks="DynamoDB answers a twin's write with the success of the first",
        file="adapters/table/heads.py",
        old='self._calls.transact(entries, f"{after.written_by}{after.id}"[:36])',
        new='self._calls.transact(entries, f"{after.version:010d}{after.id}"[:36])',
        tests=("tests/contract/test_store_slots.py", "tests/adapters/test_table.py"),
    ),
    Mutant(
        name="the writer's token comes from the row",
        why="H8",
        breaks="two writers of one version leave the same mark, and both take the write for their own",
        file="adapters/table/heads.py",
        old="        after = replace(change.after, written_by=self._chance.token())\n",
        new='        after = replace(change.after, written_by=f"{before.id}.{before.version}")\n',
        tests=JOBS,
    ),
    Mutant(
        name="our own resent write counts as lost",
        why="condition",
        breaks="a claim whose answer was lost is not known as our own",
        file="adapters/table/heads.py",
        old="if job is not None and (job.version, job.written_by) == (after.version, after.written_by):",
        new="if job is not None and job.version < 0:",
        tests=JOBS,
    ),
    Mutant(
        name="a twin's write counts as our own",
        why="H8",
        breaks="whoever wrote this version, we take it for us",
        file="adapters/table/heads.py",
        old="if job is not None and (job.version, job.written_by) == (after.version, after.written_by):",
        new="if job is not None and job.version == after.version:",
        tests=JOBS,
    ),
    Mutant(
        name="the head is written without its slot row",
        why="condition",
        breaks="head and slot row do not change in one transaction",
        file="adapters/table/heads.py",
        old="        if before.slot == after.slot:\n",
        new="        if before.slot == after.slot or after.slot:\n",
        tests=("tests/contract/test_store_slots.py",),
    ),
    Mutant(
        name="only the first page is read",
        why="pages",
        breaks="due jobs beyond the first page are never looked at",
        file="adapters/table/calls.py",
        old='            if "LastEvaluatedKey" not in answer:\n                return\n',
        new="            return\n",
        tests=INDEXES,
    ),
    Mutant(
        name="an ignored event is not confirmed",
        why="H19",
        breaks="an event is acknowledged as unknown on the strength of a stale read",
        file="steps/apply.py",
        old="            current = job if fresh else world.store.load(job.id)\n",
        new="            current = job\n",
        tests=APPLY,
        quick=True,
    ),
    Mutant(
        name="a replica confirms what is ignored",
        why="H19",
        breaks="the read that confirms it may be as old as the one that it confirms",
        file="adapters/table/heads.py",
        old="ex.get(items.head_key(job_id), strong=strong)",
        new="ex.get(items.head_key(job_id), strong=False)",
        tests=READS,
    ),
    Mutant(
        name="slot rows are counted on a replica",
        why="limit",
        breaks="a claim counts rows as they were a moment ago",
        file=EXPRESSIONS,
        old="""encoded({":pk": f"S#{provider}"}),
        "ConsistentRead": True,""",
        new="""encoded({":pk": f"S#{provider}"}),
        "ConsistentRead": False,""",
        tests=READS,
    ),
    Mutant(
        name="a provider's id is not reserved",
        why="H20",
        breaks="one result stands under two jobs",
        file="steps/apply.py",
        old="    return isinstance(event, Adopted)\n",
        new="    return event is None\n",
        tests=("tests/steps/test_operators.py", *APPLY),
    ),
    Mutant(
        name="an id that a lookup brought is not reserved",
        why="H20",
        breaks="a provider that replays another job's answer has it bound twice",
        file="steps/apply.py",
        old="        return event.source is Source.POLL or event.submission is None\n",
        new="        return event.submission is None\n",
        tests=APPLY,
    ),
    Mutant(
        name="progress falls",
        why="progress",
        breaks="what is shown goes back when an older event comes late",
        file=EXPRESSIONS,
        old='"pct <= :pct AND #at <= :latest"',
        new='"(pct <= :pct OR attribute_exists(pct)) AND #at <= :latest"',
        tests=DETAILS,
    ),
    Mutant(
        name="every progress is a write",
        why="progress",
        breaks="a chatty provider costs a unit per event",
        file="adapters/table/details.py",
        old="        if progress.percent < FINAL and progress.at - self._kept.get(job_id, 0) < every_ms:\n",
        new="        every_ms = 0\n        if progress.percent < 0:\n",
        tests=DETAILS,
    ),
    Mutant(
        name="another payload under the same key",
        why="idempotency",
        breaks="the payload's digest is not compared: another request is answered with the first one's job",
        file="adapters/idempotency.py",
        old="        if job.payload_digest != self._job.payload_digest:\n",
        new="        if job.id != self._job.id:\n",
        tests=("tests/adapters/test_idempotency.py",),
    ),
    Mutant(
        name="the tenant is not in the key",
        why="idempotency",
        breaks="two tenants of one key share a job",
        file="jobs/model.py",
        old="for part in (tenant.encode(), key.encode()):",
        new='for part in (b"", key.encode()):',
        tests=("tests/steps/test_submit.py",),
    ),
    Mutant(
        name="tenant and key run into each other",
        why="idempotency",
        breaks="tenant x of key a#b meets tenant x#a of key b",
        file="jobs/model.py",
        old='digest.update(len(part).to_bytes(4, "big") + part)',
        new="digest.update(part)",
        tests=("tests/cases/test_keys.py",),
    ),
    Mutant(
        name="a cursor of another tenant",
        why="tenants",
        breaks="a cursor says whose list it continues",
        file="adapters/table/queries.py",
        old="""        before = None if cursor is None else _read_cursor(cursor)
        found = self._calls.pages(self._paged(ex.newest(tenant, most + 1, before)))
        return _page([(item["list_at"]["S"], item) for item in islice(found, most + 1)], most)
""",
        new="""        whose, before = (tenant, None) if cursor is None else _read_cursor(cursor).split("/", 1)
        found = self._calls.pages(self._paged(ex.newest(whose, most + 1, before)))
        return _page([(whose + "/" + item["list_at"]["S"], item) for item in islice(found, most + 1)], most)
""",
        tests=INDEXES,
    ),
    Mutant(
        name="another tenant's job is shown",
        why="tenants",
        breaks="whoever knows a job's id reads it",
        file="steps/jobs.py",
        old="if job is None or (job.tenant != caller.tenant and not caller.operator):",
        new="if job is None or (not job.tenant and not caller.operator):",
        tests=("tests/steps/test_callers.py",),
    ),
)
