"""Hypothesis: the same cases at every run (`ci`), or new ones at each (`HYPOTHESIS_PROFILE=search`)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _QUIET, derandomize=True, database=None)
settings.register_profile("search", _QUIET, derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
