"""The steps by which a stack comes up, in order; each says in a line what it did and how long it took."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cli import keys
from local.stack import deploy, emulator, live, seed
from local.stack.clients import Clients, clients
from local.stack.places import ROOT, Place, read_json, write_json
from local.stack.processes import Processes, free_port
from local.stack.repair import repair
from local.stack.template import Template
from local.vendors import signup

Say = Callable[[str], None]

PROVIDERS = ROOT / "local" / "providers.toml"
TENANT = "demo"
FAULTS = ("none", "default", "heavy")
# What the template asks of MaxInFlight.
LEAST_IN_FLIGHT = 2


@dataclass(frozen=True)
class Wanted:
    """How a stack is to be. Kept in stack.json, so that a redeploy is like the first deploy."""

    providers: Path = PROVIDERS
    max_in_flight: int = 4
    seed: int = 1
    faults: str = "none"
    # Template parameters and options of the simulated provider beyond these, for a run that needs them.
    parameters: Mapping[str, str] = field(default_factory=dict)
    provider_options: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"providers": str(self.providers), "provider_options": list(self.provider_options)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Wanted":
        providers, options = Path(kept["providers"]), tuple(kept["provider_options"])
        return cls(**(dict(kept) | {"providers": providers, "provider_options": options}))


@dataclass(frozen=True)
class Ports:
    """Where the three servers of a stack listen on 127.0.0.1."""

    emulator: int
    front: int
    provider: int

    @classmethod
    def choose(cls, place: Place) -> "Ports":
        """Those of the last time where they are free: a provider at its old address needs no new layer."""
        last = read_json(place.ports)
        chosen: dict[str, int] = {}
        for name in ("emulator", "front", "provider"):
            port = free_port(last.get(name))
            while port in chosen.values():
                port = free_port()
            chosen[name] = port
        write_json(place.ports, chosen)
        return cls(**chosen)

    @classmethod
    def last(cls, place: Place) -> "Ports":
        return cls(**read_json(place.ports))


@dataclass(frozen=True)
class Bringing:
    """A stack on its way up, or again through build and deploy."""

    place: Place
    processes: Processes
    wanted: Wanted
    ports: Ports
    say: Say

    @property
    def provider_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.provider}"

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.front}"

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.emulator}"

    @property
    def _values(self) -> dict[str, str]:
        """What stands for ${NAME} in the provider configuration."""
        return {"PROVIDER_URL": self.provider_url}

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.say(f"stack {self.place.name}: {what} ({time.monotonic() - started:.1f} s)")

    def servers(self) -> None:
        """Start the emulator, the provider and the front, and wait until they answer.

        Raises StackError for a provider configuration that cannot be used, before anything is started.
        """
        deploy.configuration(self.wanted.providers, self._values)
        with self._step(f"emulator on 127.0.0.1:{self.ports.emulator}"):
            emulator.start(self.place, self.processes, self.ports.emulator)
        with self._step(f"simulated provider on 127.0.0.1:{self.ports.provider}, faults {self.wanted.faults}"):
            self.start_provider()
        with self._step(f"front on 127.0.0.1:{self.ports.front}"):
            self._start_front()

    def start_provider(self) -> None:
        """On its port, with its journal: one that was killed goes on where it was."""
        options = {
            "--port": self.ports.provider,
            "--seed": self.wanted.seed,
            "--faults": self.wanted.faults,
            "--state": self.place.provider,
        }
        told = [str(word) for pair in options.items() for word in pair]
        command = [sys.executable, "-m", "local.provider", *told, *self.wanted.provider_options]
        self.processes.start("provider", command, emulator.plain_environment())
        emulator.wait_until_healthy(self.place, self.processes, "provider", f"{self.provider_url}/_health")

    def _start_front(self) -> None:
        command = [sys.executable, "-m", "local.front"]
        command += ["--port", str(self.ports.front), "--target", str(self.place.front_target)]
        self.processes.start("front", command, emulator.plain_environment())
        emulator.wait_until_listening(self.place, self.processes, "front", self.ports.front)

    def product(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Build, deploy, repair and seed; what stack.json is to say. Keys in `kept` are kept."""
        client = clients(self.endpoint_url)
        queue_url, queue_arn = seed.subscriber_queue(client("sqs"), self.place)
        deploy.stage(self.place, self.wanted.providers, self._values)
        parameters = self._parameters(queue_arn)
        with self._step("sam build"):
            deploy.build(self.place, self.ports.emulator, parameters)
        with self._step("sam deploy"):
            deploy.deploy(self.place, self.ports.emulator, parameters)
        outputs = deploy.outputs(client("cloudformation"), self.place)
        physical = deploy.physical_names(client("cloudformation"), self.place)
        template = Template.load(self.place.built_template, parameters)
        self._aim_front(outputs, self._listened_to(client, template, physical))
        self._repair(client, template, physical)
        self._put_secrets(client, outputs)
        info = self._info(outputs, physical, queue_url) | self._keys(client, outputs["TableName"], kept)
        write_json(self.place.info, info, private=True)
        return info

    def _parameters(self, queue_arn: str) -> dict[str, str]:
        given = {
            "Runtime": deploy.runtime(),
            "Architecture": deploy.architecture(),
            "Local": "true",
            "MaxInFlight": str(self.wanted.max_in_flight),
            "PublicBaseUrl": self.api_url,
            "LiveBaseUrl": self.api_url,
            "SubscriberQueueArn": queue_arn,
            "CallbackHosts": "127.0.0.1",
        }
        return deploy.declared(self.place, given | dict(self.wanted.parameters))

    def _listened_to(self, client: Clients, template: Template, physical: Mapping[str, str]) -> dict[str, str]:
        """The hosts of the Events API."""
        authorize = client("lambda").get_function_configuration(FunctionName=physical["Authorize"])["FunctionArn"]
        with self._step("Events API for live progress"):
            return live.ensure(client("appsync"), template, f"{self.place.stack_name}-live", authorize)

    def _aim_front(self, outputs: Mapping[str, str], hosts: Mapping[str, str]) -> None:
        prefix = f"/_aws/execute-api/{outputs['ApiId']}/{outputs['StageName']}"
        write_json(self.place.front_target, {"port": self.ports.emulator, "prefix": prefix, "live": dict(hosts)})

    def _repair(self, client: Clients, template: Template, physical: Mapping[str, str]) -> None:
        with self._step("repaired what the emulator dropped"):
            for done in repair(template, physical, client):
                self.say(f"stack {self.place.name}:   {done}")

    def _put_secrets(self, client: Clients, outputs: Mapping[str, str]) -> None:
        prefix = outputs["ProviderSecretPrefix"]
        names = seed.provider_names(self.place.sources / "shared" / "providers.toml")
        known = signup.with_endpoints(self.provider_url, self.api_url, seed.provider_credentials(self.provider_url))
        for name in seed.provider_secrets(client("secretsmanager"), prefix, names, known):
            self.say(
                f"stack {self.place.name}: put the secret {prefix}{name} yourself (docs/providers.md, On the laptop)"
            )

    def _keys(self, client: Clients, table: str, kept: Mapping[str, Any]) -> dict[str, str]:
        if "api_key" in kept:
            return {name: kept[name] for name in ("api_key", "operator_key")}
        scopes = {"api_key": "user", "operator_key": "operator"}
        return {name: keys.create(client("dynamodb"), table, TENANT, scope) for name, scope in scopes.items()}

    def _info(self, outputs: Mapping[str, str], physical: Mapping[str, str], subscriber: str) -> dict[str, Any]:
        functions = Template.load(self.place.built_template, {}).resources
        return {
            "name": self.place.name,
            "api_url": self.api_url,
            "provider_url": self.provider_url,
            "endpoint_url": self.endpoint_url,
            "region": emulator.REGION,
            "stack_name": self.place.stack_name,
            "tenant": TENANT,
            "table": outputs["TableName"],
            "idempotency_table": outputs["IdempotencyTableName"],
            "bucket": outputs["BucketName"],
            "topic_arn": outputs["TopicArn"],
            "queue_urls": {
                "dispatch": outputs["DispatchQueueUrl"],
                "store": outputs["StoreQueueUrl"],
                "urgent": outputs["UrgentQueueUrl"],
                "dead_letter": outputs["DeadLetterQueueUrl"],
                "subscriber": subscriber,
            },
            "functions": {
                name: physical[name] for name, it in functions.items() if it["Type"] == "AWS::Serverless::Function"
            },
            "outputs": dict(outputs),
            "pids": {name: pid for name, pid in self.processes.alive().items() if name != "guard"},
            "wanted": self.wanted.to_json(),
        }
