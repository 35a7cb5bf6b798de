"""Minutes of load under heavy faults, kills and a redeploy; then the faults stop and convergence is measured."""
