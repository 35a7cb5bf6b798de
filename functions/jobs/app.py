"""Reading jobs, asking for a cancel, a person's decisions; holds no provider secret."""

from mediajobs import wiring

handler = wiring.jobs_handler()
