"""The functions as they are deployed: each one's real handler over ports that can fail at every call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from mediajobs import parts, wiring
from mediajobs.adapters.idempotency import submit_once
from mediajobs.adapters.providers.registry import Registry
from mediajobs.batches import queue_handler
from mediajobs.errors import NoAnswer, Retryable
from mediajobs.jobs.events import Traits
from mediajobs.messages import LinkRules, Request, Response, Rest
from mediajobs.ports import ProviderAdapter, Upload, World
from mediajobs.schedule import tick_of
from mediajobs.steps.reconcile import RUN_MS, reconcile
from mediajobs.steps.store import store
from mediajobs.steps.worker import work
from tests.simulation.world.once import RecordedOnce
from tests.simulation.world.process import Killed, Process

if TYPE_CHECKING:
    from tests.simulation.world.town import Town

Handler = Callable[[dict[str, Any], Any], Any]

# Seconds, as in template.yaml; `tests/simulation/test_kit.py` compares them.
TIMEOUTS_S = {
    "submit": 25,
    "jobs": 25,
    "relay": 30,
    "dispatch": 45,
    "webhook": 25,
    "reconcile": 90,
    "store": 900,
}
HTTP_TIMEOUT_MS = 30_000
LATE_MS = 20_000  # when a request arrives whose sender died while it was on the wire


class Container:
    """A warm execution environment: it is used again and again, by one invocation at a time."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.town: Town = cast("Town", None)
        self.process: Process = cast("Process", None)
        self.handler = self._build()

    def trip(self, call: str, work: Callable[[], Any]) -> Any:
        """One round trip: it can fail on its way there, and on its way back."""
        process, weather = self.process, self.town.weather
        if process.dead:
            raise Killed
        weather.reach(process, call)
        result = work()
        if isinstance(result, Iterator):
            result = iter(list(result))
        weather.leave(process, call)
        return result

    def _build(self) -> Handler:
        if self.function == "reconcile":
            return _reconcile(self, self._world("providers secrets http queues topic once"))
        if self.function == "store":
            return _store(self._world("providers secrets http objects"))
        lazy: Any = getattr(wiring, f"{self.function}_handler")()
        handler: Handler = lazy._build(self._world(lazy._ports))
        return handler

    def _world(self, wanted: str) -> World:
        """What the composition root would hand to this function, and nothing more."""
        ports: dict[str, Any] = {
            "clock": SimpleNamespace(now=lambda: self.town.scheduler.now, sleep=self._sleep),
            "chance": _Plain(self, "chance"),
            "store": _Tripped(self, "table"),
            "metrics": _Plain(self, "metrics"),
            "log": _Plain(self, "log"),
            "settings": _Plain(self, "settings"),
        }
        store = ports["store"]
        grantable: dict[str, Any] = {
            "queues": _Tripped(self, "queues"),
            "topic": _Tripped(self, "topic"),
            "live": _Tripped(self, "live"),
            "objects": _Objects(self),
            "http": _Http(self),
            "secrets": _Secrets(self),
            "once": RecordedOnce(
                lambda: self.town.records, lambda: self.town.scheduler.now, lambda: self.process.deadline, self.trip
            ),
            "create": lambda job: submit_once(store, job),
        }
        given = [name.rstrip("?").replace("tokens", "secrets") for name in wanted.split()]
        grantable["providers"] = _Providers(self, grantable["http"] if "http" in given else None, grantable["secrets"])
        for port in fields(World):
            if port.name not in ports:
                granted = grantable.get(port.name, _Ignored()) if port.name in given else None
                ports[port.name] = granted or parts.Denied(self.function, port.name)
        return World(**ports)

    def _sleep(self, seconds: float) -> None:
        if self.process.dead:
            raise Killed
        self.process.pause(round(seconds * 1000))


def _reconcile(container: Container, world: World) -> Handler:
    """As wiring composes it, with one worker: two would race outside the scheduler."""

    def handler(event: dict[str, Any], context: Any) -> dict[str, str]:
        tick = tick_of(event, context.aws_request_id)
        run_ms = RUN_MS if container.town.threaded else 1
        return {"summary": reconcile(world, tick, workers=1, run_ms=run_ms)}

    return handler


def _store(world: World) -> Handler:
    """As wiring composes it, with one worker, for the same reason."""

    def take(job_id: str, _message: Any, receives: int) -> str:
        return work(world, job_id, "store", receives, lambda: store(world, job_id, workers=1))

    return queue_handler(world, "store", take)


class _Tripped:
    """A port of which every call is a round trip."""

    def __init__(self, container: Container, port: str) -> None:
        self._container, self._port = container, port

    def __getattr__(self, verb: str) -> Any:
        container, port = self._container, self._port
        name = f"{'store' if port == 'table' else port}.{verb}"

        def call(*args: Any, **named: Any) -> Any:
            target = getattr(container.town, port)
            return container.trip(name, lambda: getattr(target, verb)(*args, **named))

        setattr(self, verb, call)
        return call


