"""`make demo`: a stack of its own, a faulty provider, jobs submitted as a client would, the truth printed beside."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from local.demo import logs, report, truth
from local.demo.client import Api
from local.demo.options import Options, parse
from local.demo.people import People
from local.demo.publications import unpublished
from local.demo.tick import Tick
from local.demo.watch import Watch
from local.stack.places import ROOT, StackError
from local.stack.stack import Stack
from local.stack.start import Wanted


def main() -> int:
    """Run; 0 only where no invariant was violated."""
    options = parse()
    print(
        f"demo: {options.jobs} jobs on {options.provider}, faults {options.faults}, seed {options.seed}, "
        f"limit {options.max_in_flight}",
        flush=True,
    )
    wanted = Wanted(max_in_flight=options.max_in_flight, seed=options.seed, faults=options.faults)
    try:
        with Stack.start(options.name, wanted) as stack:
            return run(stack, options)
    except StackError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2


def run(stack: Stack, options: Options) -> int:
    """The main job on a stack that is up; writes the report."""
    info = stack.info
    user, operator = Api(info["api_url"], info["api_key"]), Api(info["api_url"], info["operator_key"])
    started = time.monotonic()
    watch = Watch(user, Tick(stack.client("logs"), f"/{info['stack_name']}/{'reconcile'}"))
    people = People(user, operator, info["provider_url"], alone=options.idempotent) if options.people else None
    if people is not None:
        people.submit()
        watch.add(people.ids.values())
        if not people.until_asked(240):
            watch.violations.append("invariant 6: an ambiguous submission never showed attention")
    print(f"demo: submitting {options.jobs} jobs through {info['api_url']}", flush=True)
    with ThreadPoolExecutor(4) as pool:
        watch.add(
            pool.map(
                lambda number: user.submit(options.provider, number, f"demo-{options.seed}-{number}"),
                range(options.jobs),
            )
        )
    if people is not None:
        print("demo: a person answers three open questions, one each way", flush=True)
        people.resolve()
    watch.until_settled(options.wait_s)
    _let_publications_arrive(watch, stack)
    return _judge(stack, watch, options, time.monotonic() - started, ROOT / "build" / options.name / "report.json")


def _let_publications_arrive(watch: Watch, stack: Stack) -> None:
    """The last jobs have just ended; their publication follows within seconds, or within a reconcile interval."""
    end = time.monotonic() + 150
    while unpublished(stack.client("dynamodb"), stack.info["table"], watch.jobs) and time.monotonic() < end:
        time.sleep(1)


def _judge(stack: Stack, watch: Watch, options: Options, seconds: float, path: Path) -> int:
    found: Any = truth.read(stack.info, stack.client, watch.jobs, options.max_in_flight)
    violations = [*watch.violations, *found.violations()]
    if options.faults == "none" and found.polls_per_webhook_settled_job:
        violations.append(f"budget: {found.polls_per_webhook_settled_job} polls per job settled by its webhook")
    logged = logs.lines(stack.client("logs"), stack.info["stack_name"])
    logs.keep(path.parent, logged, found.ledger)
    result = report.figures(found, seconds, logs.count_requests(logged), violations)
    report.write(path, result)
    report.show(found, result)
    print(f"report: {path.relative_to(ROOT)}, with functions.log and ledger.json beside it")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
