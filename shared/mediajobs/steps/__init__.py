"""What each function does: load, decide, guarded write. One module per function."""
