# `make up` and `make test` do all set-up by themselves. `make help` lists the other targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
UV := .tools/uv/bin/uv
BIN := .venv/bin
export DATA_DIR ?= .data
export PORT ?= 8000
export DEMO ?= 1
# Trust the system's certificate store: uv's built-in list fails behind a TLS-inspecting proxy.
export UV_SYSTEM_CERTS := 1
# uv does not read pip's settings, so pass on the mirror that is configured for pip.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
export UV_NO_PROGRESS := 1
export PYTHONUNBUFFERED := 1
# Without stored bytecode, each of our many processes would compile all of its modules: 8 s instead of 2.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: chart nightly ha screenshots bench-flyte-reads bench-lists bench-console bench-agent-configs bench-fleet bench-watchers bench-waiters help up test check static tested format lint types contracts migrations-check openapi openapi-check api-changelog release-api packages settings errors rules dashboards sdk lock bench-resolve bench-heartbeats bench-fast-paths bench-dispatch bench-resources clean bench-grpc-reads bench-flyte-events bench-million bench-ordinary bench-apply bench-log-partitions bench-events-out bench-plugins bench-pools bench-metrics bench-traces bench-disk bench-pause

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 21

# What GET /api/v1/meta returns; empty without git.
up: export BUILD_COMMIT ?= $(shell git rev-parse --short HEAD 2>/dev/null)
up: .venv/.up openapi.json ## Start everything on this machine (PORT=8001, DATA_DIR=dir, DEMO=0)
	@exec $(BIN)/python manage.py up --port "$(PORT)" --data-dir "$(DATA_DIR)" $(if $(filter 0,$(DEMO)),--no-demo)

# Each process starts its own services. Tests of one file run in one process: they share fixtures.
# The slow files are few and come first, so that no process waits for another at the end. Three processes, also
# on two cores: many tests wait for programs to start and for leases to end.
ALL_TESTS := -n 3 --dist loadfile --no-loadscope-reorder

test: .venv/.dev ## Run all tests against real services (ARGS="tests/unit -x" for some of them)
	@exec $(BIN)/python -m pytest $(or $(ARGS),$(ALL_TESTS))

# Each lane is one file: tests that take minutes, need another product to talk to, or compare timings.
# The lane "properties" runs every property test with many new examples, and "generated_requests" sends each operation
# requests that try each limit of each field. The lane "marked" runs what is marked as nightly beside other tests.
nightly: .venv/.dev ## Run the slow tests (LANE=two_neighbours for tests/nightly/test_two_neighbours.py only)
ifeq ($(filter properties generated_requests marked,$(LANE)),)
	$(BIN)/python -m pytest -s $(if $(LANE),tests/nightly/test_$(LANE).py,tests/nightly) $(ARGS)
endif
ifeq ($(or $(LANE),properties),properties)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -m hypothesis tests/unit tests/integration $(ARGS)
endif
ifeq ($(or $(LANE),marked),marked)
	$(BIN)/python -m pytest -m nightly $(ARGS)
endif
ifeq ($(or $(LANE),generated_requests),generated_requests)
	GENERATED_EXAMPLES=20 $(BIN)/python -m pytest tests/contract/test_schemathesis.py $(ARGS)
endif

# ROUNDS=2 shortens the first lane. LANES="sentinel upgrade" runs some of them.
ha: .venv/.dev .tools/failover/.installed ## Run the lanes of high availability, one after another, and print a table
	@exec $(BIN)/python -m tests.support.ha_lanes $(LANES)

# Patroni has an environment of its own: we run it, and import nothing of it.
.tools/failover/.installed: $(UV) requirements/failover.txt
	@echo "Installing Patroni ..."
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .tools/failover
	@$(UV) pip install --quiet --python .tools/failover/bin/python --require-hashes -r requirements/failover.txt
	@touch $@

screenshots: .venv/.dev ## Take pictures of the console from the demo into docs/images/; needs Chromium
	@exec $(BIN)/python -m tests.support.pictures

check: static tested ## Run everything that CI runs

static: .venv/.dev
	@$(MAKE) --jobs --output-sync lint types contracts migrations-check openapi-check

tested: .venv/.dev
	@$(MAKE) test || $(BIN)/python -m tests.support.repeat_failures

format: .venv/.dev ## Format the code and fix lint findings
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: .venv/.dev ## Check format and lint
	$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: .venv/.dev ## Check types
	$(BIN)/mypy

contracts: .venv/.dev ## Check import contracts
	$(BIN)/lint-imports

migrations-check: .venv/.dev ## Check that migrations match the models
	$(BIN)/python manage.py makemigrations --check --dry-run

openapi: .venv/.dev ## Write openapi.yaml from the code
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file openapi.yaml

openapi-check: .venv/.dev ## Check that openapi.yaml is up to date
	@mkdir -p .tools && $(BIN)/python manage.py spectacular --validate --fail-on-warn --file .tools/openapi.yaml
	@diff -u openapi.yaml .tools/openapi.yaml || { echo "openapi.yaml is out of date: run 'make openapi' and commit it."; exit 1; }

