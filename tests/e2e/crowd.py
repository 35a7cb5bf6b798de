"""Every scenario's job, submitted at once: each test then looks at its own, while all the others are in its way.

Which fault hits which job is forced by the provider's script, by the job's reference. A reference begins with the
request id, and that follows from tenant and key, so the script is ready before the first job is submitted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from local.stack import Stack
from mediajobs.jobs.model import request_id
from tests.e2e import workers
from tests.e2e.client import Answer, Api
from tests.e2e.truth import Provider, until

Submit = Callable[[str], None]
PROMPT = "a red bicycle leaning on a garden wall"
BURST = 30
KILL_S = 150.0


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One job and what befalls it. `submission` keeps the fault to one submission: what a person resubmits is well."""

    fault: dict[str, Any] = field(default_factory=dict)
    provider: str = "sim"
    model: str = "image-1"
    input: dict[str, Any] = field(default_factory=dict)
    runs_s: float | None = 1.0
    submission: str = ""

    def document(self, name: str) -> dict[str, Any]:
        given = {"prompt": PROMPT, **self.input}
        return {"provider": self.provider, "model": self.model, "input": given, "metadata": {"scenario": name}}

    def entry(self, job_id: str) -> dict[str, Any]:
        """The script's word on this job."""
        lasts = {} if self.runs_s is None else {"duration_s": self.runs_s}
        return {"reference": job_id + self.submission, "provider": self.provider, "fault": {**lasts, **self.fault}}


NOKEY = "sim-nokey"
CUT = {"close_after": 1, "drop": 1}

# So that every function has a process, and a job is submitted before reconcile would look for it.
WARM = {"warm-1": Scenario(), "warm-2": Scenario()}

# Killed on purpose, before anything else runs.
KILLED = {
    "kill-store": Scenario(fault={"slow_download_s": 20}),
    "kill-reconcile": Scenario(fault={"drop": 1, "slow_poll_s": 20}),
    "kill-dispatch": Scenario(fault={"drop": 1, "slow_answer_s": 20}),
    "kill-webhook": Scenario(),
    "kill-relay": Scenario(),
}

# First what takes long or has to be met in the middle; then the rest, in no order that matters.
SCENARIOS = {
    "never-finishes": Scenario(provider=NOKEY, fault={"never_finish": 1}),
    "lost": Scenario(provider=NOKEY, fault={"lost": 1}),
    "adopt": Scenario(provider=NOKEY, fault=CUT, submission=".1"),
    "fail": Scenario(provider=NOKEY, fault={"close_after": 1, "delay": 160}),
    "late-webhook": Scenario(provider=NOKEY, fault={"close_after": 1, "delay": 8}),
    "resubmit": Scenario(provider=NOKEY, fault=CUT, submission=".1"),
    "unknown-end": Scenario(provider=NOKEY, fault={"unknown_final": 1}),
    "overdue": Scenario(runs_s=600),
    "cancel-running": Scenario(runs_s=600),
    "dead-letter": Scenario(fault={"truncated": 5}),
    "dead-link": Scenario(fault={"dead_link": 2}),
    "mp4": Scenario(model="video-1"),
    "png": Scenario(model="image-1", input={"count": 3}),
    "wav": Scenario(model="voice-1"),
    "close-after": Scenario(fault={"close_after": 1, "drop": 1}),
    "error-after": Scenario(fault={"error_after": 1}, runs_s=4),
    "unavailable-after": Scenario(fault={"unavailable_after": 1, "drop": 1}),
    "unavailable-before": Scenario(fault={"unavailable_before": 1, "retry_after_s": 3}),
    "rate-limited": Scenario(fault={"rate_limited_before": 2, "retry_after_s": 1}),
    "no-id": Scenario(fault={"no_id_after": 1, "drop": 1}),
    "dropped": Scenario(fault={"drop": 1}),
    "end-dropped": Scenario(fault={"drop_terminal": 1}),
    "repeated": Scenario(fault={"repeat_5": 1}),
    "old": Scenario(fault={"delay": 2, "old_timestamp": 1}),
    "reordered": Scenario(fault={"reorder": 1}),
    "webhook-first": Scenario(fault={"webhook_first": "running"}),
    "end-first": Scenario(fault={"webhook_first": "terminal"}, runs_s=0.2),
    "odd-word": Scenario(fault={"unknown_word": 1}, runs_s=3),
    "expired-link": Scenario(fault={"expired_url": 1}),
    "wrong-type": Scenario(fault={"wrong_type": 1}),
    "wrong-type-always": Scenario(fault={"wrong_type_always": 1}),
    "truncated": Scenario(fault={"truncated": 1}),
    "empty": Scenario(fault={"empty": 1}),
    "empty-always": Scenario(fault={"empty_always": 1}),
    "one-of-three": Scenario(input={"count": 3}, fault={"wrong_type": 1}),
    "poll-errors": Scenario(fault={"drop": 1, "poll_error": 1}),
    "provider-fails": Scenario(fault={"provider_fails": 1}),
    "moderated": Scenario(input={"prompt": "a forbidden-word in a sentence"}),
    "rejected": Scenario(input={"count": 99}),
}
LAST = {"cancel-pending": Scenario()}
# About this one, once it has ended, anything may be said that is rightly signed.
SPOKEN_OF = "reordered"


