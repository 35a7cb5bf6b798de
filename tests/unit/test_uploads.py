"""Names of uploads, and where an input names them."""

from __future__ import annotations

import json

import pytest

from mediajobs import uploads
from mediajobs.media import Checker
from mediajobs.signatures import input_token, input_token_matches, url_token
from tests import samples

NOW = 1_800_000_000_123
NAME = uploads.new_upload("image/png", "abcdefghijklm", NOW).name


@pytest.mark.parametrize("content_type", uploads.content_types())
def test_a_name_says_type_and_end(content_type: str) -> None:
    """Both survive the way through an input and back; a kind has a limit."""
    made = uploads.new_upload(content_type, "abcdefghijklm", NOW)
    assert uploads.read_name(made.name) == made
    assert made.content_type == content_type
    assert made.until == (NOW // 1000 + 86_400) * 1000
    assert uploads.LIMITS[made.kind] > 0


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        NAME + "x",
        NAME[:-1],
        NAME.replace(".png", ".exe"),
        NAME.upper(),
        f"../{NAME}",
        f"{NAME}\n",
        f"a/{NAME}",
    ],
)
def test_a_name_that_is_none_is_nobodys(name: str) -> None:
    """It cannot lead out of its folder either."""
    assert uploads.read_name(name) is None


def test_references_are_found_wherever_they_stand() -> None:
    given = {"a": f"upload:{NAME}", "b": [{"c": "upload:odd"}, "x", 1, None, True], "d": {"e": ["upload:"]}}
    assert list(uploads.references(given)) == [("input.a", NAME), ("input.b.0.c", "odd"), ("input.d.e.0", "")]
    assert uploads.replaced(given, lambda name: f"<{name}>") == {
        "a": f"<{NAME}>",
        "b": [{"c": "<odd>"}, "x", 1, None, True],
        "d": {"e": ["<>"]},
    }


@pytest.mark.parametrize(
    "text", ["upload: a boat", "an upload:x", "Upload:x", "upload:a b", "upload", f"x upload:{NAME}"]
)
def test_a_prompt_is_left_alone(text: str) -> None:
    """A reference is the whole text and has no blank."""
    assert list(uploads.references({"prompt": text})) == []
    assert uploads.replaced({"prompt": text}, str.upper) == {"prompt": text}


def test_the_mark_stands_wherever_a_reference_does() -> None:
    """By it the many jobs without a file are told apart; a value in JSON begins with it."""
    for given in ({"a": f"upload:{NAME}"}, ["upload:x"], {"b": [[{"c": "upload:"}]]}):
        assert uploads.MARK in json.dumps(given, separators=(",", ":")).encode()


def test_what_is_small_enough_to_be_answered_fits_lambda() -> None:
    """6 MB for the whole answer, in base64."""
    assert uploads.MOST_DIRECT * 4 / 3 < 6_000_000 - 100_000


@pytest.mark.parametrize("content_type", samples.WHOLE)
def test_types_are_those_that_contents_are_told_by(content_type: str) -> None:
    """What a file is found to be can be announced in the same word."""
    body = samples.WHOLE[content_type]
    checker = Checker(content_type.partition("/")[0], len(body))
    checker.feed(body)
    assert checker.finish().content_type == content_type
    assert content_type in uploads.content_types()


def test_a_token_is_for_one_file_of_one_row() -> None:
    """Nor is it one of a webhook's URL, made with the same secret."""
    secret = b"s" * 32
    right = input_token(secret, "job", "row", NAME)
    others = {
        input_token(secret, "job2", "row", NAME),
        input_token(secret, "job", "row2", NAME),
        input_token(secret, "job", "row", "1.png"),
        input_token(b"t" * 32, "job", "row", NAME),
        url_token(secret, "job", "row", 1),
    }
    assert len(others | {right}) == 6
    assert input_token_matches(secret, right, "job", "row", NAME)
    assert not any(input_token_matches(secret, other, "job", "row", NAME) for other in {*others, "", "é"})
