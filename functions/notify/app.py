"""The queue on the topic: signed callbacks to the receivers that tenants have; and the routes that set those up."""

from mediajobs import wiring

handler = wiring.notify_handler()
