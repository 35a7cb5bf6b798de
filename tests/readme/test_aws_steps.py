"""The README's way to AWS, followed as printed, on an emulator that is the account."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from local.front import Front, Target
from local.provider.server import SimulatedProvider
from local.setup import ensure
from local.stack import deploy, emulator
from local.stack.clients import clients
from local.stack.places import Place
from local.stack.processes import Processes, exclusive, free_port
from tests.readme import checkout, reading

pytestmark = pytest.mark.stack

README = reading.README.read_text()
DEPLOY = reading.section(README, "Deploy to AWS")
STEPS = reading.steps(DEPLOY)
REMOVAL = reading.typed(reading.blocks(DEPLOY, "console")[-1])[-1]
# What the README means by "put your provider in place of `example`": here, the one that runs on this machine.
EDITS = {
    'base_url = "https://api.example.com"': 'base_url = "{url}/sim"',
    'hosts = ["cdn.example.com"]': 'hosts = ["127.0.0.1"]\nallow_http = true\nallow_private = true',
    "expected_s = 120\nmax_run_s = 3600\npoll_floor_s = 10": "expected_s = 4\nmax_run_s = 60\npoll_floor_s = 2",
    ", expected_s = 20 }": " }",
}


@pytest.fixture(scope="module")
def account() -> Iterator[int]:
    """The port of an emulator with nothing in it; it ends with this process, however that ends."""
    ensure("sam")
    ensure("ministack")
    place, port = Place("aws"), free_port()
    processes = Processes(place)
    with exclusive(place):
        processes.stop()
        shutil.rmtree(place.emulator, ignore_errors=True)
    guard = [sys.executable, "-m", "local.stack", "guard", "--name", place.name]
    processes.start("guard", guard, emulator.plain_environment(), stdin=subprocess.PIPE)
    try:
        emulator.start(place, processes, port)
        yield port
    finally:
        processes.stop()
        shutil.rmtree(place.emulator, ignore_errors=True)


@pytest.fixture(scope="module")
def provider() -> Iterator[SimulatedProvider]:
    simulated = SimulatedProvider()
    simulated.start()
    yield simulated
    simulated.stop()


class Address:
    """The one address of the API, known before the API is: what a person's own domain is on AWS."""

    def __init__(self) -> None:
        self.target: Target | None = None
        self.front = Front(0, lambda: self.target)
        self.url = f"http://127.0.0.1:{self.front.server_address[1]}"


@pytest.fixture
def address() -> Iterator[Address]:
    made = Address()
    thread = threading.Thread(target=made.front.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield made
    made.front.shutdown()
    thread.join()
    made.front.server_close()


class Account:
    """One person's shell: where they are, what they know so far, what the last command printed."""

    def __init__(self, folder: Path, env: Mapping[str, str], values: dict[str, str]) -> None:
        self.folder, self.env, self.values = folder, env, values

    def types(self, step: reading.Typed) -> str:
        done = reading.run(step.filled(self.values), self.folder, self.env)
        assert done.returncode == 0, f"{step.command}\n{done.stdout}\n{done.stderr}"
        assert step.missing(done.stdout) == [], f"{step.command} printed\n{done.stdout}"
        self.values |= dict(re.findall(r"^([A-Z][A-Za-z]+) +(\S+)$", done.stdout, re.MULTILINE))
        return done.stdout


def test_six_commands_end_in_a_job_that_succeeds_and_one_removes_it_all(
    account: int, provider: SimulatedProvider, address: Address, tmp_path: Path
) -> None:
    """Each command is the README's own, and prints what the README says; the job then reaches its result."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    folder = checkout.make(tmp_path / "checkout")
    # What only an account of one's own can say, and what only the emulator needs.
    parameters = f"Local=true Architecture={deploy.architecture()} PublicBaseUrl={address.url}"
    keys = provider.credentials.public()["providers"]["sim"]
    values = {"api key": keys["api_key"], "whsec_...": keys["webhook_secrets"][0]}
    person = Account(folder, checkout.environment(folder, account, PARAMETERS=parameters), values)
    configure, build, ship, secret, key, submit = STEPS
    person.types(configure)
    edit(folder / "shared" / "providers.toml", provider.base_url)
    person.types(build)
    # The one difference to AWS in what is printed: the address is this machine's.
    person.types(reading.Typed(ship.command, tuple(line.replace("https", "http") for line in ship.prints)))
    address.target = Target(account, f"/_aws/execute-api/{api_id(account)}/api")
    person.types(secret)
    person.values["key"] = person.types(key).strip()
    made = json.loads(person.types(submit))
    job = until_ended(person, f"{address.url}/v1/jobs/{made['request_id']}")
    assert job["status"] == "succeeded", job
    assert provider.ledger.snapshot(summary=False)["charges"] == 1
    person.types(REMOVAL)
    kept = {person.values["TableName"], person.values["BucketName"], "mediajobs-dev/providers/example"}
    assert leftovers(account) == kept


def edit(configuration: Path, url: str) -> None:
    text = configuration.read_text()
    for old, new in EDITS.items():
        assert text.count(old) == 1, f"shared/providers.toml has changed: {old}"
        text = text.replace(old, new.replace("{url}", url))
    configuration.write_text(text)


def api_id(port: int) -> str:
    (stack,) = clients(f"http://127.0.0.1:{port}")("cloudformation").describe_stacks(StackName="mediajobs-dev")[
        "Stacks"
    ]
    (found,) = [each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == "ApiId"]
    return str(found)


def until_ended(person: Account, url: str) -> dict[str, object]:
    """The job as `curl` reads it once it has ended, as in the README's first lines."""
    end = time.monotonic() + 150
    job: dict[str, object] = {}
    while time.monotonic() < end and job.get("status") not in ("succeeded", "failed", "canceled"):
        read = f'curl -s {url} -H "X-API-Key: {person.values["key"]}"'
        job = json.loads(reading.run(read, person.folder, person.env).stdout)
        time.sleep(0.3)
    return job


def leftovers(port: int) -> set[str]:
    """What outlives the removal, by name. sam's own bucket for uploads is another stack's."""
    client = clients(f"http://127.0.0.1:{port}")
    functions = client("lambda").list_functions()["Functions"]
    secrets = client("secretsmanager").list_secrets()["SecretList"]
    buckets = [each["Name"] for each in client("s3").list_buckets()["Buckets"]]
    return {
        *(each["FunctionName"] for each in functions),
        *(each["Name"] for each in secrets),
        *client("dynamodb").list_tables()["TableNames"],
        *client("sqs").list_queues().get("QueueUrls", []),
        *(name for name in buckets if not name.startswith("aws-sam-cli-managed")),
    }
