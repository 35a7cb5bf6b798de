"""SQS: claims with a slot, submits once, records the answer; asks providers to cancel."""

from mediajobs import wiring

handler = wiring.dispatch_handler()
