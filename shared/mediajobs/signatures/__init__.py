"""How a sender proves itself. Pure: time, secrets and keys are parameters, and every strategy keeps the same promises.

Whatever a sender can put into a request ends in one `BadSignature`; whatever an operator can put into a secret
ends in one `ConfigurationError`, never in a check that lets everybody in. Raw bytes are what is checked, comparisons
take the same time for right and wrong, and a timestamp counts only as plain digits within the window on both sides.

`cryptography` is loaded by the two strategies that need it, at their first use.
"""

from mediajobs.signatures.body import HmacForm, sign_body, verify_body
from mediajobs.signatures.common import BadSignature
from mediajobs.signatures.keyset import Ed25519Form, cheap_ed25519, public_keys, verify_ed25519
from mediajobs.signatures.standard import sign_standard, verify_standard
from mediajobs.signatures.standard_asymmetric import verify_standard_asymmetric
from mediajobs.signatures.static import unsigned, verify_static
from mediajobs.signatures.timestamped import TimestampedForm, sign_timestamped, verify_timestamped
from mediajobs.signatures.tokens import input_token, input_token_matches, token_matches, url_token

__all__ = [
    "BadSignature",
    "Ed25519Form",
    "HmacForm",
    "TimestampedForm",
    "cheap_ed25519",
    "input_token",
    "input_token_matches",
    "public_keys",
    "sign_body",
    "sign_standard",
    "sign_timestamped",
    "token_matches",
    "unsigned",
    "url_token",
    "verify_body",
    "verify_ed25519",
    "verify_standard",
    "verify_standard_asymmetric",
    "verify_static",
    "verify_timestamped",
]
