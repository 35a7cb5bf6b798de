"""The submit: the same bytes for the same job and submission, and nothing secret in them."""

from __future__ import annotations

import json

import pytest

from mediajobs.adapters.providers.registry import Registry
from mediajobs.api.bodies import canonical, parse
from mediajobs.errors import Unprocessable
from mediajobs.jobs.events import AnswerKind
from tests.unit.providers.kit import KEY, NOW, WEBHOOK_URL, ScriptedHttp, adapter, configured, job, said, secrets

PROMPT: dict[str, object] = {"prompt": "a red bicycle leaning on a garden wall", "strength": 0.1}


def test_a_request_holds_model_input_webhook_and_reference() -> None:
    """Everything the provider needs but the API key."""
    request = adapter().request(job(), PROMPT, WEBHOOK_URL)
    assert (request.method, request.url) == ("POST", "https://api.acme.example/base/v1/jobs")
    assert json.loads(request.body) == {
        "model": "video-1",
        "input": PROMPT,
        "webhook_url": WEBHOOK_URL,
        "reference": job().reference,
    }
    assert request.headers["Idempotency-Key"] == job().reference
    assert "Authorization" not in request.headers
    assert KEY not in repr(request)


def test_a_request_is_the_same_byte_for_byte_whatever_the_order_of_the_input() -> None:
    """A retry that differed would be another request to the provider, and is never sent."""
    turned = dict(reversed(PROMPT.items()))
    first, again = (adapter().request(job(), given, WEBHOOK_URL) for given in (PROMPT, turned))
    assert first == again
    assert first.body == (
        b'{"input":{"prompt":"a red bicycle leaning on a garden wall","strength":0.1},"model":"video-1",'
        b'"reference":"abcdefghijklmnopqrstuvwxyz.1.incarnation23",'
        b'"webhook_url":"https://jobs.example/v1/webhooks/acme/abc.1.token"}'
    )


def test_numbers_reach_the_provider_with_the_value_that_the_caller_wrote() -> None:
    """Through the canonical form that is kept, and as shortly as a double is told; whole ones stay whole."""
    sent = '{"a":-1.5e300,"b":1e21,"c":0.1,"d":1.0,"e":1.5e-300,"f":9007199254740993,"g":1180591620717411303424}'
    kept = json.loads(canonical(parse(f'{{"input":{sent}}}'.encode())))["input"]
    body = adapter().request(job(), kept, None).body
    expected = b'{"a":-1.5e+300,"b":1e+21,"c":0.1,"d":1,"e":1.5e-300,"f":9007199254740993,"g":1180591620717411303424}'
    assert expected in body


def test_a_rotated_api_key_does_not_change_the_request() -> None:
    """The digest in the attempt is of the request without credentials."""
    kept = secrets()
    made = adapter(None, kept)
    before = made.request(job(), PROMPT, WEBHOOK_URL)
    kept.put("acme", "another-key")
    kept.provider("acme", refresh=True)
    assert made.request(job(), PROMPT, WEBHOOK_URL) == before


def test_another_submission_has_another_key() -> None:
    """Only a person starts one, and the provider must not take it for the first."""
    first, second = (adapter().request(job(submission=n), PROMPT, None) for n in (1, 2))
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_without_a_callback_address_no_webhook_is_asked_for() -> None:
    """A laptop without a tunnel polls."""
    assert "webhook_url" not in json.loads(adapter().request(job(), PROMPT, None).body)
    made = Registry(configured(), ScriptedHttp(), secrets(), webhooks=False).get("acme")
    assert not made.traits("video-1").webhooks
    assert adapter().traits("video-1").webhooks


def test_the_webhook_url_can_stand_in_the_query() -> None:
    """As at providers whose body is the model's input alone."""
    edits = (
        ('webhook_field = "webhook_url"', 'webhook_query = "hook"'),
        ('input_field = "input"\n', ""),
        ('model_field = "model"\n', ""),
        ('path = "/v1/jobs"\n', 'path = "/run/{model}?fast=1"\n'),
        ('reference_field = "reference"', 'extra = { tier = "low" }'),
    )
    request = adapter(None, None, *edits).request(job(model="acme/video one"), PROMPT, WEBHOOK_URL)
    assert request.url == (
        "https://api.acme.example/base/run/acme/video%20one?fast=1"
        "&hook=https%3A%2F%2Fjobs.example%2Fv1%2Fwebhooks%2Facme%2Fabc.1.token"
    )
    assert json.loads(request.body) == {**PROMPT, "tier": "low"}


def test_lone_surrogates_in_a_prompt_are_sent_as_they_came() -> None:
    """They are valid JSON, and no reason to fail after the claim."""
    body = adapter().request(job(), {"prompt": "\ud800"}, None).body
    assert b'"\\ud800"' in body


