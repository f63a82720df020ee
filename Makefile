# Two commands: `make demo` shows the server at work, `make test` checks everything.
# Both make the environment in .venv first, from requirements-dev.lock.

.PHONY: help demo test pytest test-pythons lint format types docs lock wheel env clean
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
	@echo "make wheel         build dist/"
	@echo "make lock          resolve requirements-dev.lock anew (needs uv)"

env:
	@.ci/environment $(VENV)

demo: env
	@$(BIN)/nexus-mcp demo

# -k: a fault in the layout does not hide one in a test; any of them fails the whole.
test: env
	@$(MAKE) --no-print-directory --keep-going lint types pytest

pytest: env
	$(BIN)/python -m pytest

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

wheel: env
	$(BIN)/python -m build --no-isolation

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group dev \
	  --custom-compile-command "make lock" --upgrade --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) .venv-* dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
