"""The main job, shown: jobs through the deployed stack under faults, and our view beside the provider's ledger."""
