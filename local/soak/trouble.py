"""The trouble of a run: kills, the schedule off, the provider restarted, changed code deployed. Then none of it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests

from local.provider.plans import drawer
from local.soak import workers
from local.soak.plan import Plan
from local.stack.places import StackError
from local.stack.processes import Processes
from local.stack.stack import Stack
from local.stack.start import PROVIDERS, Bringing, Ports, Wanted

_DOWN_S = 2.0
_WATCH_S = 0.4
# Not among the models that the run's jobs ask for; a submit of it tells the changed code from the old.
GONE_MODEL = "fail-1"


@dataclass
class Trouble:
    """Makes it on two threads; `calm` ends all of it and leaves the stack as it should be."""

    stack: Stack
    plan: Plan
    seed: int
    elapsed: Callable[[], float]
    kills: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._own = Processes(self.stack.place)  # of the providers that are started here
        self._emulator = self.stack.info["pids"]["ministack"]
        self._functions = {name: short for short, name in self.stack.info["functions"].items()}

    def steps(self, over: threading.Event) -> None:
        """Each step of the plan at its moment, or as soon as the one before is through."""
        act = {
            "schedule off": lambda: self._schedule("DISABLED"),
            "schedule on": lambda: self._schedule("ENABLED"),
            "restart provider": self._restart_provider,
            "redeploy": self._redeploy,
        }
        for step in self.plan.steps:
            if over.wait(max(0.0, step.at_s - self.elapsed())):
                return
            act[step.what]()
            self.done[step.what] += 1
            self._say(step.what)

    def killing(self, over: threading.Event) -> None:
        """At each moment one process, drawn from those that run then."""
        processes = workers.Workers(self._emulator)
        for number, at_s in enumerate(self.plan.kills):
            while self.elapsed() < at_s:
                processes.look()
                if over.wait(_WATCH_S):
                    return
            running = sorted(processes.ready().items())
            if not running:
                continue
            draw = drawer(self.seed, "victim", number)
            # First the function, then its process: dispatch has many, and reconcile is as interesting.
            names = sorted({name for _, name in running})
            name = names[int(draw("function") * len(names))]
            pids = [pid for pid, function in running if function == name]
            if workers.kill(pids[int(draw("process") * len(pids))]):
                self.kills[self._functions.get(name, name)] += 1

    def calm(self) -> None:
        """The last fault ends here."""
        self._schedule("ENABLED")
        end = time.monotonic() + 30
        while True:
            try:
                url = f"{self.stack.info['provider_url']}/_faults"
                requests.post(url, json={"profile": "none"}, timeout=10).raise_for_status()
            except requests.RequestException:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
            else:
                return

    def _schedule(self, state: str) -> None:
        scheduler = self.stack.client("scheduler")
        reconcile = self.stack.info["functions"]["Reconcile"]
        pages = scheduler.get_paginator("list_schedules").paginate()
        known = [(each["GroupName"], each["Name"]) for page in pages for each in page["Schedules"]]
        ours = [
            found
            for group, name in known
            if (found := scheduler.get_schedule(GroupName=group, Name=name))["Target"]["Arn"].endswith(f":{reconcile}")
        ]
        if not ours:
            raise StackError("The schedule of reconcile was not found.")
        for schedule in ours:
            scheduler.update_schedule(**_writable(schedule) | {"State": state})

    def _restart_provider(self) -> None:
        """Killed without a word; started again on its port with its journal."""
        workers.kill(self._own.alive()["provider"])
        time.sleep(_DOWN_S)
        wanted = Wanted.from_json(self.stack.info["wanted"])
        place = self.stack.place
        Bringing(place, self._own, wanted, Ports.last(place), self._say).start_provider()

    def _redeploy(self) -> None:
        """The configuration is packed into the layer, so this is new code for every function."""
        changed = self.stack.place.home / "providers.toml"
        changed.write_text(PROVIDERS.read_text().replace(f'{GONE_MODEL} = {{ kind = "video" }}\n', ""))
        self.stack.info["wanted"]["providers"] = str(changed)
        self.stack.redeploy(say=self._say)

    def _say(self, text: str) -> None:
        with suppress(BrokenPipeError):
            print(f"  {self.elapsed():4.0f} s  {text}", flush=True)


def _writable(schedule: dict[str, Any]) -> dict[str, Any]:
    """What GetSchedule says, without what UpdateSchedule does not take."""
    return {
        name: value
        for name, value in schedule.items()
        if name not in ("Arn", "CreationDate", "LastModificationDate", "ResponseMetadata") and value is not None
    }
