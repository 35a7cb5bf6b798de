"""The vendors' published wires. A new adapter joins by one line here."""

from __future__ import annotations

from tests.contract.vendors.bfl import BFL
from tests.contract.vendors.fal import FAL
from tests.contract.vendors.heygen import HEYGEN
from tests.contract.vendors.kling import KLING
from tests.contract.vendors.replicate import REPLICATE
from tests.contract.vendors.runway import RUNWAY
from tests.contract.vendors.skeleton import SKELETON

ALL = (FAL, REPLICATE, RUNWAY, BFL, KLING, HEYGEN, SKELETON)
