"""SQS: downloads the results, checks them, keeps them, finishes the job."""

from mediajobs import wiring

handler = wiring.store_handler()
