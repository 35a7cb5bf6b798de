"""Breakages of storing, publishing, reconcile and what a job's ids are made of."""

from __future__ import annotations

from tests.simulation.mutants.mutant import CORE, Mutant

PUBLISH = ("tests/steps/test_publish.py",)
STORE = ("tests/steps/test_store.py",)
RECONCILE = ("tests/steps/test_reconcile_looks.py", "tests/steps/test_reconcile_runs.py")

MUTANTS = (
    Mutant(
        name="the publication's id grows with the version",
        why="H9",
        breaks="a finding after the end makes a second event of the same job",
        file="jobs/model.py",
        old="{self.id}-{self.incarnation}-{self.final_version}",
        new="{self.id}-{self.incarnation}-{self.version}",
        tests=(*CORE, *PUBLISH),
    ),
    Mutant(
        name="the publication's id outlives the row",
        why="H10",
        breaks="a later job of the same key is taken for one that was published long ago",
        file="jobs/model.py",
        old="{self.id}-{self.incarnation}-{self.final_version}",
        new="{self.id}-{self.final_version}",
        tests=(*CORE, *PUBLISH),
    ),
    Mutant(
        name="the provider's key outlives the row",
        why="H10",
        breaks="a later job of the same key is given the dead result of the earlier one",
        file="jobs/model.py",
        old='return f"{self.id}.{self.submission}.{self.incarnation}"',
        new='return f"{self.id}.{self.submission}"',
    ),
    Mutant(
        name="the webhook URL outlives the row",
        why="H10",
        breaks="an event of an earlier job moves a later one of the same key",
        file="signatures/tokens.py",
        old="""mac(secret, "webhook-url", request_id, incarnation, str(submission))""",
        new="""mac(secret, "webhook-url", request_id, str(submission))""",
        tests=("tests/unit/test_signatures.py",),
    ),
    Mutant(
        name="the webhook URL does not name the submission",
        why="H14",
        breaks="an older submission's event passes for the current one's",
        file="signatures/tokens.py",
        old="""mac(secret, "webhook-url", request_id, incarnation, str(submission))""",
        new="""mac(secret, "webhook-url", request_id, incarnation)""",
        tests=("tests/unit/test_signatures.py",),
    ),
    Mutant(
        name="two store runs write under one key",
        why="H11",
        breaks="the row says one digest and the object is the other run's",
        file="steps/store.py",
        old="    transfers = Transfers(world, job, world.chance.token())\n",
        new='    transfers = Transfers(world, job, "result")\n',
        tests=STORE,
    ),
    Mutant(
        name="in progress is taken for done",
        why="H12",
        breaks="a job is marked as published though its sender died before the send",
        file="steps/publish.py",
        old="""    world.once("publish", key, lambda: _send(world, job))
""",
        new="""    try:
        world.once("publish", key, lambda: _send(world, job))
    except Exception as error:
        if type(error).__name__ != "InProgress":
            raise
""",
        tests=PUBLISH,
    ),
    Mutant(
        name="marked before it is sent",
        why="H12",
        breaks="a crash between mark and send loses the event for ever",
        file="steps/publish.py",
        old="""    world.once("publish", key, lambda: _send(world, job))
    ttl = world.clock.now() // 1000 + world.settings.job_days * DAY_S
    return apply(world, job, Published(ttl=ttl), traits_of(world, job)).change is not None
""",
        new="""    ttl = world.clock.now() // 1000 + world.settings.job_days * DAY_S
    marked = apply(world, job, Published(ttl=ttl), traits_of(world, job)).change is not None
    world.once("publish", key, lambda: _send(world, job))
    return marked
""",
        tests=PUBLISH,
        quick=True,
    ),
    Mutant(
        name="the due time goes with the end",
        why="H12",
        breaks="a job whose relay dies is never published",
        file="jobs/decide.py",
        old="    return unless_far(m, _remember(after, entry))\n",
        new="    entered = unless_far(m, _remember(after, entry))\n"
        "    return replace(entered, due_at=None) if to in TERMINAL else entered\n",
        tests=("tests/core/test_traces_end.py", "tests/core/test_rows_end.py"),
    ),
    Mutant(
        name="a published job is published again",
        why="H9",
        breaks="a finding on a published job sends its event once more",
        file="steps/publish.py",
        old="    if job.state not in TERMINAL or job.published_at is not None:\n",
        new="    if job.state not in TERMINAL:\n",
        tests=PUBLISH,
    ),
    Mutant(
        name="an abandoned run blocks its key",
        why="H12",
        breaks="Powertools is not told how long a run may take: a killed one is in progress until its record expires",
        file="adapters/idempotency.py",
        old="            lambda_context=self._context,  # type: ignore[arg-type]\n",
        new="",
        tests=("tests/adapters/test_idempotency.py",),
    ),
    Mutant(
        name="invalid media fails the job at once",
        why="H22",
        breaks="a paid result is given up for one bad transfer",
        file="steps/store.py",
        old="""            self._world.log.warning("result refused", job=self._job.id, reason=str(error)[:200])
""",
        new="""            return _hopeless(error)
""",
        tests=STORE,
    ),
    Mutant(
        name="a dead link fails the job",
        why="H22",
        breaks="a paid result is given up because its URL has expired",
        file="steps/store.py",
        old="""    if isinstance(error, LinkDead | UnlistedHost):
""",
        new="""    if error is None:
""",
        tests=STORE,
    ),
    Mutant(
        name="a provider without a link fails the job",
        why="H22",
        breaks="a paid result is given up because the provider has no URL now",
        file="steps/store.py",
        old='return NoUrl(message=f"{refused}, and',
        new='return Invalid(message=f"{refused}, and',
        tests=STORE,
    ),
    Mutant(
        name="any link is a result",
        why="H22",
        breaks="a preview of a job that the provider took back is stored as what was paid for",
        file="steps/store.py",
        old=" or report.status is not Status.SUCCEEDED:",
        new=":",
        tests=STORE,
    ),
    Mutant(
        name="an expired link is tried first",
        why="H22",
        breaks="links that are about to end are used to their last second",
        file="steps/store.py",
        old="link.expires_at - CLOSE_MS < now for link in links)",
        new="link.expires_at - CLOSE_MS < 0 for link in links)",
        tests=STORE,
    ),
    Mutant(
        name="some of several outputs are kept",
        why="results",
        breaks="what a failed run has stored stays behind",
        file="steps/store.py",
        old="            self._world.objects.delete([output.key for output in done])\n",
        new="",
        tests=STORE,
    ),
    Mutant(
        name="a look takes the due time away",
        why="H23",
        breaks="a reconcile that dies after its look leaves a job that nobody looks at again",
        file="jobs/rules_end.py",
        old="effect=lambda m: replace(m.job, due_at=m.event.due_at),",
        new="effect=lambda m: replace(m.job, due_at=None),",
    ),
    Mutant(
        name="a retry of the state before delays the next one",
        why="H17",
        breaks="a result waits until the submit in doubt would have been sent again",
        file="jobs/decide.py",
        old="failures=0, misses=0, adopt=None, retry_at=None)",
        new="failures=0, misses=0, adopt=None)",
    ),
    Mutant(
        name="two passes look at one job",
        why="H23",
        breaks="a pass that lost the race for a look acts all the same",
        file="steps/reconcile.py",
        old="    if taken is None:\n        return\n",
        new="    if taken is None:\n        taken = job\n",
        tests=RECONCILE,
    ),
    Mutant(
        name="a failed poll counts as a lost job",
        why="polling",
        breaks="a provider in trouble loses the jobs that it is running",
        file="steps/reconcile.py",
        old="    if report.kind is ReportKind.GONE:\n",
        new="    if report.kind is not ReportKind.WORD:\n",
        tests=RECONCILE,
    ),
    Mutant(
        name="one bad job stops the others",
        why="reconcile",
        breaks="an exception about one job ends the run for all",
        file="steps/reconcile.py",
        old="""        world.metrics.count("ReconcileErrors")
""",
        new="""        world.metrics.count("ReconcileErrors")
        raise
""",
        tests=RECONCILE,
    ),
    Mutant(
        name="a provider that asks for time is polled on",
        why="polling",
        breaks="Retry-After of a poll counts for nothing",
        file="steps/reconcile.py",
        old="    if job.due_at is not None and later > job.due_at:",
        new="    if job.due_at is None:",
        tests=RECONCILE,
    ),
    Mutant(
        name="a claim forgets the first poll",
        why="polling",
        breaks="a job without webhooks that waited is polled when its lease is over",
        file="jobs/rules.py",
        old="        due = min(due, m.now + first_poll(m.traits))\n",
        new="        pass\n",
    ),
    Mutant(
        name="history grows without a bound",
        why="H24",
        breaks="a job of many attempts outgrows its item",
        file="jobs/history.py",
        old="    if len(entries) > KEPT + 1:\n",
        new="    if len(entries) > 1000 * KEPT:\n",
        tests=(*CORE, "tests/core/test_history.py"),
    ),
    Mutant(
        name="the job before its input",
        why="acknowledge",
        breaks="a crash in between leaves a job that nobody can submit",
        file="steps/submit.py",
        old="""    world.store.put_input(job.id, command.body, command.digest, ttl)
    # These two lines outlive the table: `steps.restore` makes a row anew by them that a restore has lost.
    world.log.info("submitting", **birth_of(job))
    kept, replayed = world.create(job)
""",
        new="""    world.log.info("submitting", **birth_of(job))
    kept, replayed = world.create(job)
    world.store.put_input(job.id, command.body, command.digest, ttl)
""",
        tests=("tests/steps/test_submit.py",),
    ),
)
