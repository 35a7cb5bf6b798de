"""The table's stream: does what the words in `out` say. The outbox of every other function."""

from mediajobs import wiring

handler = wiring.relay_handler()
