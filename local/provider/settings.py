"""What the simulated provider is: its two accounts, models, timings and credentials."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROVIDERS = ("sim", "sim-nokey")
# The doubles of real vendors, in local/vendors.
VENDORS = ("fal", "replicate", "runway", "bfl", "kling", "heygen")
ACCOUNTS = (*PROVIDERS, *VENDORS)
# These sign with a published key, or not at all, or send nothing.
_UNSIGNED = ("fal", "runway", "kling")


@dataclass(frozen=True, slots=True)
class Traits:
    """What one provider offers its clients."""

    idempotent: bool
    lookup: bool
    # Whether a key that comes again with another body is refused, or answered as the first time.
    strict_key: bool = True
    # Whether a reference is accepted once only.
    unique_reference: bool = False
    # Whether a 503 that comes before anything was accepted says so by Retry-After.
    honest_503: bool = True
    # How many jobs the account may have in flight; 0: any number.
    most_in_flight: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """What a model makes, and how it behaves apart from any fault."""

    kind: str
    # The run time in multiples of the expected one; None: drawn around it.
    factor: float | None = None
    fails: bool = False
    # Whether its input names a picture to make the film from.
    from_picture: bool = False


MODELS = {
    "video-1": Model("video/mp4"),
    "image-1": Model("image/png"),
    "voice-1": Model("audio/wav"),
    "slow-1": Model("video/mp4", factor=5.0),
    "animate-1": Model("video/mp4", from_picture=True),
    "fail-1": Model("video/mp4", fails=True),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Timings; the defaults are those the product's configuration names."""

    expected_s: float = 4.0
    max_run_s: float = 60.0
    # Many times a second, and yet a few jobs at once leave an emulator on a small machine room for all else.
    progress_per_s: float = 5.0
    url_life_s: float = 300.0
    key_life_s: float = 86_400.0
    # How long a result can be had at all, where a vendor's is removed and not only its link.
    result_life_s: float = 3600.0
    block_s: float = 20.0
    # How long an answer may be held back for a webhook that should come first.
    hold_s: float = 10.0
    webhook_timeout_s: float = 15.0
    # The waits between the five tries of one delivery.
    retry_delays_s: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets of one run, kept in the state directory so that they outlive the process."""

    api_keys: dict[str, str]
    webhook_secrets: dict[str, list[str]]
    url_secret: bytes
    # Of the key that a vendor signs with and publishes the other half of.
    signing_seed: bytes

    def public(self) -> dict[str, Any]:
        """What a client of this provider is given at sign-up."""
        return {
            "providers": {
                name: {"api_key": self.api_keys[name], "webhook_secrets": self.webhook_secrets[name]}
                for name in ACCOUNTS
            }
        }


def load_credentials(state: Path | None) -> Credentials:
    """The credentials in the state directory; made, and written there, when it has none."""
    file = None if state is None else state / "config.json"
    if file is not None and file.exists():
        stored = json.loads(file.read_text())
        hidden = [bytes.fromhex(stored[name]) for name in ("url_secret", "signing_seed")]
        return Credentials(stored["api_keys"], stored["webhook_secrets"], *hidden)
    fresh = Credentials(
        api_keys={name: _api_key(name) for name in ACCOUNTS},
        webhook_secrets={name: [] if name in _UNSIGNED else [_webhook_secret()] for name in ACCOUNTS},
        url_secret=secrets.token_bytes(32),
        signing_seed=secrets.token_bytes(32),
    )
    if file is not None:
        _write(file, fresh)
    return fresh


def _api_key(name: str) -> str:
    # Kling's is a pair, of which the second part signs.
    return f"{name}_{secrets.token_hex(16)}" + (f":{secrets.token_hex(16)}" if name == "kling" else "")


def _webhook_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _write(file: Path, credentials: Credentials) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place: a process killed here leaves no half-written file behind.
    part = file.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_text(
        json.dumps(
            {
                "api_keys": credentials.api_keys,
                "webhook_secrets": credentials.webhook_secrets,
                "url_secret": credentials.url_secret.hex(),
                "signing_seed": credentials.signing_seed.hex(),
            }
        )
    )
    part.replace(file)
