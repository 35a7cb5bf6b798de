"""The job's life: states, events, the transition table and the pure `decide`."""
