"""How much memory a download takes, and how fast it is beside a plain copy of the same bytes."""