@pytest.mark.parametrize(
    ("given", "words"), [({}, "input.prompt"), ({"prompt": ""}, "input.prompt"), ({"prompt": None}, "needs it")]
)
def test_input_that_lacks_a_required_field_is_refused(given: dict[str, object], words: str) -> None:
    """Before anything is queued or paid."""
    with pytest.raises(Unprocessable, match=words):
        adapter().check_input("video-1", given)
    adapter().check_input("image-1", given)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    """The caller is told what to write."""
    with pytest.raises(Unprocessable, match="video-1, image-1"):
        adapter().check_input("video-2", PROMPT)


def test_a_callers_input_cannot_set_what_the_service_sets() -> None:
    """Else a caller could send the webhook of a paid job somewhere else."""
    flat = adapter(None, None, ('input_field = "input"\n', ""))
    with pytest.raises(Unprocessable, match=r"input\.webhook_url: is set by this service"):
        flat.check_input("video-1", {**PROMPT, "webhook_url": "https://elsewhere.example"})
    sent = json.loads(flat.request(job(), {**PROMPT, "webhook_url": "https://elsewhere.example"}, WEBHOOK_URL).body)
    assert sent["webhook_url"] == WEBHOOK_URL
    tiered = adapter(None, None, ('input_field = "input"\n', 'extra = { tier = "low" }\n'))
    with pytest.raises(Unprocessable, match=r"input\.tier"):
        tiered.check_input("video-1", {**PROMPT, "tier": "high"})
    assert json.loads(tiered.request(job(), {**PROMPT, "tier": "high"}, None).body)["tier"] == "low"


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("", "Authorization", f"Bearer {KEY}"),
        ('auth = { prefix = "Key " }', "Authorization", f"Key {KEY}"),
        ('auth = { header = "X-Api-Key", prefix = "" }', "X-Api-Key", KEY),
    ],
)
def test_the_api_key_goes_where_the_configuration_says(auth: str, header: str, value: str) -> None:
    """With one space between prefix and key, however the prefix is written."""
    http = ScriptedHttp(said(201, {"id": "p-1"}))
    made = adapter(http, None, ('adapter = "generic"', f'adapter = "generic"\n{auth}'))
    assert made.submit(made.request(job(), PROMPT, None), "t", 1, NOW).kind is AnswerKind.ACCEPTED
    assert http.submits[0].headers[header] == value


def test_static_headers_go_with_every_request() -> None:
    """Some providers want a version."""
    http = ScriptedHttp(said(200, {"id": "p-1", "status": "queued"}))
    made = adapter(http, None, ('adapter = "generic"', 'adapter = "generic"\nheaders = { X-Version = "2026-01-01" }'))
    made.poll(job(), "p-1")
    assert made.request(job(), PROMPT, None).headers["X-Version"] == "2026-01-01"
    assert http.gets[0].headers["X-Version"] == "2026-01-01"


def test_traits_and_link_rules_follow_the_configuration() -> None:
    """The rules and the download need nothing else of a provider."""
    made = adapter(None, None, ('adapter = "generic"', 'adapter = "generic"\nlimit = 3'))
    traits = made.traits("video-1")
    assert (traits.idempotent, traits.key_life_s, traits.lookup, traits.cancel) == (True, 86400, True, True)
    assert (traits.expected_s, traits.limit) == (60, 3)
    assert made.traits("image-1").expected_s == 300
    assert made.traits("retired").expected_s == 300
    rules = made.link_rules("image-1")
    assert (rules.kind, rules.max_bytes) == ("image", 50_000_000)
    assert rules.hosts == ("cdn.acme.example", "api.acme.example")
    assert made.link_rules("retired").kind == "video"


def test_result_links_carry_the_key_only_where_a_host_needs_it() -> None:
    """Otherwise the secret is not even read."""
    kept = secrets()
    kept.fail = AssertionError("the secret was read")
    assert adapter(None, kept).link_headers() == {}
    made = adapter(None, None, ("hosts = [", 'credential_hosts = ["api.acme.example"]\nhosts = ['))
    assert made.link_headers() == {"Authorization": f"Bearer {KEY}"}
    assert made.link_rules("video-1").credential_hosts == ("api.acme.example",)


def test_the_registry_knows_its_names_and_makes_an_adapter_once() -> None:
    """An unknown name is a KeyError."""
    registry = Registry(configured(), ScriptedHttp(), secrets())
    assert registry.names() == ("acme",)
    assert registry.get("acme") is registry.get("acme")
    assert registry.get("acme").models() == ("video-1", "image-1")
    with pytest.raises(KeyError):
        registry.get("other")
