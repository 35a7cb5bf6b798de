"""`make soak`: minutes of load under heavy faults on a stack of its own; then calm, and how soon all is true."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import requests

from local.demo import truth
from local.demo.client import Api, ApiError
from local.demo.watch import Watch
from local.soak import report, workers
from local.soak.convergence import Convergence
from local.soak.crowd import Crowd
from local.soak.operator import Operator
from local.soak.options import Options, parse
from local.soak.plan import Plan, plan
from local.soak.trouble import GONE_MODEL, Trouble
from local.stack.places import StackError
from local.stack.stack import Stack
from local.stack.start import Wanted

_LOOK_S = 2.0
# Enough to see that progress never falls; each event that finds no process free makes the emulator start one more.
_QUIET_PROGRESS = ("--progress-per-s", "1")
# How many looks lie between two errands of operator and callers; and a line for whoever waits.
_ERRAND_EVERY, _SAY_EVERY = 4, 5
# How long after the load's end its last step may still take; a deploy on a busy machine is slow.
_OVERRUN_S = 300.0


class Soak:
    """One run on a stack that is up."""

    def __init__(self, stack: Stack, options: Options, load: Plan) -> None:
        self.stack, self.options, self.load = stack, options, load
        self.started = time.monotonic()
        self.crowd = Crowd.of(stack)
        self.watch = Watch(self.crowd, None)
        self.operator = Operator(Api(stack.info["api_url"], stack.info["operator_key"]), stack.info["provider_url"])
        self.trouble = Trouble(stack, load, options.seed, self.elapsed)
        self.convergence = Convergence()
        self._looks = self._next_errand = 0
        self._errands = ThreadPoolExecutor(1)
        self._errand: Future[None] | None = None
        self._answered_all = False

    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def run(self) -> int:
        self.crowd.warm_up(self.load.tasks[0])
        self.started = time.monotonic()
        self._load()
        self.trouble.calm()
        self.convergence.faults_ended = _now()
        print(f"soak: {self.elapsed():.0f} s: the faults have ended, all must now become true", flush=True)
        self._converge()
        self._changed_code_runs()
        return self._judge()

    def _load(self) -> None:
        """Jobs and trouble side by side, until both are through."""
        over = threading.Event()
        with ThreadPoolExecutor(3) as pool:
            parts = [
                pool.submit(self.crowd.run, self.load.tasks[1:], self.elapsed, over),
                pool.submit(self.trouble.steps, over),
                pool.submit(self.trouble.killing, over),
            ]
            try:
                while self._loading(parts):
                    self._look(calm=False)
            finally:
                over.set()
        for part in parts:
            part.result()

    def _loading(self, parts: list[Future[None]]) -> bool:
        broken = any(part.done() and part.exception() for part in parts)
        late = self.elapsed() > self.load.load_s + _OVERRUN_S
        return not broken and not late and (self.elapsed() < self.load.load_s or not all(p.done() for p in parts))

    def _converge(self) -> None:
        end = time.monotonic() + self.options.wait_s
        self._look(calm=True)
        while not self._all_settled() and time.monotonic() < end:
            self._look(calm=True)
        self._finish_errand()

    def _all_settled(self) -> bool:
        """Nothing is open, and the operator, who may open it again, has found no more to answer."""
        return not self.convergence.open() and self._answered_all and self._errand is None

    def _look(self, *, calm: bool) -> None:
        """The table itself, so that whoever waits for an answer of the API in the trouble holds up nobody else."""
        began = time.monotonic()
        heads, _ = truth.table(self.stack.client("dynamodb"), self.stack.info["table"])
        self.convergence.see(heads, _now())
        if self._errand is not None and self._errand.done():
            self._finish_errand()
        elif self._errand is None and self._looks >= self._next_errand:
            self._errand = self._errands.submit(self._run_errand, heads, calm=calm)
        if self._looks % _SAY_EVERY == 0:
            self._say(heads)
        self._looks += 1
        time.sleep(max(0.0, _LOOK_S - (time.monotonic() - began)))

    def _run_errand(self, heads: Mapping[str, Mapping[str, Any]], *, calm: bool) -> None:
        """Answer questions as the operator, and read as the callers; who gets no answer in the trouble asks later."""
        self._answered_all = not self.operator.work(heads, calm=calm) and calm
        self.watch.add(sorted(self.crowd.accepted))
        try:
            self.watch.look()
        except (ApiError, requests.RequestException) as error:
            print(f"  {self.elapsed():4.0f} s  a caller got no answer: {error}", flush=True)

    def _finish_errand(self) -> None:
        if self._errand is not None:
            self._errand.result()
            self._errand, self._next_errand = None, self._looks + _ERRAND_EVERY

    def _say(self, heads: Mapping[str, Mapping[str, Any]]) -> None:
        count = Counter(
            f"attention {h['attention']['reason']}" if h["attention"] else h["state"] for h in heads.values()
        )
        told = ", ".join(f"{number} {name}" for name, number in sorted(count.items())) or "none yet"
        kills = self.trouble.kills.total()
        print(f"  {self.elapsed():4.0f} s  of {self.options.jobs} jobs: {told} | {kills} killed", flush=True)

    def _changed_code_runs(self) -> None:
        """The model that the deploy took away is refused."""
        try:
            self.crowd.apis["demo"].submit("sim", 0, f"soak-gone-{self.options.seed}", model=GONE_MODEL)
        except ApiError as error:
            if error.status == 422:
                return
        self.convergence.violations.append("the code of before the deploy still runs")

    def _judge(self) -> int:
        """Read everything once more, through the API too, and compare it with the truth."""
        self.watch.add(sorted(self.crowd.accepted))
        self.watch.look(ended_too=True)
        return report.judge(self)


def _now() -> int:
    return time.time_ns() // 1_000_000


def main() -> int:
    """Run; 0 only where no invariant was violated."""
    options = parse()
    if not workers.supported():
        print("soak: needs /proc to find the processes of functions, so it runs on Linux only", file=sys.stderr)
        return 2
    load = plan(options.seed, options.jobs, options.minutes)
    print(
        f"soak: {options.jobs} jobs within {options.minutes:g} minutes, seed {options.seed}, limit "
        f"{options.max_in_flight}, at most {options.wait_s:.0f} s for convergence",
        flush=True,
    )
    wanted = Wanted(
        max_in_flight=options.max_in_flight, seed=options.seed, faults="heavy", provider_options=_QUIET_PROGRESS
    )
    try:
        with Stack.start(options.name, wanted) as stack:
            return Soak(stack, options, load).run()
    except StackError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
