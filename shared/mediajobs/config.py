"""The only reader of the environment. Each function is given just the names that it needs (template.yaml)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from mediajobs.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The environment, read once per cold start. Empty means: not given to this function."""

    TABLE: str = ""
    IDEMPOTENCY_TABLE: str = ""
    BUCKET: str = ""
    TOPIC_ARN: str = ""
    DISPATCH_QUEUE_URL: str = ""
    STORE_QUEUE_URL: str = ""
    URGENT_QUEUE_URL: str = ""
    NOTIFY_QUEUE_URL: str = ""
    NOTIFY_QUEUE_ARN: str = ""
    NOTIFY_DEAD_LETTER_URL: str = ""
    CALLBACK_HOSTS: str = ""
    CALLBACK_BASE: str = ""
    SECRET_PREFIX: str = ""
    TOKENS_SECRET: str = ""
    LIVE_URL: str = ""
    LIVE_LISTEN_URL: str = ""
    MAX_IN_FLIGHT: int = 10
    JOB_DAYS: int = 400
    RESULT_DAYS: int = 30

    def needs(self, *names: str) -> Config:
        """Itself, once the named settings are there; raises ConfigurationError before any traffic is taken."""
        missing = [name for name in names if not getattr(self, name)]
        if missing:
            raise ConfigurationError(
                f"the environment lacks {', '.join(missing)}: set them in template.yaml for this function"
            )
        return self


def load(environment: Mapping[str, str] | None = None) -> Config:
    """The configuration from the environment; raises ConfigurationError that names what is wrong."""
    env = os.environ if environment is None else environment
    return Config(
        TABLE=env.get("TABLE", ""),
        IDEMPOTENCY_TABLE=env.get("IDEMPOTENCY_TABLE", ""),
        BUCKET=env.get("BUCKET", ""),
        TOPIC_ARN=env.get("TOPIC_ARN", ""),
        DISPATCH_QUEUE_URL=env.get("DISPATCH_QUEUE_URL", ""),
        STORE_QUEUE_URL=env.get("STORE_QUEUE_URL", ""),
        URGENT_QUEUE_URL=env.get("URGENT_QUEUE_URL", ""),
        NOTIFY_QUEUE_URL=env.get("NOTIFY_QUEUE_URL", ""),
        NOTIFY_QUEUE_ARN=env.get("NOTIFY_QUEUE_ARN", ""),
        NOTIFY_DEAD_LETTER_URL=env.get("NOTIFY_DEAD_LETTER_URL", ""),
        CALLBACK_HOSTS=env.get("CALLBACK_HOSTS", ""),
        CALLBACK_BASE=env.get("CALLBACK_BASE", "").rstrip("/"),
        SECRET_PREFIX=env.get("SECRET_PREFIX", ""),
        TOKENS_SECRET=env.get("TOKENS_SECRET", ""),
        LIVE_URL=env.get("LIVE_URL", "").rstrip("/"),
        LIVE_LISTEN_URL=env.get("LIVE_LISTEN_URL", "").rstrip("/"),
        MAX_IN_FLIGHT=_whole(env, "MAX_IN_FLIGHT", 10),
        JOB_DAYS=_whole(env, "JOB_DAYS", 400),
        RESULT_DAYS=_whole(env, "RESULT_DAYS", 30),
    )


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, str(default))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"{name} is {text!r}: write a whole number of 1 or more")
    return int(text)
