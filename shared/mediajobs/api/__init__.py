"""The HTTP edge: events of API Gateway in, JSON and RFC 9457 problems out. No rule of the field lives here."""
