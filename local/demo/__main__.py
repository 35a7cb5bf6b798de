"""`make demo`: a stack of its own, a faulty provider, jobs submitted as a client would, the truth printed beside."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local import vendors
from local.demo import logs, report, truth
from local.demo.client import PROMPTS, Api
from local.demo.listening import Listening
from local.demo.options import Options, parse
from local.demo.people import People
from local.demo.picture import Picture
from local.demo.publications import unpublished
from local.demo.tick import Tick
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
    wanted = Wanted(options.providers, options.max_in_flight, options.seed, options.faults)
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
    watch = Listening(user, Tick(stack.client("logs"), f"/{info['stack_name']}/{'reconcile'}"))
    people = (
        People(user, operator, info["provider_url"], alone=options.provider != "sim-nokey") if options.people else None
    )
    if people is not None:
        people.submit()
        watch.add(people.ids.values())
        if not people.until_asked(240):
            watch.violations.append("invariant 6: an ambiguous submission never showed attention")
    print(f"demo: submitting {options.jobs} jobs through {info['api_url']}", flush=True)
    picture = Picture()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda number: _submitted(user, options, picture, number), range(options.jobs)))
    watch.add(ids)
    if people is not None:
        print("demo: a person answers three open questions, one each way", flush=True)
        people.resolve()
    watch.until_settled(options.wait_s)
    _let_publications_arrive(watch, stack)
    watch.close()
    # A vendor without webhooks is told no word of ours; its double knows those jobs by their seed.
    names = {f"seed-{number}": job_id for number, job_id in enumerate(ids)}
    return _judge(stack, watch, options, time.monotonic() - started, names, picture)


def _submitted(user: Api, options: Options, picture: Picture, number: int) -> str:
    """The last job is made from a picture."""
    key = f"demo-{options.seed}-{number}"
    if not options.vendor:
        if number == options.jobs - 1:
            return picture.submit(user, options.provider, number, key)
        return user.submit(options.provider, number, key)
    model, given = vendors.example(options.vendor, number, PROMPTS[number % len(PROMPTS)])
    return user.submit(options.provider, number, key, model=model, input=given)


def _let_publications_arrive(watch: Listening, stack: Stack) -> None:
    """The last jobs have just ended; their publication follows within seconds, or within a reconcile interval."""
    end = time.monotonic() + 150
    while unpublished(stack.client("dynamodb"), stack.info["table"], watch.jobs) and time.monotonic() < end:
        time.sleep(1)


def _judge(
    stack: Stack, watch: Listening, options: Options, seconds: float, names: dict[str, str], picture: Picture
) -> int:
    path = ROOT / "build" / options.name / "report.json"
    found: Any = truth.read(stack.info, stack.client, watch.jobs, options.max_in_flight, names)
    violations = [*watch.violations, *found.violations(), *picture.violations(found.jobs, found.ledger)]
    if options.faults == "none" and options.told_all_by_webhook and found.polls_per_webhook_settled_job:
        violations.append(f"budget: {found.polls_per_webhook_settled_job} polls per job settled by its webhook")
    logged = logs.lines(stack.client("logs"), stack.info["stack_name"])
    logs.keep(path.parent, logged, found.ledger)
    result = report.figures(found, seconds, logs.count_requests(logged), violations) | picture.figures(found.ledger)
    result["views"] = dict(watch.views)
    report.write(path, result)
    report.show(found, result)
    print(f"report: {path.relative_to(ROOT)}, with functions.log and ledger.json beside it")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
