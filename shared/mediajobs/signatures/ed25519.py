"""Ed25519 by `cryptography`, which is loaded here alone and at the first call."""

from __future__ import annotations

from collections.abc import Sequence

KEY_BYTES = 32
SIGNATURE_BYTES = 64


def matches(keys: Sequence[bytes], signature: bytes, message: bytes) -> bool:
    """Whether `signature` over `message` was made with the private half of any of the keys. Never raises."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    for key in keys:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):  # ValueError: bytes that are no point of the curve
            continue
        return True
    return False
