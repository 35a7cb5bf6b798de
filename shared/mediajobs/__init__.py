"""Media Jobs: long media jobs at third-party providers, made safe to retry and certain to end."""
