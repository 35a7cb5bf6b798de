"""Each vendor's laptop configuration says what is true of its double, and `make demo PROVIDER=` takes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Template
from typing import Any

import pytest

from local.demo.options import parse
from local.provider.settings import VENDORS, Settings
from local.vendors import DOUBLES, example
from mediajobs.adapters.providers.loading import load
from tests.local_provider.kit import PROMPT
from tests.local_vendors.kit import DIRECTORY

LAPTOP = Path(__file__).parents[2] / "local" / "providers.toml"


def text(name: str) -> str:
    return Template((DIRECTORY / f"{name}.toml").read_text()).substitute(PROVIDER_URL="http://127.0.0.1:1")


def tables(path: Path) -> Any:
    return tomllib.loads(path.read_text())["providers"]


def test_there_is_a_double_and_a_file_for_every_vendor() -> None:
    assert tuple(DOUBLES) == VENDORS
    assert {file.stem for file in DIRECTORY.glob("*.toml")} == set(VENDORS)


@pytest.mark.parametrize("name", VENDORS)
def test_the_product_takes_it_and_it_has_the_persons_account_too(name: str) -> None:
    config = load(text(name)).providers
    assert list(config) == [name, "sim-nokey"]
    assert tables(DIRECTORY / f"{name}.toml")["sim-nokey"] == tables(LAPTOP)["sim-nokey"]
    assert (config[name].timing.expected_s, config[name].timing.max_run_s) == (Settings().expected_s, 60)


@pytest.mark.parametrize("name", VENDORS)
def test_every_example_is_of_a_model_that_callers_may_name(name: str) -> None:
    models = load(text(name)).providers[name].models
    used = {example(name, number, PROMPT)[0] for number in range(12)}
    assert used <= set(models)


def test_the_demo_takes_a_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    """By variable, as make gives it; 20 jobs then."""
    monkeypatch.setenv("PROVIDER", "kling")
    options = parse([])
    assert (options.provider, options.jobs, options.providers.name) == ("kling", 20, "kling.toml")
    assert not options.told_all_by_webhook
    assert parse(["--provider", "", "--jobs", "3"]).provider == "sim"
    with pytest.raises(SystemExit):
        parse(["--provider", "nobody"])
