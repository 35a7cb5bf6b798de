"""A simulated media provider: a real HTTP server with seeded faults and a ledger that is the truth."""
