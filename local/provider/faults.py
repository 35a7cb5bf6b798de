"""Which faults hit: by profile and probability from the seed, or forced by a script."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from local.provider.plans import (
    AFTER,
    BEFORE,
    DRAWN,
    JOB_GROUPS,
    SCRIPTED,
    Draw,
    Faults,
    drawer,
    drawn_faults,
)
from local.provider.settings import ACCOUNTS

_DEFAULT = {
    "unavailable_before": 0.10,
    "rate_limited_before": 0.02,
    "close_after": 0.034,
    "error_after": 0.033,
    "unavailable_after": 0.033,
    "drop": 0.12,
    "drop_terminal": 0.08,
    "repeat_2": 0.10,
    "repeat_5": 0.10,
    "reorder": 0.10,
    "delay": 0.10,
    "webhook_first": 0.05,
    "expired_url": 0.10,
    "never_finish": 0.02,
    "unknown_word": 0.03,
    "wrong_type": 0.02,
    "truncated": 0.02,
    "empty": 0.02,
    "blocked": 1.0,
}
_HEAVY = {name: min(1.0, 2 * chance) for name, chance in _DEFAULT.items()} | {
    "lost": 0.02,
    "unknown_final": 0.01,
    "provider_fails": 0.03,
    "wrong_type_always": 0.01,
    "truncated_always": 0.01,
    "empty_always": 0.01,
    "poll_error": 0.10,
    "no_id_after": 0.01,
}
PROFILES: dict[str, dict[str, float]] = {"none": {}, "default": _DEFAULT, "heavy": _HEAVY}

# The once-a-run blocking of an account opens this many seconds after its first submission.
_BLOCK_EARLIEST_S, _BLOCK_SPREAD_S = 4.0, 8.0


class FaultError(ValueError):
    """The fault configuration sent is not usable; the message names the field."""


class FaultBook:
    """The present fault configuration. Answers are pure in the seed, the provider and the reference."""

    def __init__(self, seed: int, profile: str) -> None:
        self._lock = threading.Lock()
        self._seed = seed
        self._first_profile = profile
        self.reset()

    def reset(self) -> None:
        """Back to the profile of the start, with no script and no account blocked."""
        with self._lock:
            self._profile = self._first_profile
            self._shared: dict[str, float] = {}
            self._own: dict[str, dict[str, float]] = {}
            self._script: list[dict[str, Any]] = []
            self._bound: dict[tuple[str, str], Faults | None] = {}
            self._first_submit: dict[str, float] = {}
            self._blocked_until: dict[str, float] = {}

    def configure(self, document: Any) -> dict[str, Any]:
        """Replace what the document names: profile with all chances, or the script (appended; [] clears)."""
        checked = _checked(document)
        with self._lock:
            if "profile" in checked:
                self._profile, self._shared, self._own = checked["profile"], {}, {}
            self._shared |= checked.get("probabilities", {})
            for name, chances in checked.get("providers", {}).items():
                self._own[name] = self._own.get(name, {}) | chances
            if checked.get("script") == []:
                self._script = []
            self._script += [dict(entry) for entry in checked.get("script", [])]
        return self.describe()

    def describe(self) -> dict[str, Any]:
        with self._lock:
            return {
                "seed": self._seed,
                "profile": self._profile,
                "providers": {name: self._chances(name) for name in ACCOUNTS},
                "script": [dict(entry) for entry in self._script],
            }

    def draw(self, provider: str, reference: str, number: int) -> Draw:
        """The draws of one attempt or job; the run's random part of a reference does not count."""
        return drawer(self._seed, provider, ".".join(reference.split(".")[:2]), number)

    def submission(self, provider: str, reference: str, attempt: int) -> Faults:
        """The faults of this attempt, with how many attempts each is to hit."""
        with self._lock:
            forced = self._forced(provider, reference)
            if forced is not None:
                return forced
            hits = drawn_faults((BEFORE, AFTER), self._chances(provider), self.draw(provider, reference, attempt))
        return dict.fromkeys(hits, attempt + 1)

    def job(self, provider: str, reference: str, number: int) -> Faults:
        """The faults of the number-th job accepted under this reference."""
        with self._lock:
            forced = self._forced(provider, reference)
            if forced is not None:
                return {name: value for name, value in forced.items() if name not in (*BEFORE, *AFTER)}
            return drawn_faults(JOB_GROUPS, self._chances(provider), self.draw(provider, reference, number))

    def block(self, provider: str, until: float) -> None:
        """Block the account until then, whatever the profile says."""
        with self._lock:
            self._blocked_until[provider] = until

    def blocked_until(self, provider: str, now: float, block_s: float) -> float:
        """When the present block of the account ends, 0 without one.

        By chance it is blocked once a run, from the first submission past a drawn moment on.
        """
        with self._lock:
            first = self._first_submit.setdefault(provider, now)
            draw = drawer(self._seed, provider, "blocked")
            due = draw("hit") < self._chances(provider).get("blocked", 0.0)
            opens = first + _BLOCK_EARLIEST_S + _BLOCK_SPREAD_S * draw("when")
            if due and provider not in self._blocked_until and now >= opens:
                self._blocked_until[provider] = now + block_s
            until = self._blocked_until.get(provider, 0.0)
            return until if now < until else 0.0

    def _chances(self, provider: str) -> dict[str, float]:
        return PROFILES[self._profile] | self._shared | self._own.get(provider, {})

    def _forced(self, provider: str, reference: str) -> Faults | None:
        """The script's word on this reference, bound at its first sight so that `next` counts jobs."""
        key = (provider, reference)
        if self._bound.get(key) is None:
            seen = key in self._bound
            entry = next((e for e in self._script if _matches(e, provider, reference, seen=seen)), None)
            self._bound[key] = None if entry is None else entry["fault"]
            if entry is not None and "next" in entry:
                entry["next"] -= 1
        return self._bound[key]


