"""providers.toml: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from cli import check_providers
from mediajobs.adapters.providers.config import Configuration, Provider
from mediajobs.adapters.providers.loading import load
from mediajobs.errors import ConfigurationError
from tests.unit.providers.kit import TABLES, configured

ROOT = Path(__file__).parents[3]


def refused(*edits: tuple[str, str]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        configured(*edits)
    return str(caught.value)


def test_defaults_are_those_of_the_design() -> None:
    """DESIGN section 9 names them."""
    acme = configured().providers["acme"]
    limits = acme.results.max_bytes
    assert (limits.video, limits.image, limits.audio) == (2 * 1024**3, 50_000_000, 200_000_000)
    assert (acme.timing.expected_s, acme.timing.max_run_s, acme.timing.poll_floor_s) == (300, 7200, 10)
    assert acme.answers.not_accepted == [429]


# fmt: off
ONE_FAULT = [
    ("not_accepted_with_retry_after = [503]", "not_accepted_with_retry_after = [429]",
     "429 is listed in two places (not_accepted and not_accepted_with_retry_after)"),
    ("not_accepted_with_retry_after = [503]", "not_accepted = [503, 503]",
     "[providers.acme.answers] not_accepted: 503 is listed twice"),
    ("not_accepted_with_retry_after = [503]", "rejected = [400, 409]", "409 may say that the first request"),
    ("not_accepted_with_retry_after = [503]", "not_accepted = [500]", "500 may come after the job was made"),
    ("not_accepted_with_retry_after = [503]", "blocked = [502]", "502 proves nothing of the request or the account"),
    ("not_accepted_with_retry_after = [503]", "rejected = [302]", "rejected: must be at least 400, not 302"),
    ('path = "/v1/jobs/{id}"', 'path = "/v1/jobs"', "[providers.acme.poll] path: must contain {id}"),
    ('path = "/v1/jobs/{id}"', 'path = "/v1/jobs/{job}/{id}"', "{job} is no placeholder here; there is {id}"),
    ('path = "/v1/jobs/{id}"', 'path = "/v1/jobs/{id}}"', "[providers.acme.poll] path: has a brace too many"),
    ('path = "/v1/jobs/{id}"', 'path = "v1/jobs/{id}"', "[providers.acme.poll] path: has a form that cannot be used"),
    ("?reference={reference}", "?reference=1", "[providers.acme.lookup] path: must contain {reference}"),
    ("https://api", "http://api", "[providers.acme] base_url: must begin with https://"),
    ("https://api.acme.example/base", "https://key@acme.example", "[providers.acme] base_url: is a host and perhaps"),
    ("https://api.acme.example/base", "${URL}/base", "[providers.acme] base_url: has a form that cannot be used"),
    ("key_life_s = 86400", "key_life_s = 100", "[providers.acme.idempotency] key_life_s: must be more than 100"),
    ("key_life_s = 86400", "", "[providers.acme.idempotency] key_life_s: is missing; it is how long the provider"),
    ("key_life_s = 86400", 'key_life_s = "1 day"', 'key_life_s: must be a number, not "1 day"'),
    ("key_life_s = 86400", "key_life_s = inf", "key_life_s: must be a finite number, not inf"),
    ("key_life_s = 86400", 'key_life_s = 999\nheader = "authorization"', "header: authorization is used by auth"),
    ("[providers.acme.answers]", "[providers.acme.timing]\npoll_floor_s = 0.5\n[providers.acme.answers]",
     "[providers.acme.timing] poll_floor_s: must be from 1 to 300 seconds"),
    ("[providers.acme.answers]", "[providers.acme.timing]\nmax_run_s = 60\n[providers.acme.answers]",
     "[providers.acme.models.video-1] expected_s: must be less than timing.max_run_s (60)"),
    ('stage = "stage"', 'stage = "stage["', "[providers.acme.read] stage: is not JMESPath"),
    ('stage = "stage"', 'stages = "stage"', "[providers.acme.read] stages: is no setting; this table has: com"),
    ('stage = "stage"', "progress_scale = 10", "[providers.acme.read] progress_scale: must be 1 or 100, not 10"),
    ('kind = "image"', 'kind = "picture"', 'kind: must be "video", "image" or "audio", not "picture"'),
    ('failed = "failed"\nblocked = "failed"', "", "[providers.acme.statuses] failed: no word of the provider means"),
    ('processing = "running"', 'processing = "busy"', "[providers.acme.statuses] processing: must be"),
    ('data = "data"', 'strategy = "hope"', 'strategy: must be "standard-webhooks", "standard-webhooks-v1a", '),
    ('[providers.acme.webhook]\ndata = "data"', "", "[providers.acme.submit] webhook_field: asks for webhooks"),
    ('webhook_field = "webhook_url"', 'webhook_field = "model"', '[providers.acme.submit] webhook_field: "model" is'),
    ('webhook_field = "webhook_url"', 'webhook_field = "u"\nwebhook_query = "u"', "goes in one place"),
    ('model_field = "model"', "", "[providers.acme.submit] model_field: is missing: nothing would tell"),
    ('hosts = ["cdn.acme.example", "api.acme.example"]', 'hosts = ["https://cdn.example"]',
     "[providers.acme.results] hosts: has a form that cannot be used"),
    ('hosts = ["cdn', 'credential_hosts = ["files.example"]\nhosts = ["cdn',
     '[providers.acme.results] credential_hosts: "files.example" is not among hosts'),
    ('hosts = ["cdn', 'max_bytes = { video = "2G" }\nhosts = ["cdn',
     '[providers.acme.results.max_bytes] video: must be a whole number, not "2G"'),
    ('adapter = "generic"', 'adapter = "generic"\nlimit = 0', "[providers.acme] limit: must be at least 1, not 0"),
    ('adapter = "generic"', 'adapter = "acme"', '[providers.acme] adapter: must be "generic", "fal", "replicate", '),
    ('adapter = "generic"', 'adapter = "fal"', '[providers.acme] submit: is set by the adapter "fal"; this table'),
    ('adapter = "generic"', 'adapter = "generic"\nheaders = { Host = "x" }', "Host: is a header of this service"),
    ("image-1 =", "'' =", "must not be empty"),
    ("image-1 =", "' image' =", "a model's name has 1 to 100 printable characters"),
]
# fmt: on


@pytest.mark.parametrize(("old", "new", "words"), ONE_FAULT)
def test_each_fault_is_named_with_file_table_and_field(old: str, new: str, words: str) -> None:
    """One fault, one line: the file first, then table, field and what to write."""
    text = refused((old, new))
    assert words in text
    assert all(line.startswith("providers.toml: [providers.acme") for line in text.splitlines())


@pytest.mark.parametrize("name", ["Acme", "a.b", "a_b", "a" * 33, ""])
def test_a_provider_name_that_keys_and_urls_cannot_hold_is_refused(name: str) -> None:
    """The name stands in URLs, keys and the name of a secret."""
    assert "1 to 32 of the characters" in refused(("providers.acme", f'providers."{name}"'))


def test_faults_are_all_told_at_once() -> None:
    """Nobody should have to run the check once per fault."""
    text = refused(('progress = "progress"', 'progress = "["'), ('kind = "image"', 'kind = "x"'))
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("text", ["[providers", "a = 1", "[providers]", "", "[[providers]]", "providers = 5"])
def test_a_file_that_is_no_configuration_is_refused(text: str) -> None:
    """Also where there is nothing to name but the file."""
    with pytest.raises(ConfigurationError, match=r"^x\.toml: "):
        load(text, "x.toml")


def test_http_is_allowed_where_the_laptop_says_so() -> None:
    """The simulated provider listens on this machine."""
    edits = (("https://api.acme.example/base", "http://127.0.0.1:9"), ("hosts = [", "allow_http = true\nhosts = ["))
    assert configured(*edits).providers["acme"].base_url == "http://127.0.0.1:9"


def test_the_configurations_that_are_shipped_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Both files, the laptop's with its address filled in."""
    assert check_providers.main([str(ROOT / "shared" / "providers.toml")]) == 0
    assert "example: https://api.example.com" in capsys.readouterr().out
    laptop = (ROOT / "local" / "providers.toml").read_text().replace("${PROVIDER_URL}", "http://127.0.0.1:9")
    providers = load(laptop).providers
    assert list(providers) == ["sim", "sim-nokey"]
    assert providers["sim"].idempotency is not None
    assert providers["sim-nokey"].idempotency is None
    assert providers["sim-nokey"].lookup is None


