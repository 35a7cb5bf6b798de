"""API Gateway's request authorizer: an API key becomes tenant and scope."""

from mediajobs import wiring

handler = wiring.authorize_handler()
