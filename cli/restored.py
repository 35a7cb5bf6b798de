"""After the job table was put back to an earlier moment: put in question what may have been sent since.

    python -m cli.restored --table TABLE [--submitted LINES] [--put-back-from RESTORED]

It pauses every provider; makes anew, from the log lines of function submit, the rows of jobs that were submitted after
that moment; and puts every job that may have been sent to its provider since into question: looked up where the
provider can, else a person is asked. Nothing is sent. Safe to repeat. docs/restore.md is the whole procedure.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.clock import SystemChance, SystemClock
from mediajobs.errors import MediaJobsError
from mediajobs.messages import Settings
from mediajobs.parts import PROVIDERS, Denied
from mediajobs.ports import Providers, Store, World
from mediajobs.steps import restore
from mediajobs.steps.jobs import FOR_EVER

FUNCTION = "restored"


def world_of(store: Store, providers: Providers, *, max_in_flight: int) -> World:
    """A world in which nothing but the table can be reached."""
    ports = ("queues", "topic", "live", "objects", "http", "secrets", "once", "create", "callbacks")
    denied: dict[str, Any] = {port: Denied(FUNCTION, port) for port in ports}
    quiet = cast("Any", SimpleNamespace(count=_ignore, info=_ignore, warning=_ignore, error=_ignore))
    return World(
        clock=SystemClock(),
        chance=SystemChance(),
        store=store,
        providers=providers,
        metrics=quiet,
        log=quiet,
        settings=Settings(max_in_flight=max_in_flight),
        **denied,
    )


def _ignore(*_: object, **__: object) -> None:
    """Nobody listens to metrics and logs here."""


def lines(texts: Iterable[str]) -> Iterator[dict[str, object]]:
    """The JSON objects among these lines, wherever in a line one begins: exports put a time or a stream before it."""
    for text in texts:
        start = text.find("{")
        try:
            line = json.loads(text[start:]) if start >= 0 else None
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def as_in(store: Store, restored: Store) -> list[str]:
    """Open jobs that stand as they stood then: put back, or not touched since."""
    ids = [job_id for _, job_id in store.due(FOR_EVER)]
    then = {(job.id, job.version, job.written_by) for job in restored.load_many(ids)}
    return [job.id for job in store.load_many(ids) if (job.id, job.version, job.written_by) in then]


def put_in_question(world: World, submitted: Iterable[str], only: Iterable[str] | None) -> str:
    """Everything, in the order that is safe; what was done, in a line for a person."""
    restore.close(world)
    made = restore.make_anew(world, lines(submitted))
    count = restore.question(world, only)
    return (
        f"{len(world.providers.names())} providers paused, {made} lost rows made anew, "
        f"{count.questioned} jobs in question, {count.left} go on as they are"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.restored", description=__doc__.partition("\n")[0])
    parser.add_argument("--table", required=True, help="the job table as it stands now")
    parser.add_argument("--submitted", type=Path, help="lines of function submit's log since then, one JSON each")
    parser.add_argument("--put-back-from", help="only jobs that stand as in this restored table, after cli.put_back")
    parser.add_argument("--providers", type=Path, default=PROVIDERS, help="the deployed providers.toml")
    parser.add_argument("--max-in-flight", type=int, default=10, help="the stack's MaxInFlight")
    options = parser.parse_args(arguments)
    try:
        client = boto3.client("dynamodb")
        store = DynamoStore(client, options.table, clock=SystemClock(), chance=SystemChance())
        unreached = cast("Any", Denied(FUNCTION, "http"))
        providers = Registry(load(options.providers.read_text(encoding="utf-8")), unreached, unreached)
        world = world_of(store, providers, max_in_flight=options.max_in_flight)
        submitted = options.submitted.read_text(encoding="utf-8").splitlines() if options.submitted else []
        only = None
        if options.put_back_from:
            only = as_in(store, DynamoStore(client, options.put_back_from, clock=SystemClock(), chance=SystemChance()))
        print(put_in_question(world, submitted, only))
    except (MediaJobsError, ClientError, BotoCoreError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