class _Plain:
    """A port whose calls leave the process only now and then, or never."""

    def __init__(self, container: Container, port: str) -> None:
        self._container, self._port = container, port

    def __getattr__(self, verb: str) -> Any:
        return getattr(getattr(self._container.town, self._port), verb)


class _Secrets:
    """Secrets Manager behind its cache: a call now and then, which may fail."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, object]:
        self._reach()
        return self._container.town.secrets.provider(name, refresh=refresh)

    def tokens(self, *, refresh: bool = False) -> bytes:
        self._reach()
        return self._container.town.secrets.tokens(refresh=refresh)

    def _reach(self) -> None:
        if self._container.town.weather.happens(f"secrets {self._container.function}"):
            raise Retryable("secretsmanager: 500")


class _Ignored:
    """A port of which nothing depends: what is sent there may be lost."""

    def __getattr__(self, verb: str) -> Any:
        return lambda *_, **__: None


class _Providers:
    """Implements `ports.Providers`: the product's registry, of which the town uses some."""

    def __init__(self, container: Container, http: Any, secrets: Any) -> None:
        from tests.simulation.world.town import configuration  # the town knows the functions

        self._container = container
        self._registry = Registry(configuration(), http or parts.Denied(container.function, "http"), secrets)

    def names(self) -> tuple[str, ...]:
        return self._container.town.names

    def get(self, name: str) -> ProviderAdapter:
        if name not in self.names():
            raise KeyError(name)
        return self._registry.get(name)

    def traits(self, name: str, model: str | None = None) -> Traits:
        if name not in self.names():
            raise KeyError(name)
        return self._registry.traits(name, model)


class _Objects:
    """S3: an upload is several calls; a presigned link is none."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._plain = _Tripped(container, "objects")

    def upload(self, key: str, content_type: str) -> Upload:
        return _Upload(self._container, self._plain.upload(key, content_type))

    def resume(self, key: str, upload_id: str) -> Upload | None:
        found = self._plain.resume(key, upload_id)
        return None if found is None else _Upload(self._container, found)

    def read(self, key: str) -> Iterator[bytes]:
        pieces: Iterator[bytes] = self._plain.read(key)
        return pieces

    def delete(self, keys: list[str]) -> None:
        if keys:  # as the adapter: nothing to remove is no call
            self._plain.delete(keys)

    def link(self, key: str, **named: Any) -> str:
        return self._container.town.objects.link(key, **named)


class _Upload:
    """Implements `ports.Upload`."""

    def __init__(self, container: Container, made: Upload) -> None:
        self._trip, self._made = container.trip, made

    @property
    def id(self) -> str | None:
        return self._made.id

    @property
    def kept(self) -> int:
        return self._made.kept

    def write(self, data: bytes) -> None:
        self._trip("objects.write", lambda: self._made.write(data))

    def finish(self) -> None:
        self._trip("objects.finish", self._made.finish)

    def abort(self) -> None:
        self._trip("objects.abort", self._made.abort)


class _Http:
    """Implements `ports.Http`. A submit that is on the wire arrives whatever becomes of its sender."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def submit(self, request: Request) -> Response:
        container, process, town = self._container, self._container.process, self._container.town
        if process.dead:
            raise Killed
        town.weather.reach(process, "http.submit")
        try:
            wire = town.weather.wire(process, request.url)
        except Killed:
            town.scheduler.after(LATE_MS, lambda: town.arrive(request))
            raise
        box: list[Response | Exception] = []
        if wire.arrives_ms:
            town.scheduler.after(wire.arrives_ms, lambda: box.append(town.arrive(request)))
        else:
            box.append(town.arrive(request))
        travel = wire.arrives_ms + wire.answers_ms
        if wire.lost or travel > HTTP_TIMEOUT_MS:
            process.pause(HTTP_TIMEOUT_MS)
            raise NoAnswer("timed out")
        if travel:
            process.pause(travel + 1)
        town.weather.leave(container.process, "http.submit")
        if isinstance(box[0], Exception):
            raise box[0]
        return box[0]

    def get(self, request: Request) -> Response:
        front = self._container.town.front
        return cast("Response", self._container.trip("http.get", lambda: front.get(request)))

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Any:
        front = self._container.town.front
        return self._container.trip("http.stream", lambda: front.download(url, rest or Rest()))


class Fleet:
    """Warm containers, kept between simulations too: wiring one takes longer than most runs."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Container]] = {}

    def take(self, function: str) -> Container:
        idle = self._idle.setdefault(function, [])
        return idle.pop() if idle else Container(function)

    def give_back(self, container: Container) -> None:
        self._idle[container.function].append(container)
