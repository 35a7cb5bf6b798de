"""Every order of events that a bounded world allows, played through the product's own steps and rules.

`python -m tests.simulation.explore [--long] [--model NAME]` prints states, steps, depth and violations.
"""
