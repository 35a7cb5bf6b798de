"""Look at a deployed stack and say what would hurt it, and what to do about it.

    python -m cli.doctor --stack mediajobs-dev

One line for each thing looked at: `ok`, `note` (good to know) or `FAULT` (jobs, or the people who care for them, will
miss it). Exit 1 when there is a fault. It only reads; the one request that does not go to AWS is an unsigned webhook to
the stack's own address, which is refused.
"""

import argparse
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cli.checks import CHECKS, Finding, Level
from cli.deployed import Deployed, DeployedError, Stack, get
from mediajobs.errors import MediaJobsError

UNREADABLE = (BotoCoreError, ClientError, MediaJobsError, OSError, zipfile.BadZipFile)


def examine(it: Deployed) -> Iterator[Finding]:
    """Every finding. What may not be read, or cannot, is a note: one missing right hides nothing else."""
    for check in CHECKS:
        try:
            yield from check(it)
        except UNREADABLE as error:
            yield Finding(Level.NOTE, check.__name__, f"could not be looked at: {error}")


def _clients() -> Callable[[str], Any]:
    session = boto3.Session()

    @cache
    def client(service: str) -> Any:
        return session.client(service)  # type: ignore[call-overload]

    return client


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.doctor", description=__doc__.partition("\n")[0])
    parser.add_argument("--stack", required=True, help="the CloudFormation stack, for example mediajobs-dev")
    name = parser.parse_args(arguments).stack
    client = _clients()
    try:
        stack = Stack.read(client("cloudformation"), name)
    except (DeployedError, ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{stack.name} is {stack.status}")
    faults = 0
    for finding in examine(Deployed(stack, client, get)):
        print(f"{finding.level:5} {finding.subject:11} {finding.text}", flush=True)
        faults += finding.level is Level.FAULT
    print(f"{faults} fault{'s' * (faults != 1)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
