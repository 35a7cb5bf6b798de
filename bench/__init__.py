"""What a job costs, counted: units, requests, dollars, modules. `make bench` prints it, tests/budgets hold it."""
