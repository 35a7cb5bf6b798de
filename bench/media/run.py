"""One run in a process of its own: the product's download, or a plain copy of the same bytes.

    python -m bench.media.run store|copy <port of the files> <port of the sink> <size> <how many>

prints seconds and the process's peak memory in bytes.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

PART_BYTES = 8 * 1024 * 1024
BUCKET = "results"


def store(files: int, sink: int, size: int, count: int) -> Callable[[], None]:
    """As the store function does it, with all that it loads: its client of the table and its providers' settings."""
    from botocore.config import Config

    from mediajobs import parts
    from mediajobs.adapters import aws
    from mediajobs.adapters.http import WebHttp
    from mediajobs.adapters.providers.loading import load
    from mediajobs.adapters.providers.registry import Registry
    from mediajobs.adapters.s3 import S3Objects, client_config
    from mediajobs.clock import SystemClock
    from mediajobs.jobs.model import Link
    from mediajobs.messages import LinkRules, Settings
    from mediajobs.steps.fetch import Order, fetch
    from mediajobs.steps.store import WORKERS, each
    from mediajobs.steps.transfers import Transfers

    here: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
    own = client_config().merge(Config(s3={"addressing_style": "path"}))
    client = aws.client("s3", config=own, endpoint_url=f"http://127.0.0.1:{sink}", **here)
    for name in ("dynamodb", "secretsmanager"):
        aws.client(name, **here)
    http = WebHttp()
    kept = Registry(load(parts.PROVIDERS.read_text(encoding="utf-8")), http, cast("Any", None))
    world: Any = SimpleNamespace(
        clock=SystemClock(),
        http=http,
        objects=S3Objects(client, BUCKET),
        providers=kept,
        settings=Settings(max_in_flight=1),
        store=SimpleNamespace(transfers=lambda _: (), save_transfer=lambda *_, **__: True),
        log=SimpleNamespace(info=lambda *_, **__: None),
    )
    transfers = Transfers(world, cast("Any", SimpleNamespace(id="job", failures=0, since=0)), "run")
    rules = LinkRules(allow_http=True, allow_private=True, kind="video", max_bytes=size)
    link = Link(url=f"http://127.0.0.1:{files}/{size}", size=size)

    def one(number: int) -> Any:
        order = Order(number=number, link=link, rules=rules, headers={}, key=f"results/{number}")
        return fetch(world, order, transfers)

    def run() -> None:
        outputs = each(one, count, WORKERS, [])
        if [output.size for output in outputs] != [size] * count:
            raise SystemExit("not all of it came")

    return run


def copy(files: int, sink: int, size: int, count: int) -> Callable[[], None]:
    """Nothing is looked at, nothing is counted."""

    def run() -> None:
        for _ in range(count):
            with (
                contextlib.closing(http.client.HTTPConnection("127.0.0.1", files)) as source,
                contextlib.closing(http.client.HTTPConnection("127.0.0.1", sink)) as target,
            ):
                source.request("GET", f"/{size}")
                answer = source.getresponse()
                while part := answer.read(PART_BYTES):
                    target.request("PUT", f"/{BUCKET}/x?partNumber=1", body=part)
                    target.getresponse().read()

    return run


def main() -> None:
    what, *numbers = sys.argv[1:]
    run = {"store": store, "copy": copy}[what](*map(int, numbers))
    started = time.perf_counter()
    run()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "peak": _peak()}))


def _peak() -> int:
    """Bytes. Linux keeps in `ru_maxrss` what the process was that started this one; its own page knows better."""
    own = Path("/proc/self/status")
    if own.is_file():
        return int(next(line for line in own.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
