"""Several tenants' application developers: each submits its jobs in waves and now and then cancels one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import requests

from cli import keys
from local.demo.client import Api, ApiError
from local.soak.plan import TENANTS, Task
from local.stack.stack import Stack
from mediajobs.jobs.model import request_id

_KEPT_TRYING_S = 300.0
_AT_ONCE = 2
_WARM_S = 60.0
# While functions are killed and deployed, a client needs more patience than usual.
_TRIES = 12


@dataclass
class Crowd:
    """Whose job is whose; reads any of them with its owner's key."""

    apis: dict[str, Api]
    owners: dict[str, str] = field(default_factory=dict)
    cancels: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, stack: Stack) -> Crowd:
        """One key for each tenant, made as an operator makes it; the stack's own tenant has one."""
        info = stack.info
        made = {info["tenant"]: info["api_key"]}
        for tenant in TENANTS:
            if tenant not in made:
                made[tenant] = keys.create(stack.client("dynamodb"), info["table"], tenant, "user")
        return cls({tenant: Api(info["api_url"], key, _TRIES) for tenant, key in made.items()})

    def get(self, job_id: str) -> dict[str, Any]:
        return self.apis[self.owners[job_id]].get(job_id)

    def warm_up(self, task: Task) -> None:
        """The first job, in peace, so that what it takes to submit one has been started once."""
        end = time.monotonic() + _WARM_S
        with ThreadPoolExecutor(1) as pool:
            self._one(task, pool)
        job_id = request_id(task.tenant, task.key)
        while job_id in self.accepted and self.get(job_id)["stage"] == "queued" and time.monotonic() < end:
            time.sleep(1)

    def run(self, tasks: tuple[Task, ...], elapsed: Callable[[], float], over: threading.Event) -> None:
        """Submit each at its moment, some at once; return when all were taken and all cancels answered."""
        # The pools end in reverse: while jobs are submitted there may be second thoughts.
        with ThreadPoolExecutor(_AT_ONCE) as second_thoughts, ThreadPoolExecutor(_AT_ONCE) as pool:
            for task in tasks:
                if over.wait(max(0.0, task.at_s - elapsed())):
                    return
                _report(pool.submit(self._one, task, second_thoughts), self.violations)

    def _one(self, task: Task, second_thoughts: ThreadPoolExecutor) -> None:
        job_id = request_id(task.tenant, task.key)
        if not self._taken(task):
            self.violations.append(f"lost: the submit of {task.key} was not taken within {_KEPT_TRYING_S:.0f} s")
            return
        self.owners[job_id] = task.tenant
        self.accepted.add(job_id)
        if task.cancel_after_s is not None:
            pending = second_thoughts.submit(self._cancel, self.apis[task.tenant], job_id, task.cancel_after_s)
            _report(pending, self.violations)

    def _taken(self, task: Task) -> bool:
        """As a careful client: the same request with the same key, until it is answered."""
        end = time.monotonic() + _KEPT_TRYING_S
        while time.monotonic() < end:
            try:
                answered = self.apis[task.tenant].submit(task.provider, task.number, task.key)
            except (ApiError, requests.RequestException) as error:
                if isinstance(error, ApiError) and error.status in (400, 422):
                    raise
                time.sleep(1)
            else:
                return answered == request_id(task.tenant, task.key)
        return False

    def _cancel(self, api: Api, job_id: str, after_s: float) -> None:
        time.sleep(after_s)
        try:
            api.cancel(job_id)
        except ApiError as error:
            # 409: it has ended, or is being stored. Anything else is the kills' doing: the caller gives up.
            self.cancels["too late" if error.status == 409 else "unanswered"] += 1
        except requests.RequestException:
            self.cancels["unanswered"] += 1
        else:
            self.cancels["taken"] += 1


def _report(work: Future[None], violations: list[str]) -> None:
    """What a thread dies of is told, not lost."""

    def told(done: Future[None]) -> None:
        if (error := done.exception()) is not None:
            violations.append(f"a client met {type(error).__name__}: {error}")

    work.add_done_callback(told)