def test_the_check_prints_the_faults_and_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A build stops on the exit status."""
    file = tmp_path / "mine.toml"
    file.write_text(TABLES.replace('kind = "image"', 'kind = "x"'))
    assert check_providers.main([str(file)]) == 1
    assert f"{file}: [providers.acme.models.image-1] kind: must be" in capsys.readouterr().err
    assert check_providers.main([str(tmp_path / "none.toml")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def _tables(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    seen.add(model)
    for field in model.model_fields.values():
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel) and part not in seen:
                _tables(part, seen)
    return seen


def test_the_document_has_every_setting_and_no_other() -> None:
    """docs/providers.md is a table of these fields; it is compared with the code."""
    lines = (ROOT / "docs" / "providers.md").read_text().splitlines()
    told = {line.split("|")[1].strip().strip("`") for line in lines if line.startswith("| `")}
    paths = {f"{table}{name}" for table, model in _places(Provider, "") for name in model.model_fields}
    tables = {f"{table}" for table, _ in _places(Provider, "") if table}
    assert told == {path for path in paths if f"{path}." not in tables and path != "models"}


def _places(model: type[BaseModel], prefix: str) -> list[tuple[str, type[BaseModel]]]:
    found = [(prefix, model)]
    for name, field in model.model_fields.items():
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                inner = "MODEL." if name == "models" else ""
                found += _places(part, f"{prefix}{name}.{inner}")
    return found


def test_every_setting_says_what_it_is() -> None:
    """Errors quote the description."""
    for table in _tables(Configuration, set()):
        for name, field in table.model_fields.items():
            assert field.description, f"{table.__name__}.{name}"
