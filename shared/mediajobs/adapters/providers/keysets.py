"""The keys that a provider publishes for its webhooks, fetched seldom and kept at most a day.

The fetch stands behind an address that anybody may call. So it happens only for deliveries that could be right, at
most once a minute where it fails, and at most every five minutes where known keys match nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from mediajobs.errors import NoAnswer, NotSent, Unavailable, UnsafeUrl
from mediajobs.messages import Request, Verified
from mediajobs.ports import Http
from mediajobs.signatures import BadSignature, public_keys, verify_ed25519
from mediajobs.signatures.keyset import Candidate

KEPT_MS = 24 * 3600 * 1000
AFTER_FAILURE_MS = 60_000
AFTER_MISMATCH_MS = 300_000


@dataclass(slots=True)
class KeySet:
    """One provider's published keys, as a warm function knows them."""

    url: str
    http: Http
    keys: tuple[bytes, ...] = ()
    fetched_at: int = 0
    tried_at: int | None = None
    failed: bool = False

    def verify(self, candidate: Candidate, now: int) -> Verified:
        """Returns what was signed by a published key. Raises BadSignature, or Unavailable where there are no keys."""
        if not self._known(now):
            self._fetch(now)
        if not self._known(now):
            raise Unavailable("The sender's keys cannot be read just now; send it again.", retry_after_s=60)
        try:
            return verify_ed25519(self.keys, candidate)
        except BadSignature:
            before = self.keys
            if not self._may_look_again(now):
                raise
            self._fetch(now)
            if self.keys == before:
                raise
        return verify_ed25519(self.keys, candidate)

    def _known(self, now: int) -> bool:
        return bool(self.keys) and 0 <= now - self.fetched_at < KEPT_MS

    def _may_look_again(self, now: int) -> bool:
        wait = AFTER_FAILURE_MS if self.failed else AFTER_MISMATCH_MS
        return self.tried_at is None or now - self.tried_at >= wait

    def _fetch(self, now: int) -> None:
        """Newer keys, where they can be had. What is known already stays until its day is over."""
        if self.failed and not self._may_look_again(now):
            return
        self.tried_at = now
        keys = self._read()
        self.failed = not keys
        if keys:
            self.keys, self.fetched_at = keys, now

    def _read(self) -> tuple[bytes, ...]:
        try:
            answer = self.http.get(Request(method="GET", url=self.url, headers={"Accept": "application/json"}))
        except (NotSent, NoAnswer, UnsafeUrl):
            return ()
        return public_keys(answer.body) if answer.status == 200 else ()
