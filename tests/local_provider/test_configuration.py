"""The laptop's providers.toml is valid for the product, and says of the simulated provider what is true."""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Template
from typing import Any

import pytest

from local.provider.settings import MODELS, PROVIDERS, Settings
from mediajobs.adapters.providers.loading import load

FILE = Path(__file__).parents[2] / "local" / "providers.toml"


@pytest.fixture(scope="module")
def text() -> str:
    return Template(FILE.read_text()).substitute(PROVIDER_URL="http://127.0.0.1:1")


@pytest.fixture(scope="module")
def tables(text: str) -> Any:
    return tomllib.loads(text)["providers"]


def test_the_product_accepts_it(text: str) -> None:
    assert set(load(text).providers) == set(PROVIDERS)


def test_it_names_the_models_and_timings_of_the_simulated_provider(tables: Any) -> None:
    settings = Settings()
    for provider in tables.values():
        kinds = {name: model["kind"] for name, model in provider["models"].items()}
        assert kinds == {name: model.kind.partition("/")[0] for name, model in MODELS.items()}
        assert provider["timing"]["expected_s"] == settings.expected_s
        assert provider["timing"]["max_run_s"] == settings.max_run_s


def test_only_sim_has_keys_and_lookup(tables: Any) -> None:
    assert tables["sim"]["idempotency"]["key_life_s"] == Settings().key_life_s
    for table in ("idempotency", "lookup"):
        assert [name for name in PROVIDERS if table in tables[name]] == ["sim"]


def test_a_bare_503_proves_nothing(tables: Any) -> None:
    for provider in tables.values():
        assert 503 not in provider["answers"]["not_accepted"]
        assert provider["answers"]["not_accepted_with_retry_after"] == [503]
