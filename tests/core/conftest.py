"""Hypothesis: the same cases at every run (`ci`), or new ones at each (`HYPOTHESIS_PROFILE=search`)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, database=None, **_COMMON)
settings.register_profile("search", derandomize=False, max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
