"""Vendors' tables in providers.toml, and what the new settings of `generic` refuse."""

from __future__ import annotations

import pytest

from mediajobs.adapters.providers.config import Adapter, Provider
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.presets import SETTABLE, known
from mediajobs.adapters.providers.proving import check_secrets
from mediajobs.adapters.providers.registry import CLASSES
from mediajobs.errors import ConfigurationError
from tests.contract.vendors import ALL
from tests.contract.vendors.fal import FAL
from tests.unit.providers.kit import TABLES


def loaded(text: str, name: str) -> Provider:
    return load(text).providers[name]


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    return str(caught.value)


def test_every_adapter_is_named_in_three_places_alike() -> None:
    """The setting, the classes, the presets."""
    assert set(Adapter.__args__) == set(CLASSES) == {"generic", *known()}  # type: ignore[attr-defined]
    assert {vendor.name for vendor in ALL if vendor.adapter is None} == set(known())


def test_a_vendor_needs_its_models_and_no_more() -> None:
    """All else is the vendor's own; what is given counts above it."""
    plain = loaded(FAL.tables, "fal")
    assert (plain.base_url, plain.auth.prefix, plain.submit.webhook_query) == (
        "https://queue.fal.run",
        "Key",
        "fal_webhook",
    )
    more = '\n[providers.fal.timing]\nexpected_s = 9\n[providers.fal.results]\nhosts = ["cdn.example.com"]\n'
    given = loaded(FAL.tables + more, "fal")
    assert (given.timing.expected_s, given.timing.max_run_s) == (9, plain.timing.max_run_s)
    assert given.results.hosts == ["cdn.example.com"]
    assert given.statuses == plain.statuses


def test_a_vendor_of_the_laptop_has_another_address() -> None:
    """Its double listens on this machine: base_url, key set, named addresses and results follow."""
    tables = FAL.tables.replace('adapter = "fal"', 'adapter = "fal"\nbase_url = "http://127.0.0.1:9/fal"') + (
        '[providers.fal.webhook]\njwks_url = "http://127.0.0.1:9/fal/jwks.json"\n'
        '[providers.fal.poll]\nhosts = ["127.0.0.1"]\n'
        '[providers.fal.results]\nhosts = ["127.0.0.1"]\nallow_http = true\nallow_private = true\n'
    )
    assert loaded(tables, "fal").base_url == "http://127.0.0.1:9/fal"
    without = refused(tables.replace("allow_http = true\n", ""))
    assert "[providers.fal] base_url: must begin with https://" in without
    assert "[providers.fal.webhook] jwks_url: must begin with https://" in without


@pytest.mark.parametrize(
    "field", ["statuses", "answers", "submit", "auth", "idempotency", "lookup", "cancel", "result"]
)
def test_a_vendors_wire_is_not_a_deployments_to_change(field: str) -> None:
    """Claiming an idempotency that is not there would charge twice."""
    text = refused(FAL.tables + f"[providers.fal.{field}]\nx = 1\n")
    assert f'[providers.fal] {field}: is set by the adapter "fal"; this table has: {", ".join(SETTABLE)}' in text


def test_a_model_needs_its_endpoint_where_paths_have_one() -> None:
    """Kling and Runway."""
    text = refused('[providers.k]\nadapter = "kling"\n[providers.k.models]\nm = { kind = "video" }\n')
    assert text == "providers.toml: [providers.k.models.m] endpoint: is missing; paths of this provider have {endpoint}"


# fmt: off
FAULTS = [
    ('strategy = "none"', '[providers.acme.webhook] trusted: must be false: strategy = "none" does not prove'),
    ('strategy = "body-hmac"\nheader = "X-S"', "trusted: must be false"),
    ('strategy = "static-header"\ntrusted = false', "header: is missing"),
    ('strategy = "timestamped-hex"', '[providers.acme.webhook] header: is missing: strategy = "timestamped-hex" needs'),
    ('strategy = "ed25519-jwks"', "jwks_url: is missing"),
    ('strategy = "ed25519-jwks"\njwks_url = "http://k.example/jwks"', "jwks_url: must begin with https://"),
    ('strategy = "none"\ntrusted = false\nconfirm = true', "confirm: is of no use"),
    ("tolerance_s = 5", "tolerance_s: must be at least 30, not 5"),
    ('encoding = "hexadecimal"', 'encoding: must be "hex" or "base64"'),
    ('header = "X S"', "header: has a form that cannot be used"),
]
# fmt: on


@pytest.mark.parametrize(("lines", "words"), FAULTS)
def test_a_webhook_that_could_not_be_proved_is_refused_at_build(lines: str, words: str) -> None:
    """With table, field and what to write."""
    assert words in refused(TABLES.replace('data = "data"', f'data = "data"\n{lines}'))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('webhook_field = "webhook_url"\n', "", 'strategy: "none" needs a URL for each job'),
        ('stage = "stage"', 'poll_url = "url"', "[providers.acme.poll] hosts: is missing"),
        ('hosts = ["cdn', 'life_s = 600\nhosts = ["cdn', "[providers.acme.read] completed_at: is missing"),
        ("not_accepted_with_retry_after = [503]", 'rejected_codes = ["1"]', "answers] code: is missing"),
        ("not_accepted_with_retry_after = [503]", 'code = "c"\nrejected_codes = ["1"]\nblocked_codes = ["1"]',
         'blocked_codes: "1" is listed in rejected_codes too'),
        ("[providers.acme.cancel]", '[providers.acme.result]\npath = "/v1/files"\nkey = "f"\n[providers.acme.cancel]',
         "[providers.acme.result] path: must contain {key}"),
        ('path = "/v1/jobs/{id}"', 'path = "/v1/{endpoint}/{id}"', "models.image-1] endpoint: is missing"),
        ('image-1 = { kind = "image" }', 'image-1 = { kind = "image", endpoint = "../x" }', "endpoint: has a form"),
    ],
)  # fmt: skip
def test_what_one_setting_cannot_know_of_another_is_checked(old: str, new: str, words: str) -> None:
    """At build, not with the first paid job."""
    text = TABLES
    if "needs a URL" in words:
        text = text.replace('data = "data"', 'strategy = "none"\ntrusted = false')
    assert old in text
    assert words in refused(text.replace(old, new))


@pytest.mark.parametrize("vendor", [vendor for vendor in ALL if vendor.webhook_secrets], ids=lambda vendor: vendor.name)
def test_secrets_can_be_checked_before_the_first_event(vendor: object) -> None:
    """By the strategy's own rules: the same text may do here and not there."""
    webhook = vendor.config.webhook  # type: ignore[attr-defined]
    check_secrets(webhook, list(vendor.webhook_secrets))  # type: ignore[attr-defined]
    for bad in ([], ["whsec_"], ["short"]):
        with pytest.raises(ConfigurationError):
            check_secrets(webhook, bad)
    assert FAL.config.webhook is not None
    check_secrets(FAL.config.webhook, [])
