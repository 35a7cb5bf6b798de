"""Doubles of real vendors: each speaks its vendor's wire, on the engine of the simulated provider.

A double judges what it is sent as the vendor would, so that it is a test of the adapter. Its address is the provider's
with the vendor's name as prefix; what follows are the vendor's own paths.
"""

from __future__ import annotations

from typing import Any

from local.vendors.bfl import Bfl
from local.vendors.fal import Fal
from local.vendors.heygen import HeyGen
from local.vendors.kling import Kling
from local.vendors.replicate import Replicate
from local.vendors.runway import Runway
from local.vendors.vendor import Vendor

DOUBLES: dict[str, type[Vendor]] = {
    "fal": Fal,
    "replicate": Replicate,
    "runway": Runway,
    "bfl": Bfl,
    "kling": Kling,
    "heygen": HeyGen,
}


def example(vendor: str, number: int, prompt: str) -> tuple[str, dict[str, Any]]:
    """Model and input, in the vendor's own terms, of the number-th job of a demonstration."""
    return DOUBLES[vendor].example(number, prompt)
