"""Does the net catch fish? The product broken on purpose, and the tests that have to say so."""
