"""Cold starts: a vendor's module where a job of that vendor is at hand, `cryptography` where a signature needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
VENDORS = {"fal", "replicate", "runway", "bfl", "kling"}  # HeyGen is configuration alone
PREFIX = "mediajobs.adapters.providers."
FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))

WORLD = """
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.messages import Delivery, Response
from mediajobs.errors import Unauthorized

TABLES = '''
[providers.plain]
adapter = "generic"
base_url = "https://api.example.com"
[providers.plain.submit]
path = "/v1/jobs"
[providers.plain.poll]
path = "/v1/jobs/{id}"
[providers.plain.read]
outputs = "output"
[providers.plain.webhook]
[providers.plain.statuses]
done = "succeeded"
failed = "failed"
[providers.plain.models]
"a/b" = { kind = "video" }
''' + ''.join(
    f'[providers.{name}]\\nadapter = "{name}"\\n'
    f'[providers.{name}.models]\\n"a/b" = {{ kind = "video", endpoint = "e" }}\\n'
    for name in ("fal", "replicate", "runway", "bfl", "kling", "heygen")
)

class Http:
    def submit(self, request): return Response(status=200, headers={}, body=b'{"request_id": "r", "id": "r"}')
    def get(self, request): return Response(status=200, headers={}, body=b'{"status": "IN_QUEUE", "keys": []}')

class Secrets:
    def provider(self, name, *, refresh=False):
        return {"api_key": "an-access-key:a-secret-key", "webhook_secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]}
    def tokens(self, *, refresh=False): return b"x" * 64

registry = Registry(load(TABLES), Http(), Secrets())
names = registry.names()
"""

USE = """
import sys
sys.path[:0] = [{root!r}]
from tests.fakes.jobs import a_job
from dataclasses import replace
made = registry.get({name!r})
job = replace(a_job(), provider={name!r}, model="a/b", provider_job_id="r")
made.traits("a/b"), made.models(), made.check_input("a/b", {{}}), made.link_rules("a/b"), made.link_headers()
made.submit(made.request(job, {{}}, "https://x/1"), "t", 1, 0)
made.poll(job, "r"), made.cancel(job), made.lookup(job)
try:
    made.verify(Delivery(provider={name!r}, ref=None, headers={{}}, body=b""), 0)
except Unauthorized:
    pass
"""


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has after `code`."""
    probe = f"import sys\nsys.path[:0] = [{str(ROOT / 'shared')!r}, {str(ROOT)!r}]\n{code}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def vendors_in(modules: set[str]) -> set[str]:
    return {name.removeprefix(PREFIX) for name in modules if name.startswith(PREFIX)} & VENDORS


def test_configuring_six_vendors_loads_none_of_them() -> None:
    """Every function that knows providers reads the file."""
    modules = loaded(WORLD)
    assert vendors_in(modules) == set()
    assert "cryptography" not in modules
    assert PREFIX + "generic" not in modules


@pytest.mark.parametrize("name", ["plain", "fal", "replicate", "runway", "bfl", "kling", "heygen"])
def test_a_vendor_loads_its_own_module_and_no_cryptography(name: str) -> None:
    """Submit, dispatch, reconcile, store, and an event that is refused."""
    modules = loaded(WORLD + USE.format(name=name, root=str(ROOT)))
    assert vendors_in(modules) == ({name} & VENDORS)
    assert "cryptography" not in modules
    assert "requests" not in modules


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_function_loads_an_adapter_or_cryptography_by_itself(function: str) -> None:
    """Not even the one that receives webhooks."""
    modules = loaded(f"import functions.{function}.app\nimport mediajobs.signatures\nimport mediajobs.steps.webhook")
    assert vendors_in(modules) == set()
    assert "cryptography" not in modules


@pytest.mark.parametrize(
    ("check", "needs"),
    [
        ("from mediajobs.signatures import ed25519\ned25519.matches([bytes(32)], bytes(64), b'')", True),
        ("from mediajobs.signatures import sign_standard\nsign_standard('whsec_' + 'A' * 32, 'i', 1, b'')", False),
    ],
)
def test_cryptography_comes_with_the_first_signature_that_needs_it(check: str, needs: bool) -> None:
    """And with no other."""
    assert ("cryptography" in loaded(check)) is needs
