"""Cases 15, 24, 32 and 48: who may say what became of a job, at the webhook's own URL."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator

import pytest

from tests.api.events import header, problem
from tests.cases import signing
from tests.cases.conftest import NewPlace
from tests.cases.parts import API_KEY
from tests.cases.place import Place
from tests.template import reading

BODY = b'{"id": "p-1", "status": "processing", "progress": 5}'
EVENT = "evt-1"


def signature(place: Place, key: bytes, scheme: str = "v1") -> str:
    return f"{scheme},{signing.mac(BODY, EVENT, place.stamp(), key)}"


def status(place: Place, url: str, signatures: str | list[str]) -> int:
    answer = place.webhook(url, BODY, signing.headers(EVENT, place.stamp(), signatures))
    if answer["statusCode"] != 200:
        problem(answer, 401, "unauthorized")
    return int(answer["statusCode"])


# -- 15


def test_case_15_accepted_iff_one_v1_signature_matches_a_current_or_previous_secret(new_place: NewPlace) -> None:
    """Every order, every neighbour, several headers and headers that the gateway joined; the rest is one 401."""
    place = new_place(secrets=(signing.SECRET, signing.NEW_SECRET))
    _, url = place.running()
    old, new = signature(place, signing.KEY), signature(place, signing.NEW_KEY)
    foreign = signature(place, b"a key that nobody stored")
    good: list[str | list[str]] = [
        old,
        new,
        f"{old} {new}",
        f"{new} {old}",
        f"junk {new}",
        f"{foreign} {new}",
        f"v1a,{'A' * 86}== {new}",
        f"v1,AAA, {new}",
        f"{foreign},{new}",
        [old, new],
        [foreign, new],
        " ".join([foreign] * 1999 + [new]),
    ]
    bad: list[str | list[str]] = [
        signature(place, signing.KEY, "v2"),
        signature(place, signing.KEY, "v1a"),
        foreign,
        "v1",
        "v1,",
        "",
        ",",
        "junk",
        " ".join([foreign] * 2000),
        " ".join([new] * 20_000),
        old[:-1],
        old.removeprefix("v1,"),
    ]
    started = time.process_time()
    assert [status(place, url, one) for one in good] == [200] * len(good)
    assert [status(place, url, one) for one in bad] == [401] * len(bad)
    assert time.process_time() - started < 10  # the work for one header is bounded, whatever it holds


def test_case_15_a_secret_rotated_while_warm_verifies_after_one_forced_look(place: Place) -> None:
    """And a flood of bad signatures is no flood of looks."""
    looks = Looks(place)
    _, url = place.running()
    assert status(place, url, signature(place, signing.KEY)) == 200
    place.put_secrets(signing.NEW_SECRET)
    before = looks.made
    assert status(place, url, signature(place, signing.NEW_KEY)) == 200
    assert looks.made == before + 1
    for _ in range(30):
        assert status(place, url, signature(place, signing.KEY)) == 401
    assert looks.made == before + 1
    place.clock.advance(31)
    assert status(place, url, signature(place, signing.KEY)) == 401
    assert looks.made == before + 2


class Looks:
    """Counts what Secrets Manager is asked."""

    def __init__(self, place: Place) -> None:
        self.made = 0
        place.sdk.secrets.meta.events.register("provide-client-params.*.GetSecretValue", self._count)

    def _count(self, **_: object) -> None:
        self.made += 1


# -- 24

ODD = base64.b64encode(signing.ODD_KEY).decode()
USABLE = {
    "as made": (signing.SECRET, signing.KEY),
    "without prefix": (signing.SECRET.removeprefix("whsec_"), signing.KEY),
    "without padding": (signing.secret(b"x" * 25).rstrip("="), b"x" * 25),
    "URL-safe alphabet": ("whsec_" + ODD.replace("+", "-").replace("/", "_"), signing.ODD_KEY),
    "newline at its end": (signing.SECRET + "\n", signing.KEY),
    "blank before it": (" " + signing.SECRET, signing.KEY),
    "with the scheme before it": ("v1," + signing.SECRET, signing.KEY),
}
UNUSABLE = {
    "no base64": "whsec_!!!!",
    "prefix only": "whsec_",
    "empty": "",
    "blank": "  ",
    "eight bytes": signing.secret(b"8 bytes."),
    "JSON": json.dumps({"secret": signing.SECRET}),
    "JSON text": json.dumps(signing.SECRET),
}


@pytest.mark.parametrize("form", USABLE)
def test_case_24_every_usual_way_to_write_a_secret_verifies(new_place: NewPlace, form: str) -> None:
    """Prefix, padding, alphabet and what pasting adds do not matter; the empty key opens nothing."""
    text, key = USABLE[form]
    place = new_place(secrets=(text,))
    _, url = place.running()
    assert status(place, url, signature(place, key)) == 200
    assert status(place, url, signature(place, b"")) == 401


def fails_closed(place: Place, url: str, *keys: bytes) -> None:
    """One configuration error for everybody, told to the operator and not to the sender; nobody gets in."""
    for key in (*keys, b"", signing.KEY):
        answer = place.webhook(url, BODY, signing.headers(EVENT, place.stamp(), signature(place, key)))
        told = problem(answer, 503, "unavailable")
        assert header(answer, "Retry-After") == "60"
        assert "secret" not in json.dumps(told).lower()
    errors = [line for line in place.log() if line["level"] == "ERROR"]
    assert errors
    assert all(line["reason"] for line in errors)
    assert signing.SECRET.removeprefix("whsec_") not in place.lines.getvalue()
    assert place.metrics.counted["WebhookMisconfigured"] >= 1


@pytest.mark.parametrize("form", UNUSABLE)
def test_case_24_an_unusable_secret_fails_closed_with_one_clear_error(new_place: NewPlace, form: str) -> None:
    """503, so that an alarm tells a person and the provider keeps its events until the secret is right."""
    alarms = reading.of_type(reading.load(), "AWS::CloudWatch::Alarm")
    assert "5XXError" in {alarm["MetricName"] for alarm in alarms.values()}
    text = UNUSABLE[form]
    place = new_place(secrets=(text,))
    _, url = place.running()
    plain = text.removeprefix("whsec_").strip()
    fails_closed(place, url, text.encode(), plain.encode(), b"8 bytes.")
    assert not plain or plain not in place.lines.getvalue()
    place.put_secrets(signing.SECRET)
    place.clock.advance(31)
    assert status(place, url, signature(place, signing.KEY)) == 200


def test_case_24_one_bad_secret_beside_a_good_one_is_seen_before_the_good_one_is_retired(new_place: NewPlace) -> None:
    place = new_place(secrets=(signing.SECRET, "whsec_!!!!"))
    _, url = place.running()
    fails_closed(place, url)


@pytest.mark.parametrize("text", ["not JSON", "[]", "{}", json.dumps({"api_key": API_KEY}), " ", None])
def test_case_24_a_secret_that_is_not_set_does_not_switch_the_check_off(place: Place, text: str | None) -> None:
    """Whatever form the lack of it has in Secrets Manager, a function that starts now lets nobody in."""
    _, url = place.running()
    name = f"{place.prefix}providers/sim"
    if text is None:
        place.sdk.secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
    else:
        place.secret(name, text)
    place.rewire()
    fails_closed(place, url)


# -- 32

NOW_S = 1_800_000_000
WITHIN = {"now": f"{NOW_S}", "299 s ago": f"{NOW_S - 299}", "299 s ahead": f"{NOW_S + 299}"}
OUTSIDE = {
    "301 s ago": f"{NOW_S - 301}",
    "301 s ahead": f"{NOW_S + 301}",
    "milliseconds": f"{NOW_S}000",
    "a fraction": f"{NOW_S}.5",
    "blanks around": f" {NOW_S} ",
    "a sign": f"+{NOW_S}",
    "full-width digits": "".join(chr(ord(digit) + 0xFEE0) for digit in str(NOW_S)),
    "two full-width digits": "１７",
    "nan": "nan",
    "inf": "inf",
    "1e30": "1e30",
    "empty": "",
    "absent": None,
    "negative": f"-{NOW_S}",
    "hexadecimal": hex(NOW_S),
    "endless": "1" * 5000,
}


def stamped(place: Place, url: str, stamp: str | None) -> int:
    """A delivery rightly signed over the literal text of its timestamp."""
    right = f"v1,{signing.mac(BODY, EVENT, stamp or '')}"
    return int(place.webhook(url, BODY, signing.headers(EVENT, stamp, right))["statusCode"])


def reasons(place: Place) -> Iterator[str]:
    return (line["reason"] for line in place.log() if line["message"] == "webhook refused")


def test_case_32_a_timestamp_counts_only_as_plain_seconds_within_the_window_on_both_sides(place: Place) -> None:
    """Everything else is 401, whatever it would be as a number; the log names the direction for the operator."""
    assert place.clock.now() == NOW_S * 1000
    _, url = place.running()
    assert {name: stamped(place, url, stamp) for name, stamp in WITHIN.items()} == dict.fromkeys(WITHIN, 200)
    assert {name: stamped(place, url, stamp) for name, stamp in OUTSIDE.items()} == dict.fromkeys(OUTSIDE, 401)
    told = list(reasons(place))
    assert told[0].endswith("301 s in the past")
    assert told[1].endswith("301 s in the future")
    assert len(told) == len(OUTSIDE)
    assert {line["level"] for line in place.log()} <= {"INFO", "WARNING"}


def test_case_32_a_retry_two_hours_later_with_a_fresh_timestamp_is_accepted(place: Place) -> None:
    """Also where nothing of the first try arrived; and it is the same event where it did."""
    job_id, url = place.running()
    first = place.stamp()
    place.clock.advance(7200)
    assert place.say(url, stamp=first, status="failed")["statusCode"] == 401
    assert place.say(url, status="failed")["statusCode"] == 200
    version = place.job(job_id).version
    place.clock.advance(7200)
    answer = place.say(url, status="failed")
    assert (answer["statusCode"], json.loads(answer["body"])) == (200, {"verdict": "replay"})
    assert (place.get(job_id)["status"], place.job(job_id).version) == ("failed", version)


# -- 48

BODIES = [
    b'{"id": "p-1",\n  "status" : "processing"}',
    b'{"id":"p-1","status":"processing","note":"caf\\u00e9 \\ud83c\\udfac"}',
    '{"id":"p-1","status":"processing","note":"café 🎬"}'.encode(),
    b'{"id":"p-1","status":"processing"}\n',
    b'\xef\xbb\xbf{"id":"p-1","status":"processing"}\r\n',
]


@pytest.mark.parametrize("body", BODIES)
def test_case_48_a_signature_holds_over_the_exact_bytes_however_the_gateway_wraps_them(
    place: Place, body: bytes
) -> None:
    """base64 for every type but those the gateway takes for text."""
    _, url = place.running()
    kinds: list[tuple[str | None, bool]] = [
        (None, True),
        ("application/octet-stream", True),
        ("application/cloudevents+json", True),
        ("application/json; charset=utf-8", False),
    ]
    for number, (kind, wrapped) in enumerate(kinds):
        event_id = f"evt-{number}"
        given = {k: v for k, v in signing.signed(body, event_id, place.stamp()).items() if k != "Content-Type"}
        if kind is not None:
            given["Content-Type"] = kind
        assert place.webhook(url, body, given, wrapped=wrapped)["statusCode"] == 200, kind


@pytest.mark.parametrize("broken", ["%%%", "YQ", "YQ==\n", "é", "YQ==YQ=="])
def test_case_48_a_flag_with_invalid_base64_is_a_400(place: Place, broken: str) -> None:
    _, url = place.running()
    problem(
        place.webhook(url, b"", signing.signed(b"", EVENT, place.stamp()), instead=(broken, True)), 400, "bad-request"
    )


@pytest.mark.parametrize("flag", ["false", "true", "", 0, 1, None, []])
def test_case_48_a_word_for_the_flag_decodes_nothing(place: Place, flag: object) -> None:
    """Only `true` itself does: the text is what was signed."""
    _, url = place.running()
    right = signing.signed(BODY, EVENT, place.stamp())
    assert place.webhook(url, BODY, right, instead=(BODY.decode(), flag))["statusCode"] == 200
    wrapped = base64.b64encode(BODY).decode()
    assert place.webhook(url, BODY, right, instead=(wrapped, flag))["statusCode"] == 401
