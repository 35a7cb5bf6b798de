"""The template is read once; a test that changes it takes a copy."""

from typing import Any

import pytest

from tests.template import reading


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    return reading.load()
