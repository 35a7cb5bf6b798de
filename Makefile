# Media Jobs. `make help` lists the targets; each sets up what it needs, given only python3 (3.11 or later) and make.

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

DEV := .venv/dev/bin
SAM := .venv/sam/bin
RUN := PYTHONPATH=.:shared $(DEV)/python -m
export SAM_CLI_TELEMETRY := 0

# What `make demo`, `make soak` and `make up` can be told; empty means their own default.
export JOBS SEED FAULTS MAX_IN_FLIGHT IDEMPOTENT PROVIDERS PROVIDER MINUTES
# What `make build` and `make deploy` can be told.
ENV ?= dev
RUNTIME ?= $(shell $(PYTHON) -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

.PHONY: help
help: ## list the targets
	@echo "make <target> [VARIABLE=value ...]"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'
	@echo
	@echo "  demo takes JOBS SEED FAULTS=none|default|heavy MAX_IN_FLIGHT, and IDEMPOTENT=0|1 (whether the provider honours keys)"
	@echo "  or PROVIDER=fal|replicate|runway|bfl|kling|heygen (a vendor's adapter against its double)"
	@echo "  up takes SEED FAULTS MAX_IN_FLIGHT PROVIDERS=file.toml; soak takes JOBS SEED MINUTES MAX_IN_FLIGHT"
	@echo "  build and deploy take ENV (now $(ENV), a section of samconfig.toml), RUNTIME (now $(RUNTIME)) and PARAMETERS=\"Name=value ...\""

.PHONY: python-is-fit
python-is-fit:
	@command -v $(PYTHON) >/dev/null || { echo "No '$(PYTHON)' found. Install Python 3.11 or later, or say make PYTHON=/path/to/python3.x"; exit 1; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "'$(PYTHON)' is $$($(PYTHON) --version); 3.11 or later is needed. If you have one under another name: make PYTHON=python3.12 ..."; exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' cannot make virtual environments: its module 'venv' or 'ensurepip' is missing. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; } >&2

.PHONY: setup-dev setup-sam setup
setup-dev: python-is-fit
	@$(PYTHON) -m local.setup dev
setup-sam: python-is-fit
	@$(PYTHON) -m local.setup sam
setup: python-is-fit ## build the three virtual environments in .venv (every other target does it when needed)
	@$(PYTHON) -m local.setup

.PHONY: lint
lint: setup-dev setup-sam ## style, types, import rules, provider configuration, API description, template
	@mkdir -p build
	@echo "lint: ruff"
	@$(DEV)/ruff check --quiet .
	@$(DEV)/ruff format --check --quiet . || { echo "lint: not formatted as ruff would; run: make format"; exit 1; }
	@echo "lint: mypy --strict"
	@$(DEV)/mypy --no-error-summary
	@echo "lint: import rules"
	@PYTHONPATH=shared $(DEV)/lint-imports --no-cache >build/lint-imports.log 2>&1 || { cat build/lint-imports.log; exit 1; }
	@echo "lint: shared/providers.toml"
	@$(RUN) cli.check_providers shared/providers.toml >build/providers.log || { cat build/providers.log; exit 1; }
	@echo "lint: docs/openapi.json, docs/event.schema.json"
	@$(RUN) cli.openapi --check >build/openapi.log || { cat build/openapi.log; exit 1; }
	@$(RUN) cli.event_schema --check
	@echo "lint: template.yaml (cfn-lint, sam validate)"
	@$(SAM)/cfn-lint template.yaml
	@AWS_DEFAULT_REGION=us-east-1 $(SAM)/sam validate --lint >build/sam-validate.log 2>&1 || { cat build/sam-validate.log; exit 1; }

.PHONY: format
format: setup-dev ## let ruff put the code in order
	@$(DEV)/ruff check --quiet --fix .
	@$(DEV)/ruff format --quiet .

.PHONY: test
test: ## lint, then all tests, end to end on a deployed stack too (PROVE=1: and `make prove` beside those, as CI does)
	@echo "test: 1/3 lint"
	@$(MAKE) lint
	@echo "test: 2/3 core, steps, adapters, events, template (no stack)"
	@$(MAKE) test-fast
	@echo "test: 3/3 end to end: starts the emulator, builds, deploys and tests over HTTP"
	@$(MAKE) $(if $(PROVE),-j2 test-stack proof,test-stack)

.PHONY: test-fast
test-fast: setup-dev setup-ministack ## all tests that need no deployed stack
	@$(DEV)/python -m pytest -q -n 2 --dist loadfile -m "not stack"

.PHONY: test-stack
test-stack: setup ## only the end-to-end tests, on a deployed stack
	@$(DEV)/python -m pytest -q -m stack

.PHONY: setup-ministack
setup-ministack: python-is-fit
	@$(PYTHON) -m local.setup ministack

.PHONY: prove
prove: setup-dev ## explore, crash, sow seeds and break the product on purpose (2 free cores: 8 min; LONG=1: larger bounds, 35 min); build/prove/report.json
	@$(RUN) tests.simulation.prove $(if $(LONG),--long)

# End-to-end tests mostly wait for what a deployed system does in its own time: the proof takes the processors meanwhile.
.PHONY: proof
proof: setup
	@mkdir -p build
	@echo "test: and the proof, beside it, at the lowest priority: build/prove.log"
	@nice -n 19 $(MAKE) prove >build/prove.log 2>&1 || { cat build/prove.log; exit 1; }
	@sed -n '/^evidence/,$$ s/^/proof: /p' build/prove.log

.PHONY: guarantee
guarantee: setup-dev setup-ministack ## run the tests that docs/guarantees.md names for one guarantee (G=word; DEPLOYED=1: end to end too; alone: list them)
	@$(RUN) tests.docs.guarantees $(G) $(if $(DEPLOYED),--stack)

.PHONY: demo
demo: setup ## start a stack and a faulty provider, run jobs through them, compare our view with the provider's ledger
	@$(RUN) local.demo

.PHONY: soak
soak: setup ## minutes of load under faults, kills and a deploy, then measure convergence (JOBS SEED MINUTES MAX_IN_FLIGHT)
	@$(RUN) local.soak

.PHONY: bench
bench: setup ## count and time what a job costs on the laptop stack
	@$(RUN) bench

.PHONY: bench-media
bench-media: setup-dev ## peak memory of downloads up to 2 GiB, and their speed beside a plain copy
	@$(RUN) bench.media

.PHONY: up down redeploy logs status
up: setup ## start the laptop stack and leave it running; prints URLs and keys, also in build/local/stack.json
	@$(RUN) local.stack up
down: setup-dev ## stop the laptop stack and remove what it kept
	@$(RUN) local.stack down
redeploy: setup ## build and deploy again on the running laptop stack
	@$(RUN) local.stack redeploy
logs: setup-dev ## what the functions and the emulator logged last
	@$(RUN) local.stack logs
status: setup-dev ## what of the laptop stack is running
	@$(RUN) local.stack status

.PHONY: sam-local
sam-local: setup-dev ## print the commands that run one function by itself (sam local needs Docker)
	@$(RUN) local.sam_local

.PHONY: openapi
openapi: setup-dev ## write docs/openapi.json and docs/event.schema.json from the code
	@$(RUN) cli.openapi
	@$(RUN) cli.event_schema

.PHONY: events
events: setup-dev ## run every events/*.json through its handler
	@$(DEV)/python -m pytest -q tests/events

# What samconfig.toml says for ENV, this Python, and what you add: --parameter-overrides replaces, it does not add.
OVERRIDES = $(shell $(PYTHON) -c 'import tomllib; print(*tomllib.load(open("samconfig.toml", "rb"))["$(ENV)"]["deploy"]["parameters"].get("parameter_overrides", []))') \
	Runtime=$(RUNTIME) $(PARAMETERS)

.PHONY: env-is-known
env-is-known:
	@grep -q '^\[$(ENV)\.deploy\.' samconfig.toml || { echo "ENV=$(ENV): samconfig.toml has no such section; it has" $$(sed -n 's/^\[\(.*\)\.deploy\..*/\1/p' samconfig.toml); exit 1; } >&2

.PHONY: build
build: env-is-known setup-dev setup-sam ## sam build for AWS, with the Python that runs here
	@$(RUN) cli.check_providers shared/providers.toml
	@PATH="$(CURDIR)/$(SAM):$$PATH" sam build --config-env $(ENV) --parameter-overrides $(OVERRIDES)

.PHONY: deploy
deploy: build ## build, then sam deploy to the account that your AWS credentials name
	@PATH="$(CURDIR)/$(SAM):$$PATH" sam deploy --config-env $(ENV) --parameter-overrides $(OVERRIDES)
	@$(MAKE) outputs

STACK ?= $(shell $(PYTHON) -c 'import tomllib; print(tomllib.load(open("samconfig.toml", "rb"))["$(ENV)"]["global"]["parameters"]["stack_name"])')

.PHONY: outputs
outputs: env-is-known setup-dev ## what a deployed stack (STACK=name, else that of ENV) is called: address, table, bucket, topic
	@$(RUN) cli.deployed --stack $(STACK)

.PHONY: doctor
doctor: env-is-known setup-dev ## check a deployed stack (STACK=name, else that of ENV): quotas, secrets, webhooks, alarms, tables
	@$(RUN) cli.doctor --stack $(STACK)

.PHONY: providers
providers: setup-dev ## check shared/providers.toml and say what each provider in it can do
	@$(RUN) cli.check_providers shared/providers.toml

.PHONY: lock
lock: setup-dev ## pin requirements/*.in anew with uv (fetched for this), hashes and no index address in the locks
	@$(PYTHON) -m venv build/uv && build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	@for name in dev sam ministack; do (cd requirements && ../build/uv/bin/uv pip compile --quiet --universal \
		--generate-hashes --no-emit-index-url --no-header --python-version 3.11 $$name.in -o $$name.txt); done

.PHONY: clean
clean: ## stop the laptop stack and remove everything that make made
	@if [ -d build ] && [ -x $(DEV)/python ]; then $(RUN) local.stack down --all; fi
	@rm -rf build .aws-sam .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
