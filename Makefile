# Two commands: `make demo` shows the server at work, `make test` checks everything.
# Both make the environment in .venv first, from requirements-dev.lock.

.PHONY: help demo test pytest test-pythons lint format types docs catalog conformance miniatures catchers mutants upstream torture bench bench-page bench-trend bench-env lock wheel env clean
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
UV ?= uv

help:
	@echo "make demo          run a whole plan and its tasks on a temporary project, with a real MCP client"
	@echo "make test          lint, types and all tests"
	@echo "make test-pythons  the tests on every other supported Python found here"
	@echo "make format        let ruff put the code in order"
	@echo "make docs          write docs/tools.md anew from the tool definitions"
	@echo "make catalog       write assets/catalog.json anew from the agents, skills and vocabulary beside it"
	@echo "make conformance   our server against the conformance suite: in memory, the fast loop, --sdk (4 minutes)"
	@echo "make miniatures    every deliberately wrong server against the fixtures: what catches what (10 minutes)"
	@echo "make catchers      what each new fixture catches: a miniature or a small change of ours (seconds for each)"
	@echo "make mutants       small changes of our own tools and events against the fixtures: what nobody notices (40 minutes)"
	@echo "make upstream      the fixtures against the upstream server: does what fails match the list (3 minutes, node)"
	@echo "make torture       the long proof that nothing is lost: kills, errors, power cuts, fuzzing (SUITES=, SEED=)"
	@echo "make bench         every goal of speed and memory beside the upstream server (20 minutes, node; ROWS=, ROUNDS=)"
	@echo "make bench-page    rewrite the tables and charts of docs/performance.md and performance-details.md"
	@echo "make bench-trend   whether anything became clearly slower than it was recorded (1 minute)"
	@echo "make wheel         build dist/"
	@echo "make lock          resolve requirements-dev.lock and requirements-bench.lock anew (needs uv)"

env:
	@.ci/environment $(VENV)

demo: env
	@$(BIN)/nexus-mcp demo

# -k: a fault in the layout does not hide one in a test; any of them fails the whole.
test: env
	@$(MAKE) --no-print-directory --keep-going lint types pytest

# A process for each core: the tests share nothing, and most of them wait for a disk.
pytest: env
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env
	$(BIN)/mypy

test-pythons: env
	@.ci/test-pythons $(VENV)

format: env
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: env
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.rooms

conformance: env
	@.ci/conformance $(BIN)

# What is caught, and by what; caught_by.json is what `make test` holds against it.
miniatures: env
	$(BIN)/python -m tests.miniatures.matrix --write

# For fixtures without a valid row in catchers.json.
catchers: env
	$(BIN)/python -m tests.miniatures.record

# After `make miniatures`: fixtures that catch one there need not be tried again.
mutants: env
	$(BIN)/python -m tests.mutation

# What hooks and servers read of the agents, skills and maps, because YAML takes too long for them.
catalog: env
	$(BIN)/python -m nexus_mcp.catalog.building

# The list of what differs, and why: docs/upstream.md.
upstream: env
	@.ci/upstream

# Goes on where it was stopped; installs what it needs (strace, atheris). The figures: docs/reliability.md.
torture: env
	$(BIN)/python -m tests.reliability $(SUITES) --seed $(or $(SEED),1)

# Peers come from npm, into .cache/. The last whole result is in benchmarks/results: docs/performance.md.
bench: bench-env
	$(BIN)/python -m benchmarks $(if $(ROWS),--rows $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS))

bench-page: bench-env
	$(BIN)/python -m benchmarks --page

# Only ratios within one run are compared with what was recorded: `python -m benchmarks.trend --record`.
bench-trend: env
	$(BIN)/python -m benchmarks.trend

bench-env: env
	@$(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements-bench.lock

wheel: env
	$(BIN)/python -m build --no-isolation

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group dev \
	  --custom-compile-command "make lock" --upgrade --output-file requirements-dev.lock pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group bench --no-annotate \
	  --constraint requirements-dev.lock --custom-compile-command "make lock" --upgrade --output-file requirements-bench.lock

clean:
	rm -rf $(VENV) .venv-* dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
