"""The outside world behind the ports: the only place where SDKs appear."""
