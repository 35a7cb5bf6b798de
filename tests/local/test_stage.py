"""What sam build reads is a copy with the chosen provider configuration in it."""

from pathlib import Path

import pytest

from local.stack import deploy
from local.stack.places import Place, StackError
from local.stack.seed import provider_names
from local.stack.start import PROVIDERS, Ports, Wanted

VALUES = {"PROVIDER_URL": "http://127.0.0.1:1234"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("unit", base=tmp_path)


def test_provider_configuration_is_put_in_with_its_address(place: Place, tmp_path: Path) -> None:
    """${PROVIDER_URL} becomes the address; any other dollar sign stays as it was written."""
    chosen = tmp_path / "mine.toml"
    chosen.write_text(PROVIDERS.read_text() + "# $5 ${OTHER}\n")
    deploy.stage(place, chosen, VALUES)
    staged = (place.sources / "shared" / "providers.toml").read_text()
    assert staged == PROVIDERS.read_text().replace("${PROVIDER_URL}", VALUES["PROVIDER_URL"]) + "# $5 ${OTHER}\n"


def test_sources_are_copied_and_old_ones_go(place: Place) -> None:
    """A file that was deleted in the project is not deployed again; what sam built before is kept."""
    gone = place.sources / "functions" / "old" / "app.py"
    kept = place.sources / ".aws-sam" / "cache"
    gone.parent.mkdir(parents=True)
    gone.write_text("")
    kept.mkdir(parents=True)
    deploy.stage(place, PROVIDERS, VALUES)
    assert not gone.exists()
    assert kept.exists()
    assert (place.sources / "template.yaml").exists()
    assert (place.sources / "shared" / "mediajobs" / "__init__.py").exists()
    assert list(place.sources.rglob("__pycache__")) == []


def test_missing_configuration_is_named(place: Place, tmp_path: Path) -> None:
    """A wrong PROVIDERS= is told in words."""
    with pytest.raises(StackError, match=r"missing\.toml"):
        deploy.stage(place, tmp_path / "missing.toml", VALUES)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PROVIDERS.read_text().replace("base_url", "base_ulr"), r"\[providers\.sim\] base_ulr: is no setting"),
        ("[providers", "Expected"),
        ("\udcff", "utf-8"),
    ],
)
def test_a_slip_in_the_configuration_is_told_before_anything_is_copied(
    place: Place, tmp_path: Path, text: str, told: str
) -> None:
    """With what is wrong and where the settings are written down; a stack with it would answer nothing but 500."""
    chosen = tmp_path / "slip.toml"
    chosen.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(StackError, match=rf"(?s){told}.*docs/providers\.md"):
        deploy.stage(place, chosen, VALUES)
    assert not place.sources.exists()


def test_parameters_that_the_template_has_not_are_left_out(place: Place) -> None:
    """`sam deploy` refuses a parameter that is not declared."""
    deploy.stage(place, PROVIDERS, VALUES)
    assert deploy.declared(place, {"MaxInFlight": "4", "Nonsense": "1"}) == {"MaxInFlight": "4"}


def test_laptop_configuration_names_both_accounts() -> None:
    """Each of them gets its secret."""
    assert provider_names(PROVIDERS) == ["sim", "sim-nokey"]


def test_configuration_that_is_no_toml_is_told(tmp_path: Path) -> None:
    """The parser's own words say where."""
    broken = tmp_path / "broken.toml"
    broken.write_text("[providers")
    with pytest.raises(StackError, match="Expected ']'"):
        provider_names(broken)


def test_what_was_wanted_survives_stack_json() -> None:
    """A redeploy is like the first deploy."""
    wanted = Wanted(Path("/x.toml"), 7, 3, "heavy", {"ResultDays": "7"}, ("--block-after", "3"))
    assert Wanted.from_json(wanted.to_json()) == wanted


def test_ports_are_the_same_next_time(place: Place) -> None:
    """A provider at its old address needs no new layer."""
    first = Ports.choose(place)
    assert Ports.choose(place) == first
    assert Ports.last(place) == first
    assert len({first.emulator, first.front, first.provider}) == 3
