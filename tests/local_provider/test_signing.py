"""Webhooks are signed by Standard Webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac

from local.provider.webhooks import sign
from tests.local_provider.kit import Client, Receiver, until


def test_published_vector() -> None:
    signature = sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_give_two_signatures() -> None:
    secrets = ["whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2)]
    both = sign(secrets, "msg_1", 1, b"{}").split(" ")
    assert both == [sign([secret], "msg_1", 1, b"{}") for secret in secrets]
    assert both[0] != both[1]


def test_every_delivery_verifies_over_the_raw_bytes(client: Client, nokey: Client, receiver: Receiver) -> None:
    """Each provider signs with its own secret; ids hold no dot."""
    client.submit("a.1.x", duration_s=0.1)
    nokey.submit("b.1.x", duration_s=0.1)
    until(lambda: len(receiver.of("job.completed")) == 2)
    for event in receiver.events:
        name = "sim" if event.body["data"]["reference"] == "a.1.x" else "sim-nokey"
        secret = client.server.credentials.webhook_secrets[name][0]
        signed = f"{event.id}.{event.headers['webhook-timestamp']}.".encode() + event.raw
        digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        assert event.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
        assert "." not in event.id
        assert event.body.keys() == {"type", "timestamp", "data"}
