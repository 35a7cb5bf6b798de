"""Hostile requests at the webhook function, in-process, over every strategy and vendor; prints the codes that came.

    python -m tests.hostile_webhooks [--count 100000] [--seed 1]

Each request is a rightly made delivery with something wrong: a spoiled signature, time, body, URL or wrapping, or no
more than noise. Exit 1 if one of them raised, was taken, changed a job, or got a code that the API does not document.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mediajobs.api.routes import ROUTES
from mediajobs.signatures import HmacForm, TimestampedForm, sign_body, sign_timestamped
from tests.api.events import context, proxy
from tests.contract.vendors import bfl, fal, heygen, kling, replicate
from tests.contract.vendors.shape import Vendor
from tests.fakes.jobs import NOW
from tests.unit.providers.vendors.kit import Intake, intake

DOCUMENTED = {200} | {code for route in ROUTES if route.function == "webhook" for code in route.problems}
GENERIC = """
[providers.{name}]
adapter = "generic"
base_url = "https://api.{name}.example"
[providers.{name}.submit]
path = "/v1/jobs"
webhook_field = "url"
[providers.{name}.poll]
path = "/v1/jobs/{{id}}"
[providers.{name}.read]
outputs = "output"
[providers.{name}.webhook]
challenge = "challenge"
{webhook}
[providers.{name}.statuses]
done = "succeeded"
failed = "failed"
[providers.{name}.models]
m = {{ kind = "video" }}
"""
STRATEGIES = {
    "v1a": 'strategy = "standard-webhooks-v1a"',
    "stamped": 'strategy = "timestamped-hex"\nheader = "X-Sig"',
    "body": 'strategy = "body-hmac"\nheader = "X-Sig"\nencoding = "base64"\ntrusted = false',
    "static": 'strategy = "static-header"\nheader = "Authorization"\nprefix = "Bearer "\ntrusted = false',
    "nothing": 'strategy = "none"\ntrusted = false',
}
SECRETS = {
    "v1a": "whpk_" + base64.b64encode(fal.PUBLIC).decode(),
    **dict.fromkeys(["stamped", "body", "static", "nothing"], "a-literal-secret-of-24-c"),
}
VENDORS = (fal.FAL, replicate.REPLICATE, bfl.BFL, kling.KLING, heygen.HEYGEN)
NOISE = ["", "\x00", "é", "\ud800", "{}", "null", "v1,", "t=,v1=", "0" * 64, "0" * 128, "9" * 400, "a" * 5000, "1e400"]


@dataclass
class Report:
    """What came of a run."""

    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        total = sum(self.codes.values())
        yield f"{total} hostile requests in {self.seconds:.1f} s: " + ", ".join(
            f"{code}: {count}" for code, count in sorted(self.codes.items())
        )
        yield f"unhandled exceptions, codes that are not documented, jobs changed: {len(self.faults)}"
        yield from self.faults[:10]


class Attacker:
    """Makes hostile requests; the same ones for the same seed."""

    def __init__(self, here: Intake, seed: int) -> None:
        self.random = random.Random(seed)
        self.here = here
        self.vendors = {vendor.name: vendor for vendor in VENDORS}
        self.names = [*self.vendors, *STRATEGIES]
        self.paths = {name: here.path(here.put(name, self._model(name), name)) for name in self.names}
        self.ways: list[Callable[[str], dict[str, Any]]] = [
            self.spoiled_signature, self.odd_time, self.other_body, self.wrong_url, self.noise, self.odd_wrapping,
            self.unusable_but_signed, self.challenge,
        ]  # fmt: skip

    def request(self) -> dict[str, Any]:
        name = self.random.choice(self.names)
        return self.random.choice(self.ways)(name)

    def spoiled_signature(self, name: str) -> dict[str, Any]:
        """One header gone, cut, doubled or replaced."""
        raw, headers = self._good(name)
        if not headers:
            return self.wrong_url(name)
        spoilt = self.random.choice(self._signed_headers(headers))
        value = headers[spoilt]
        at = self.random.randrange(max(1, len(value)))
        odd: Any = self.random.choice([
            None, value[:at], value[:at] + "0" + value[at:],
            self.random.choice(NOISE), [value + ".", "x"], value[::-1] + ".",
        ])  # fmt: skip
        changed = {key: one for key, one in headers.items() if key != spoilt}
        if odd is not None:
            changed[spoilt] = odd
        return self._event(self.paths[name], raw, changed)

    def odd_time(self, name: str) -> dict[str, Any]:
        """Rightly signed, but for another time: for a hint, which has none, a body that was never signed."""
        away = self.random.choice([-(10**9), -86_400, -301, 301, 10**6])
        raw, headers = self._good(name, NOW // 1000 + away)
        if name in ("body", "bfl", "heygen", "static", "kling", "nothing"):
            return self.other_body(name)
        return self._event(self.paths[name], raw, headers)

    def other_body(self, name: str) -> dict[str, Any]:
        """The headers of one delivery over another body; where no body is signed, another job's URL."""
        raw, headers = self._good(name)
        if name in ("static", "kling", "nothing"):
            return self.wrong_url(name)
        at = self.random.randrange(len(raw))
        return self._event(self.paths[name], raw[:at] + self.random.randbytes(3) + raw[at + 2 :], headers)

    def wrong_url(self, name: str) -> dict[str, Any]:
        """A token, job, submission, provider or form that is not ours."""
        raw, headers = self._good(name)
        path = self.paths[name]
        stem, _, token = path.rpartition(".")
        other = self.random.choice([
            f"{stem}.{token[::-1]}", f"{stem}.{token[:-1]}", path.replace(".1.", ".2."), f"{stem}.{'a' * 26}",
            f"/v1/webhooks/{name}/{self.random.choice(['x', '..', '%2e%2e', 'a' * 3000, token])}",
            path.replace(f"/{name}/", f"/{self.random.choice([*self.names, 'nobody'])}x/"),
        ])  # fmt: skip
        return self._event(other, raw, headers)

    def noise(self, name: str) -> dict[str, Any]:
        """Headers and body of nothing in particular."""
        headers = {header: self.random.choice(NOISE) for header in self._good(name)[1]}
        headers["X-Odd"] = self.random.choice(NOISE)
        return self._event(self.paths[name] + ("" if headers else "x"), self.random.randbytes(40), headers, force=True)

    def odd_wrapping(self, name: str) -> dict[str, Any]:
        """What a gateway never sends: flags, types and members of other kinds."""
        raw, headers = self._good(name)
        event = self._event(self.paths[name], raw, headers)
        event["body"] = self.random.choice([None, "%%%", "YQ", 5, [], raw.decode("latin-1"), "é" * 10])
        event["isBase64Encoded"] = self.random.choice([True, "true", None, 1])
        event["multiValueHeaders"] = self.random.choice([None, {}, [], {"a": None}, {"webhook-id": [None, 5]}])
        event["headers"] = self.random.choice([None, {}, [], {"webhook-id": 5}])
        if self.random.random() < 0.2:
            event["pathParameters"] = self.random.choice([None, {}, {"provider": None}, {"provider": 5}])
        return self._unproven(name, event)

    def unusable_but_signed(self, name: str) -> dict[str, Any]:
        """Rightly signed, and no job's event: a 400. Where nobody signs, the URL is wrong as well."""
        body = self.random.choice([
            b"", b"null", b"[]", b"42", b'"x"', b'{"id":null}', b'{"id":7}', b'{"id":""}', b'{"id":"x"}', b"\xff",
            b'{"id":"a","id":"b","status":"done"}', b'{"id":"x","status":NaN}',
            b"[" * 5000, b'{"id":"' + b"x" * 3000 + b'"}',

        ])  # fmt: skip
        _, headers = self._good(name, body=body)
        return self._unproven(name, self._event(self.paths[name], body, headers))

    def challenge(self, name: str) -> dict[str, Any]:
        """A test delivery of somebody who proves nothing must not be answered."""
        raw = json.dumps({"challenge": self.random.choice(NOISE) or "x"}).encode()
        _, headers = self._good(name)
        changed = {key: value[:-2] for key, value in headers.items()}
        return self._unproven(name, self._event(self.paths[name], raw, changed))

    def _unproven(self, name: str, event: dict[str, Any]) -> dict[str, Any]:
        """Where nothing but the URL proves anybody, the URL is spoiled too."""
        if name in ("kling", "nothing"):
            path = str(event["path"])[:-1]
            event["path"] = path
            if isinstance(event.get("pathParameters"), dict) and "ref" in event["pathParameters"]:
                event["pathParameters"] = {**event["pathParameters"], "ref": path.rpartition("/")[2]}
        return event

    def _signed_headers(self, headers: dict[str, str]) -> list[str]:
        return [name for name in headers if name not in ("Heygen-Timestamp", "Heygen-Event-Id")]

    def _model(self, name: str) -> str:
        return self.vendors[name].model if name in self.vendors else "m"

    def _good(self, name: str, at: int = NOW // 1000, body: bytes | None = None) -> tuple[bytes, dict[str, str]]:
        """A delivery that would be taken."""
        vendor: Vendor | None = self.vendors.get(name)
        if vendor is not None:
            raw = json.dumps(self.random.choice(vendor.webhooks).body).encode() if body is None else body
            return raw, vendor.sign(raw, at) if vendor.sign else {}
        raw = b'{"id": "p-1", "status": "done", "output": ["https://cdn.example/1"]}' if body is None else body
        return raw, dict(_sign(name, raw, at))

    def _event(self, path: str, raw: bytes, headers: dict[str, Any], *, force: bool = False) -> dict[str, Any]:
        event = proxy("POST", path, body=raw, headers=headers, caller=None)
        if force and self.random.random() < 0.1:
            event["httpMethod"] = self.random.choice(["GET", "HEAD", "OPTIONS", "PUT", "", "post"])
        return event


def _sign(name: str, raw: bytes, at: int) -> Iterator[tuple[str, str]]:
    secret = SECRETS[name]
    if name == "v1a":
        mac = base64.b64encode(fal.KEY.sign(f"msg_1.{at}.".encode() + raw)).decode()
        yield from {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": f"v1a,{mac}"}.items()
    elif name == "stamped":
        yield "X-Sig", sign_timestamped(secret, at, raw, TimestampedForm(header="X-Sig"))
    elif name == "body":
        yield "X-Sig", sign_body(secret, raw, HmacForm(header="X-Sig", encoding="base64"))
    elif name == "static":
        yield "Authorization", f"Bearer {secret}"


def target() -> Intake:
    """The function with everything configured, and one job of each provider."""
    tables = "".join(GENERIC.format(name=name, webhook=webhook) for name, webhook in STRATEGIES.items())
    here = intake(*VENDORS, tables=tables)
    for name, secret in SECRETS.items():
        here.secrets.put(name, "sk-one-two-three", secret)
    return here


def attack(count: int, seed: int, here: Intake | None = None) -> Report:
    """Send `count` requests, and look at every answer and, in the end, at every job."""
    here = here or target()
    attacker = Attacker(here, seed)
    before = repr(sorted(here.scene.store.jobs.items()))
    report, started = Report(), time.monotonic()
    for number in range(count):
        event = attacker.request()
        try:
            answer = here.handler(event, context())
        except Exception as error:  # noqa: BLE001 this is what the run looks for
            report.faults.append(f"request {number} raised {error!r}")
            continue
        code = answer["statusCode"]
        report.codes[code] += 1
        if code not in DOCUMENTED | {405} or code in (200, 500):
            report.faults.append(f"request {number} was answered with {code}: {answer['body'][:200]} {event['path']}")
        if number % 1000 == 999:
            here.scene.lines.seek(0)
            here.scene.lines.truncate()
            here.scene.counts.counted.clear()
    report.seconds = time.monotonic() - started
    if repr(sorted(here.scene.store.jobs.items())) != before:
        report.faults.append("a job was changed")
    if here.wire.gets:
        report.faults.append(f"{len(here.wire.gets)} questions went to a provider")
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile_webhooks", description="Attack the webhook function."
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    report = attack(options.count, options.seed)
    for line in report.lines():
        print(line)  # noqa: T201 printing is what a command is for
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
