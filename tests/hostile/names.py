"""A resolver and a way to connect that tests decide. Nothing leaves this machine."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field


@dataclass
class Names:
    """Answers look-ups from a script: the nth look-up of a name gets its nth answer, then the last one again.

    Connections to any address end at 127.0.0.1 on the same port, and the address asked for is kept.
    """

    answers: dict[str, list[list[str] | Exception]] = field(default_factory=dict)
    faults: dict[str, Exception] = field(default_factory=dict)  # by address
    looked_up: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)

    def resolve(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        script = self.answers[host]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        self.connected.append(address)
        if address in self.faults:
            raise self.faults[address]
        return socket.create_connection(("127.0.0.1", port), timeout)
