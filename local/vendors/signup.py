"""What an operator does once in a vendor's dashboard: registers the URL to which all webhooks of the account come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from local.vendors.heygen import ENDPOINTS


def with_endpoints(provider_url: str, api_url: str, credentials: Mapping[str, Any]) -> dict[str, Any]:
    """The credentials, with the secret that the registration told."""
    heygen = credentials["heygen"]
    answer = requests.post(
        f"{provider_url}/heygen{ENDPOINTS}",
        json={"url": f"{api_url}/v1/webhooks/heygen"},
        headers={"X-Api-Key": heygen["api_key"]},
        timeout=10,
    )
    answer.raise_for_status()
    return {**credentials, "heygen": {**heygen, "webhook_secrets": [answer.json()["data"]["secret"]]}}
