"""How a provider's webhooks are proved and read: the table `webhook` of a provider's configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mediajobs.adapters.providers.fields import Expression, HeaderName, Name, Table

Strategy = Literal[
    "standard-webhooks",
    "standard-webhooks-v1a",
    "timestamped-hex",
    "body-hmac",
    "ed25519-jwks",
    "static-header",
    "none",
]
# What these prove is not when: a delivery can be sent again by whoever saw it, so it is a hint and no word.
HINTS: tuple[str, ...] = ("body-hmac", "static-header", "none")
# These read a header that each provider calls otherwise.
WITH_HEADER: tuple[str, ...] = ("timestamped-hex", "body-hmac", "static-header")


class Webhook(Table):
    """Present only where the provider calls back. Without it jobs are polled."""

    data: Expression = Field(
        default="@", description='JMESPath to the job in a webhook\'s body, for example "data"; "@" is the whole body'
    )
    strategy: Strategy = Field(
        default="standard-webhooks",
        description='how a webhook is proved: "standard-webhooks", "standard-webhooks-v1a", "timestamped-hex", '
        '"body-hmac", "ed25519-jwks", "static-header" or "none"',
    )
    trusted: bool = Field(
        default=True,
        description="true: a signed webhook counts as the provider's word; false: it only says when to ask, and each "
        "job is polled as well",
    )
    confirm: bool = Field(
        default=False,
        description="true: a webhook names its job and tells no more, so that the job is asked for each time",
    )
    header: HeaderName | None = Field(
        default=None, description='the header with the signature or the secret, for example "X-Signature"'
    )
    prefix: Annotated[str, StringConstraints(pattern=r"^([!-~][ -~]*)?$", max_length=40)] = Field(
        default="", description='what stands before the signature or the secret, for example "sha256=" or "Bearer "'
    )
    encoding: Literal["hex", "base64"] = Field(default="hex", description='body-hmac: "hex" or "base64"')
    timestamp_name: Name = Field(default="t", description='timestamped-hex: the name of the timestamp, for example "t"')
    signature_name: Name = Field(
        default="v1", description='timestamped-hex: the name of a signature, for example "v1" or "v0"'
    )
    secret: Literal["literal", "base64"] = Field(
        default="literal",
        description='timestamped-hex and body-hmac: "literal", the secret is the key as it is written, or "base64", '
        "the key is what follows whsec_, decoded",
    )
    jwks_url: Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,300}$")] | None = Field(
        default=None, description="ed25519-jwks: where the provider publishes its keys"
    )
    header_prefix: HeaderName = Field(
        default="X-Fal-Webhook", description="ed25519-jwks: what the names of its four headers begin with"
    )
    tolerance_s: Annotated[int, Field(ge=30, le=3600)] = Field(
        default=300, description="how far a signed timestamp may be away, in seconds, to both sides"
    )
    challenge: Name | None = Field(
        default=None,
        description='the field of a test delivery that must be sent back, for example "challenge"',
    )
