# Two commands do everything: `make up` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
UV := .tools/uv/bin/uv
BIN := .venv/bin
export DATA_DIR ?= .data
export PORT ?= 8000
export DEMO ?= 1
# Trust the machine's own certificate store: behind a company proxy uv's built-in list fails.
export UV_SYSTEM_CERTS := 1
# uv does not read pip's settings; a mirror that pip was told of is passed on.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
export UV_NO_PROGRESS := 1
export PYTHONUNBUFFERED := 1

.PHONY: nightly screenshots bench-lists bench-agent-configs bench-fleet bench-watchers help up test check format lint types contracts migrations-check openapi openapi-check release-api settings sdk lock bench-resolve bench-heartbeats clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

up: .venv/.up ## Start everything on this machine; PORT=, DATA_DIR=, DEMO=0 are honoured
	@exec $(BIN)/python manage.py up --port "$(PORT)" --data-dir "$(DATA_DIR)" $(if $(filter 0,$(DEMO)),--no-demo)

# Each process has services of its own; a file's tests stay together, for what they share.
ALL_TESTS := -n auto --maxprocesses 3 --dist loadfile

test: .venv/.dev ## Run the whole test suite against real services that it starts itself; ARGS="tests/unit -x"
	@exec $(BIN)/python -m pytest $(or $(ARGS),$(ALL_TESTS))

# One lane is one file: what needs minutes, a real peer given by path or address, or a ratio of times.
# The lane "properties" is every property test of the suite, with many new examples.
nightly: .venv/.dev ## Run the slow lanes; LANE=two_neighbours runs tests/nightly/test_two_neighbours.py alone, LANE=properties the property tests
ifneq ($(LANE),properties)
	$(BIN)/python -m pytest -s $(if $(LANE),tests/nightly/test_$(LANE).py,tests/nightly) $(ARGS)
endif
ifeq ($(or $(LANE),properties),properties)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -m hypothesis tests/unit tests/integration $(ARGS)
endif

screenshots: .venv/.dev ## Write docs/images/ from the demo's data; needs Chromium
	SCREENSHOTS=docs/images $(BIN)/python -m pytest tests/browser -k hinders_nobody

check: .venv/.dev lint types contracts migrations-check openapi-check test ## Everything CI runs

format: .venv/.dev ## Rewrite the code in house format
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: .venv/.dev
	$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: .venv/.dev
	$(BIN)/mypy

contracts: .venv/.dev
	$(BIN)/lint-imports

migrations-check: .venv/.dev
	$(BIN)/python manage.py makemigrations --check --dry-run

openapi: .venv/.dev ## Write openapi.yaml from the code
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file openapi.yaml

openapi-check: .venv/.dev
	@mkdir -p .tools && $(BIN)/python manage.py spectacular --validate --fail-on-warn --file .tools/openapi.yaml
	@diff -u openapi.yaml .tools/openapi.yaml || { echo "openapi.yaml is out of date: run 'make openapi' and commit it."; exit 1; }

release-api: .venv/.dev ## Make openapi.yaml the one that later changes are measured by, and drop their fragments
	$(BIN)/python -m tests.contract.api_changes
	rm -f changes/*.md

settings: .venv/.dev ## Write docs/settings.md from the code
	$(BIN)/python manage.py settings_reference > docs/settings.md

sdk: .venv/.dev ## Generate the clients from openapi.yaml: sdk/python, and with node sdk/typescript
	$(BIN)/python sdk/generate.py python
	@if command -v npm >/dev/null; then $(BIN)/python sdk/generate.py typescript; else echo "There is no npm: sdk/typescript was left out."; fi

bench-resolve: .venv/.dev ## Measure effective reads (docs/performance.md); BENCH_ARGS="--rows 100000 --write"
	@exec $(BIN)/python -m benchmarks.resolve $(BENCH_ARGS)

bench-lists: .venv/.dev ## Measure lists of a million agents; BENCH_ARGS="--agents 100000 --write"
	@exec $(BIN)/python -m benchmarks.agent_lists $(BENCH_ARGS)

bench-heartbeats: .venv/.dev ## Measure heartbeats and the sweep; BENCH_ARGS="--agents 300000 --write"
	@exec $(BIN)/python -m benchmarks.heartbeats $(BENCH_ARGS)

bench-fleet: .venv/.dev ## Play a fleet that registers at once and beats; BENCH_ARGS="--agents 20000 --write"
	@exec $(BIN)/python -m benchmarks.fleet_storm $(BENCH_ARGS)

bench-watchers: .venv/.dev ## Hold ten thousand streams of events open; BENCH_ARGS="--watchers 1000 --write"
	@exec $(BIN)/python -m benchmarks.watchers $(BENCH_ARGS)

bench-agent-configs: .venv/.dev ## Measure recomputes of agent configurations; BENCH_ARGS="--teams 200 --write"
	@exec $(BIN)/python -m benchmarks.agent_configs $(BENCH_ARGS)

lock: $(UV) .venv/.created ## Pin the newest versions that pyproject.toml allows, by hash and without addresses
	echo "uv" | $(UV) pip compile $(LOCK_FLAGS) - -o requirements/bootstrap.txt
	$(UV) pip compile $(LOCK_FLAGS) pyproject.toml -o requirements/runtime.txt
	$(UV) pip compile $(LOCK_FLAGS) --extra kubernetes -c requirements/runtime.txt pyproject.toml -o requirements/kubernetes.txt
	$(UV) pip compile $(LOCK_FLAGS) --extra embedded -c requirements/runtime.txt pyproject.toml -o requirements/embedded.txt
	$(UV) pip compile $(LOCK_FLAGS) --extra embedded --extra dev -c requirements/embedded.txt -c requirements/kubernetes.txt pyproject.toml -o requirements/dev.txt
	@if command -v npm >/dev/null; then $(BIN)/python sdk/generate.py lock; else echo "There is no npm: sdk/typescript/package-lock.json stays."; fi
LOCK_FLAGS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

clean: ## Remove the environment and caches; keeps DATA_DIR
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# --target works where the system marks its Python as externally managed, and needs no venv module.
$(UV): requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Controlplane needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another with: make up PYTHON=python3.12")'
	@echo "Installing uv ..."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --require-hashes --target .tools/uv -r requirements/bootstrap.txt
	@touch $@

# A stamp, not bin/python: that is a link, and make would compare the age of the system's interpreter.
.venv/.created: $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .venv
	@touch $@

.venv/.up: .venv/.created requirements/embedded.txt
	@echo "Installing dependencies ..."
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/embedded.txt
	@touch $@

.venv/.dev: .venv/.up requirements/dev.txt
	@echo "Installing the tools for tests ..."
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@