def _matches(entry: Mapping[str, Any], provider: str, reference: str, *, seen: bool) -> bool:
    if entry.get("provider", provider) != provider:
        return False
    if "reference" in entry:
        wanted = str(entry["reference"])
        return reference == wanted or reference.startswith(wanted + ".")
    return not seen and int(entry["next"]) > 0


def _checked(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise FaultError("the body must be an object")
    unknown = document.keys() - {"profile", "probabilities", "providers", "script"}
    if unknown:
        raise FaultError(f"unknown field {min(unknown)}")
    if document.get("profile", "none") not in PROFILES:
        raise FaultError(f"profile must be one of {sorted(PROFILES)}")
    _check_chances("probabilities", document.get("probabilities", {}))
    for name, chances in document.get("providers", {}).items():
        if name not in ACCOUNTS:
            raise FaultError(f"providers.{name} is not one of {list(ACCOUNTS)}")
        _check_chances(f"providers.{name}", chances)
    for number, entry in enumerate(document.get("script", [])):
        _check_entry(f"script[{number}]", entry)
    return document


def _check_chances(field: str, chances: Any) -> None:
    for name, chance in chances.items():
        if name not in DRAWN:
            raise FaultError(f"{field}.{name} is not a fault; there are {sorted(DRAWN)}")
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 <= chance <= 1:
            raise FaultError(f"{field}.{name} must be a number from 0 to 1")


def _check_entry(field: str, entry: Any) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("fault"), dict):
        raise FaultError(f"{field}.fault must be an object")
    if ("reference" in entry) == ("next" in entry):
        raise FaultError(f"{field} must name either reference or next")
    if "next" in entry and not isinstance(entry["next"], int):
        raise FaultError(f"{field}.next must be a whole number")
    for name in entry["fault"]:
        if name not in (DRAWN | SCRIPTED) - {"blocked"}:
            raise FaultError(f"{field}.fault.{name} is not a fault; there are {sorted(DRAWN | SCRIPTED)}")