@dataclass(frozen=True)
class Crowd:
    """The jobs of all scenarios, by name, what was killed on the way and what was answered to early cancels."""

    ids: dict[str, str]
    killed: dict[str, int]
    cancels: dict[str, Answer]

    def __getitem__(self, name: str) -> str:
        return self.ids[name]

    @property
    def burst(self) -> list[str]:
        return [self.ids[name] for name in burst_names()]


def burst_names() -> list[str]:
    return [f"burst-{number:02d}" for number in range(BURST)]


def gather(stack: Stack, api: Api, provider: Provider) -> Crowd:
    """Kill a process in the middle of each step, then submit everything else as fast as the API takes it."""
    everything = WARM | KILLED | SCENARIOS | dict.fromkeys(burst_names(), Scenario()) | LAST
    ids = {name: request_id(stack.info["tenant"], f"crowd-{name}") for name in everything}
    provider.configure(script=[scenario.entry(ids[name]) for name, scenario in everything.items()])

    def submit(name: str) -> None:
        answer = api.submit(f"crowd-{name}", everything[name].document(name))
        assert (answer.status, answer.json["request_id"]) == (202, ids[name]), (name, answer)

    _each(submit, WARM)
    for name in WARM:
        api.ended(ids[name])
    killed = _kill_each_step(stack, provider, ids, submit)
    cancels = {"storing": api.cancel(ids["kill-store"])}
    _each(submit, SCENARIOS)
    _each(submit, burst_names())
    _each(submit, LAST)
    cancels["pending"] = api.cancel(ids["cancel-pending"])
    return Crowd(ids, killed, cancels)


def _each(submit: Submit, names: Iterable[str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(submit, names))


def _kill_each_step(stack: Stack, provider: Provider, ids: dict[str, str], submit: Submit) -> dict[str, int]:
    """Each function's process is ended while it is known to be in the middle of a job; how many were."""
    killed: dict[str, int] = {}

    def job(name: str) -> dict[str, Any]:
        return next(iter(provider.charges(ids[name])), {})

    _each(submit, ["kill-store", "kill-reconcile"])
    until(lambda: job("kill-store") and job("kill-reconcile"), KILL_S)
    until(lambda: job("kill-store").get("downloads"), KILL_S)
    killed["store"] = workers.kill(stack, "Store")
    submit("kill-dispatch")
    until(lambda: job("kill-dispatch"), KILL_S)
    killed["dispatch"] = workers.kill(stack, "Dispatch")
    submit("kill-webhook")
    with workers.storm(stack, "Webhook"):
        refused = until(lambda: _refused(provider, ids["kill-webhook"]), KILL_S)
    killed["webhook"] = len(refused)
    with workers.held(stack, "Relay") as killed["relay"]:
        submit("kill-relay")
        time.sleep(1.5)
    until(lambda: job("kill-reconcile").get("polls"), KILL_S)
    killed["reconcile"] = workers.kill(stack, "Reconcile")
    return killed


def _refused(provider: Provider, job_id: str) -> list[dict[str, Any]]:
    """Deliveries of the job's end that got no answer of ours."""
    return [sent for sent in provider.events(job_id, "completed") if sent["status_code"] in (0, 500, 502, 503, 504)]
