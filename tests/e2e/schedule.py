"""Reconcile, more often than each minute: what a test waits for is then the design's own time, not the clock's."""

from __future__ import annotations

import json
import threading
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

# As the emulator's scheduler hands it over: unsubstituted, so the same at every tick.
TICK = json.dumps({"scheduled_time": "<aws.scheduler.scheduled-time>"}).encode()
PAUSE_S = 2.0


class Metronome:
    """Invokes reconcile as the schedule does, and again as soon as the run is over. The schedule itself goes on."""

    def __init__(self, functions: Any, name: str) -> None:
        self._functions = functions
        self._name = name
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        # Runs of ours that ended well; each has logged one line.
        self.runs = 0
        self._thread.start()

    def stop(self) -> None:
        """No more runs. One that is under way ends soon: nothing falls due any more."""
        self._stopped.set()
        self._thread.join(timeout=70)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                answer = self._functions.invoke(FunctionName=self._name, Payload=TICK)
                self.runs += "FunctionError" not in answer
            except (BotoCoreError, ClientError):
                self._stopped.wait(PAUSE_S)
            self._stopped.wait(PAUSE_S)
