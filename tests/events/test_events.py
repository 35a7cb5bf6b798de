"""Every events/<function>/<case>.json through its own handler, and what events/expected.json says comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import resources
from bench.bed import Bed
from bench.sandbox import Invocation
from events import fixed, scenes
from local.provider import media
from tests.events.fits import misfits, opened

PAGE = b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n"
FOLDER = Path(__file__).resolve().parents[2] / "events"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
CASES = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.glob("*/*.json"))


def _set_up(bed: Bed, told: dict[str, Any]) -> None:
    bed.put(resources.api_keys())
    for name in told.get("given", ()):
        bed.put(scenes.scene(name, bed.provider.url))
    for key, what in told.get("objects", {}).items():
        bed.put_object(key, PAGE if what == "page" else media.make(what, key))
    script = json.dumps(told.get("provider", [])).replace(fixed.PROVIDER_URL, bed.provider.url)
    bed.provider.tell(json.loads(script))


def _sent(bed: Bed) -> list[dict[str, Any]]:
    queues = {
        "dispatch": "DispatchQueue",
        "store": "StoreQueue",
        "urgent": "UrgentQueue",
        "notify-dead": "NotifyDeadLetterQueue",
    }
    return [{"queue": name, "message": message} for name, queue in queues.items() for message in bed.messages(queue)]


def _said(told: dict[str, Any], result: Invocation) -> list[str]:
    """What is wrong with the answer."""
    if "raises" in told:
        return misfits(told["raises"], result.error, "error")
    if result.error is not None:
        return [result.stack]
    return misfits(told["answer"], opened(result.answer), "answer")


def _done(bed: Bed, told: dict[str, Any]) -> list[str]:
    """What is wrong with what was done."""
    faults = misfits(told.get("asked", []), bed.provider.asked, "asked")
    by_text = {"key": json.dumps}
    faults += misfits(sorted(told.get("sent", []), **by_text), sorted(_sent(bed), **by_text), "sent")
    faults += misfits(told.get("published", 0), len(bed.messages("consumer")), "published")
    live = [sent for sent in bed.wire.take() if sent.service == "appsync"]
    faults += misfits(told.get("told", 0), len(live), "told")
    faults += misfits(told.get("stored", 0), len(set(bed.objects()) - set(told.get("objects", ()))), "stored")
    if "registration" in told:
        faults += misfits(told["registration"], bed.registration(fixed.TENANT), "registration")
    if "after" in told:
        job = bed.job(told["after"]["id"])
        faults += misfits(told["after"], {name: getattr(job, name) for name in told["after"]}, "job")
    return faults


SECRETS = (
    *fixed.API_KEYS,
    fixed.CALLBACK_SECRET,
    scenes.HOOK,
    fixed.WEBHOOK_SECRET,
    fixed.PROVIDER_API_KEY,
    fixed.TOKENS_KEY,
    fixed.PROMPT,
)


def _logged(result: Invocation) -> list[str]:
    """What is wrong with the log: it must have a line, and nothing that opens or signs something."""
    text = json.dumps(result.lines)
    return [f"the log tells {secret!r}" for secret in SECRETS if secret in text] + ([] if result.lines else ["silent"])


@pytest.mark.parametrize("case", CASES)
def test_event_has_its_outcome(bed: Bed, case: str) -> None:
    """The answer, the job, and all that was sent, published, stored and asked."""
    told = EXPECTED[case]
    _set_up(bed, told)
    function, text = case.partition("/")[0], (FOLDER / f"{case}.json").read_text()
    if function == "notify":  # the scripted provider plays the receiver too
        text = text.replace(fixed.PROVIDER_URL, bed.provider.url)
    result = bed.invoke(function, json.loads(text), fixed.NOW)
    faults = _said(told, result) + _done(bed, told) + _logged(result)
    assert not faults, "\n".join(faults)