api-changelog: .venv/.dev ## Print what changed in the API since the last release, for CHANGELOG.md
	@$(BIN)/python -m tests.contract.api_changelog

release-api: .venv/.dev ## Mark openapi.yaml as released and delete its change fragments
	$(BIN)/python -m tests.contract.api_changes
	rm -f changes/*.md

packages: .venv/.dev ## Write the package list in CONTRIBUTING.md from docstrings
	$(BIN)/python -m tests.contract.package_list

settings: .venv/.dev ## Write docs/settings.md from the code
	$(BIN)/python manage.py settings_reference > docs/settings.md

errors: .venv/.dev ## Write docs/errors.md, the error catalogue, from the code
	$(BIN)/python manage.py error_reference > docs/errors.md

rules: .venv/.dev ## Write deploy/prometheus/controlplane.rules.yml from the code
	$(BIN)/python manage.py prometheus_rules > deploy/prometheus/controlplane.rules.yml

dashboards: .venv/.dev ## Write deploy/grafana/*.json from the code
	$(BIN)/python -m deploy.grafana.generate

chart: .venv/.dev ## Lint the Helm chart and record what it renders (HELM=build builds helm with Go first)
	$(BIN)/python -m tests.support.chart $(if $(filter build,$(HELM)),--build)
	$(BIN)/python -m pytest tests/contract/test_chart.py

sdk: .venv/.dev ## Generate sdk/python and, with npm, sdk/typescript from openapi.yaml
	$(BIN)/python sdk/generate.py python
	@if command -v npm >/dev/null; then $(BIN)/python sdk/generate.py typescript; else echo "npm not found: skipping sdk/typescript."; fi

bench-resolve: .venv/.dev ## Benchmark effective reads (BENCH_ARGS="--rows 100000 --write")
	@exec $(BIN)/python -m benchmarks.resolve $(BENCH_ARGS)

bench-events-out: .venv/.dev ## Benchmark events from the commit to webhooks (BENCH_ARGS="--burst 10000 --write")
	@exec $(BIN)/python -m benchmarks.events_out $(BENCH_ARGS)

bench-plugins: .venv/.dev ## Benchmark releases of 200 plugins, with a provider that hangs (BENCH_ARGS="--plugins 50 --write")
	@exec $(BIN)/python -m benchmarks.plugin_releases $(BENCH_ARGS)

bench-log-partitions: .venv/.dev ## Benchmark events in partitions beside a plain table (BENCH_ARGS="--events 100000")
	@exec $(BIN)/python -m benchmarks.log_partitions $(BENCH_ARGS)

bench-disk: .venv/.dev ## Measure what events and heartbeats leave on the disk (BENCH_ARGS="--events 5000 --write")
	@exec $(BIN)/python -m benchmarks.disk $(BENCH_ARGS)

bench-pause: .venv/.dev ## Benchmark the trigger that can pause changes (BENCH_ARGS="--rounds 5 --write")
	@exec $(BIN)/python -m benchmarks.pause_trigger $(BENCH_ARGS)

bench-apply: .venv/.dev ## Benchmark applying 10,000 overrides beside COPY (BENCH_ARGS="--rows 100000 --write")
	@exec $(BIN)/python -m benchmarks.apply $(BENCH_ARGS)

bench-lists: .venv/.dev ## Benchmark lists of a million agents (BENCH_ARGS="--agents 100000 --write")
	@exec $(BIN)/python -m benchmarks.agent_lists $(BENCH_ARGS)

bench-console: .venv/.dev openapi.json ## Open each page of the console, and the dashboard after a storm (BENCH_ARGS="--agents 5000 --write")
	@exec $(BIN)/python -m benchmarks.console_pages $(BENCH_ARGS)

bench-flyte-reads: .venv/.dev ## Benchmark reads of Flyte's clients beside a FlyteAdmin (FLYTEADMIN_URL=... BENCH_ARGS="--write")
	@exec $(BIN)/python -m benchmarks.flyte_reads $(BENCH_ARGS)

bench-grpc-reads: .venv/.dev ## Benchmark Flyte's reads over gRPC (FLYTEADMIN_GRPC=127.0.0.1:8089 BENCH_ARGS="--rounds 3")
	@exec $(BIN)/python -m benchmarks.grpc_reads $(BENCH_ARGS)

bench-flyte-events: .venv/.dev ## Benchmark events of Flyte's engine beside a FlyteAdmin (FLYTEADMIN_URL, FLYTEADMIN_GRPC, FLYTEADMIN_DATABASE)
	@exec $(BIN)/python -m benchmarks.flyte_events $(BENCH_ARGS)

bench-ordinary: .venv/.dev ## Benchmark ordinary requests, threads and middlewares (BENCH_ARGS="--rounds 1 --write")
	@exec $(BIN)/python -m benchmarks.ordinary $(BENCH_ARGS)

bench-heartbeats: .venv/.dev ## Benchmark heartbeats and the sweep (BENCH_ARGS="--agents 300000 --write")
	@exec $(BIN)/python -m benchmarks.heartbeats $(BENCH_ARGS)

bench-fleet: .venv/.dev ## Simulate a fleet that joins at once and sends heartbeats (BENCH_ARGS="--agents 20000 --write")
	@exec $(BIN)/python -m benchmarks.fleet_storm $(BENCH_ARGS)

bench-watchers: .venv/.dev ## Benchmark ten thousand event streams (BENCH_ARGS="--watchers 1000 --write")
	@exec $(BIN)/python -m benchmarks.watchers $(BENCH_ARGS)

bench-waiters: .venv/.dev ## Benchmark five thousand long polls of effective values (BENCH_ARGS="--waiters 1000 --write")
	@exec $(BIN)/python -m benchmarks.effective_waiters $(BENCH_ARGS)

bench-agent-configs: .venv/.dev ## Benchmark agent configurations (BENCH_ARGS="--teams 200 --write")
	@exec $(BIN)/python -m benchmarks.agent_configs $(BENCH_ARGS)

bench-fast-paths: .venv/.dev ## Benchmark fast paths beside etcd and granian (BENCH_ARGS="--only reads --write")
	@exec $(BIN)/python -m benchmarks.fast_paths $(BENCH_ARGS)

bench-dispatch: .venv/.dev ## Benchmark messages to agents over NATS (BENCH_ARGS="--messages 5000 --write")
	@exec $(BIN)/python -m benchmarks.dispatch $(BENCH_ARGS)

bench-pools: .venv/.dev ## Lease units of pools, beside Valkey (BENCH_ARGS="--pairs 1000 --write")
	@exec $(BIN)/python -m benchmarks.pool_leases $(BENCH_ARGS)

bench-metrics: .venv/.dev ## Scrape 100,000 agents, and requests with and without metrics (BENCH_ARGS="--rounds 3 --write")
	@exec $(BIN)/python -m benchmarks.metrics_cost $(BENCH_ARGS)

bench-traces: .venv/.dev ## Benchmark what traces cost (BENCH_ARGS="--rounds 3 --write")
	@exec $(BIN)/python -m benchmarks.traces $(BENCH_ARGS)

bench-resources: .venv/.dev ## Request thousands of resources of played agents (BENCH_ARGS="--requests 1000 --write")
	@exec $(BIN)/python -m benchmarks.resource_requests $(BENCH_ARGS)

bench-million: .venv/.dev ## Keep a million leases through gateways, and sweep a tenth (BENCH_ARGS="--agents 100000 --write")
	@exec $(BIN)/python -m benchmarks.million $(BENCH_ARGS)

lock: $(UV) .venv/.created ## Update requirements/ to the newest allowed versions, with hashes
	echo "uv" | $(UV) pip compile $(LOCK_FLAGS) - -o requirements/bootstrap.txt
	$(UV) pip compile $(LOCK_FLAGS) $(EXTRAS) pyproject.toml -o requirements/runtime.txt
	$(UV) pip compile $(LOCK_FLAGS) -c requirements/runtime.txt pyproject.toml -o requirements/core.txt
	$(UV) pip compile $(LOCK_FLAGS) $(EXTRAS) --extra embedded -c requirements/runtime.txt pyproject.toml -o requirements/embedded.txt
	$(UV) pip compile $(LOCK_FLAGS) --extra dev -c requirements/embedded.txt pyproject.toml -o requirements/dev.txt
	printf 'patroni[etcd3]\npsycopg[binary]\n' | $(UV) pip compile $(LOCK_FLAGS) - -o requirements/failover.txt
	@if command -v npm >/dev/null; then $(BIN)/python sdk/generate.py lock; else echo "npm not found: keeping sdk/typescript/package-lock.json."; fi
EXTRAS := --extra flyte --extra kubernetes --extra otel --extra scim --extra uvloop
LOCK_FLAGS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

clean: ## Delete the environment and caches; keep DATA_DIR
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# --target works with an externally managed Python and without the venv module.
$(UV): requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Controlplane needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Choose another one: make up PYTHON=python3.12")'
	@echo "Installing uv ..."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --require-hashes --target .tools/uv -r requirements/bootstrap.txt
	@touch $@

# For the API reference of the console: parsed YAML.
openapi.json: openapi.yaml .venv/.up
	@$(BIN)/python -m controlplane.api.openapi_file

# A stamp file: bin/python is a symlink, so make would look at the age of the system's interpreter.
.venv/.created: $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .venv
	@touch $@

.venv/.up: .venv/.created requirements/embedded.txt cpctl/run_from_checkout.sh
	@echo "Installing dependencies ..."
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/embedded.txt
	@install -m 755 cpctl/run_from_checkout.sh $(BIN)/cpctl
	@touch $@

.venv/.dev: .venv/.up requirements/dev.txt
	@echo "Installing the test tools ..."
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@
