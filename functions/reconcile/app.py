"""The schedule, every minute: probes and tops up providers, then looks at every due job."""

from mediajobs import wiring

handler = wiring.reconcile_handler()
