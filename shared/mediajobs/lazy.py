"""A function's handler, wired at its first invocation and kept for the next ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mediajobs.clock import Clock, SystemClock
from mediajobs.log import JsonLog
from mediajobs.ports import World

Handler = Callable[[dict[str, Any], Any], Any]
Build = Callable[[World], Handler]
# What each invocation's context is told to, where a port wants it, and the handler.
Wired = tuple[Callable[[Any], None] | None, Handler]
Wire = Callable[[str, frozenset[str], Build, Clock], Wired]


class Lazy:
    """Wires when first called. A function that answers HTTP requests (`http`) answers also where that fails.

    Without that the caller of a wrong deployment would see the gateway's 502. Nothing is kept of a failure: the next
    invocation tries anew.
    """

    def __init__(
        self, function: str, ports: str, build: Build, wire: Wire, *, http: bool = False, clock: Clock | None = None
    ) -> None:
        self._function, self._ports, self._build = function, ports, build
        self._wire, self._http, self._clock = wire, http, clock
        self._wired: Wired | None = None

    def at(self, clock: Clock) -> Lazy:
        """The same function in another time: a recorded event is run at the moment at which it was signed."""
        return Lazy(self._function, self._ports, self._build, self._wire, http=self._http, clock=clock)

    def __call__(self, event: dict[str, Any], context: Any) -> Any:
        try:
            register, run = self._wired = self._wired or self._made()
        except Exception as fault:
            if not self._http:
                raise
            return self._unwired(event, fault)
        if register is not None:
            register(context)
        return run(event, context)

    def _made(self) -> Wired:
        return self._wire(self._function, frozenset(self._ports.split()), self._build, self._clock or SystemClock())

    def _unwired(self, event: dict[str, Any], fault: Exception) -> Any:
        from mediajobs.api import edge

        log = JsonLog()
        log.bind(function=self._function)
        return edge.unwired(log, event, fault)
