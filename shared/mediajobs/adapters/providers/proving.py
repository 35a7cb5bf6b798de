"""Which strategy proves a provider's webhooks, by its configuration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from mediajobs.adapters.providers.credentials import Credentials
from mediajobs.adapters.providers.keysets import KeySet
from mediajobs.adapters.providers.webhook_config import Webhook
from mediajobs.errors import ConfigurationError, Unauthorized
from mediajobs.messages import Delivery, Verified
from mediajobs.ports import Http
from mediajobs.signatures import (
    Ed25519Form,
    HmacForm,
    TimestampedForm,
    cheap_ed25519,
    unsigned,
    verify_body,
    verify_standard,
    verify_standard_asymmetric,
    verify_static,
    verify_timestamped,
)

WITHOUT_SECRETS = ("ed25519-jwks", "none")

Secrets = list[str]
Proof = Callable[[Delivery, int], Verified]
WithSecrets = Callable[[Secrets, Delivery, int], Verified]


def proof(config: Webhook, credentials: Credentials, http: Http) -> Proof:
    """The check that this provider's deliveries pass. It raises Unauthorized for all that do not."""
    if config.strategy == "none":
        return lambda delivery, now: unsigned(delivery.ref, delivery.body, now)
    if config.strategy == "ed25519-jwks":
        keys = KeySet(url=config.jwks_url or "", http=http)
        form = Ed25519Form(prefix=config.header_prefix, tolerance_s=config.tolerance_s)
        return lambda delivery, now: keys.verify(cheap_ed25519(form, delivery.headers, delivery.body, now), now)
    check = _with_secrets(config)
    return lambda delivery, now: _twice(check, credentials, delivery, now)


def check_secrets(config: Webhook, secrets: Secrets) -> None:
    """Raises ConfigurationError where this strategy cannot use one of them: a check before the first event."""
    if config.strategy in WITHOUT_SECRETS:
        return
    nothing = Delivery(provider="", ref=None, headers={}, body=b"")
    with contextlib.suppress(Unauthorized):
        _with_secrets(config)(secrets, nothing, 0)


def _twice(check: WithSecrets, credentials: Credentials, delivery: Delivery, now: int) -> Verified:
    """Checked with the secrets as cached; where that fails, once more if a forced look brings others."""
    secrets = credentials.webhook_secrets()
    try:
        return check(secrets, delivery, now)
    except (Unauthorized, ConfigurationError):
        newer = credentials.newer_webhook_secrets(secrets)
        if newer is None:
            raise
    return check(newer, delivery, now)


def _with_secrets(config: Webhook) -> WithSecrets:
    header, tolerance_s = config.header or "", config.tolerance_s
    literal = config.secret == "literal"  # noqa: S105 a format, not a secret
    match config.strategy:
        case "standard-webhooks-v1a":
            return lambda secrets, it, now: verify_standard_asymmetric(secrets, it.headers, it.body, now, tolerance_s)
        case "timestamped-hex":
            timestamped = TimestampedForm(
                header=header,
                timestamp=config.timestamp_name,
                signature=config.signature_name,
                base64_secret=not literal,
                tolerance_s=tolerance_s,
            )
            return lambda secrets, it, now: verify_timestamped(secrets, timestamped, it.headers, it.body, now)
        case "body-hmac":
            form = HmacForm(header=header, prefix=config.prefix, encoding=config.encoding, base64_secret=not literal)
            return lambda secrets, it, now: verify_body(secrets, form, it.headers, it.body, now)
        case "static-header":
            return lambda secrets, it, now: verify_static(secrets, header, config.prefix, it.headers, it.body, now)
        case _:
            return lambda secrets, it, now: verify_standard(secrets, it.headers, it.body, now, tolerance_s)
