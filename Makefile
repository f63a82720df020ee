# Two commands: `make demo` shows the server at work, `make test` checks it.
# Both make the environment in .venv first, from requirements-dev.lock.

.PHONY: help demo test pytest test-long test-pythons lint format types docs catalog conformance examples miniatures catchers mutants upstream torture official unit container bench compared bench-page bench-trend bench-env tokens e2e captures browser site lock wheel env clean
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
UV ?= uv
# Compiled tests are kept: each worker, and each process of a test, would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo          run one whole cycle on a temporary project with the official MCP client"
	@echo "make test          run lint, types and the short tests (5 minutes on two cores)"
	@echo "make test-long     run the long tests: whole runs, servers over HTTP, kills at each step (5 minutes)"
	@echo "make test-pythons  run the tests on the other supported Pythons that are installed"
	@echo "make format        format the code with ruff"
	@echo "make docs          rewrite the generated pages and all pictures: docs/tools.md, the man page and others"
	@echo "make site          build the documentation as a site into site/"
	@echo "make catalog       rewrite assets/catalog.json from the agents, skills and vocabulary"
	@echo "make conformance   run the conformance suite on our server: in memory, as a process, with --sdk, over HTTP (8 minutes)"
	@echo "make examples      build and judge the examples of servers, by their CI job and our action (1 minute, npm, go)"
	@echo "make miniatures    check that each deliberately wrong server is caught by its cause (10 minutes)"
	@echo "make catchers      record what each new fixture catches: a miniature or a mutant (seconds for each)"
	@echo "make mutants       check that the fixtures catch small changes of our tools and events (40 minutes)"
	@echo "make upstream      check that exactly the listed fixtures fail on the upstream server (3 minutes, node)"
	@echo "make torture       run the long proofs that nothing is lost: kills, errors, power cuts (SUITES=, SEED=)"
	@echo "make bench         measure the goals of speed and memory beside the upstream server (20 minutes, node)"
	@echo "make bench-page    rewrite the tables and charts of docs/performance.md and performance-details.md"
	@echo "make bench-trend   check that no call became clearly slower than recorded (1 minute)"
	@echo "make tokens        measure what tools and answers cost a model, beside other servers (1 minute, node)"
	@echo "make compared      judge other servers of the field beside ours: docs/compared.md (20 minutes, node)"
	@echo "make e2e           run the real clients from npm with a scripted model, offline (8 minutes, npm)"
	@echo "make official      run the official conformance suite of MCP over HTTP (2 minutes, npm)"
	@echo "make unit          run the systemd unit by a second systemd (Linux, root, on a machine that nobody will miss)"
	@echo "make container     build both container files and run their images (2 minutes, podman and Debian packages, root)"
	@echo "make browser       test the board in Chromium, with screenshots in .cache/browser/ (5 minutes)"
	@echo "make captures      run one cycle in each real client, and write it into its page (3 minutes, npm)"
	@echo "make wheel         build dist/"
	@echo "make lock          resolve the requirements-*.lock files again (needs uv)"

env:
	@.ci/environment $(VENV)

demo: env
	@$(BIN)/nexus-mcp demo

# The types are checked beside the tests, for mypy uses one core only; what it found is printed at the end.
# -k: a fault in the layout does not hide one in a test; any of them fails the whole.
test: env
	@found=$$(mktemp) && { $(MAKE) --no-print-directory types >"$$found" 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory --keep-going lint pytest; code=$$?; \
	wait $$types || code=1; cat "$$found"; rm -f "$$found"; exit $$code; }

# A process for each core: the tests share nothing. tests/parts.py lists the long tests.
PYTEST = TMPDIR=$$(.ci/temp-folder) $(BIN)/python -m pytest tests --numprocesses auto --dist worksteal

pytest: env
	$(PYTEST) --part short

test-long: env
	$(PYTEST) --part long

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

# The charts are drawn by matplotlib, from the stored figures.
docs: bench-env
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.contract_page
	$(BIN)/python -m docs.man_page
	$(BIN)/python -m docs.history_page
	$(BIN)/python -m docs.drawings
	$(BIN)/python -m benchmarks --page
	$(BIN)/python -m benchmarks.compared.page
	$(BIN)/python -m docs.run_schemas
	$(BIN)/python -m tests.e2e.results

conformance: env
	@.ci/conformance $(BIN)

# What `conformance new` writes, built and judged in empty folders. Packages come from npm and PyPI.
examples: env
	$(BIN)/python -m tests.examples

# What is caught, by what, and by which cause; `make test` checks caught_by.json and causes.json.
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
	$(if $(SUITES),,$(BIN)/python -m pytest tests/test_schemas.py tests/run/test_model.py --hypothesis-profile long)

# Peers come from npm, into .cache/. The last whole result is in benchmarks/results: docs/performance.md.
bench: bench-env
	$(BIN)/python -m benchmarks $(if $(ROWS),--rows $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS))

bench-page: bench-env
	$(BIN)/python -m benchmarks --page

# Only ratios within one run are compared with what was recorded: `python -m benchmarks.trend --record`.
bench-trend: env
	$(BIN)/python -m benchmarks.trend

# The tables of docs/tokens.md. Other servers come from npm, into .cache/.
tokens: env
	$(BIN)/python -m benchmarks.tokens

# What each server keeps, with what was sent and seen: benchmarks/results/compared.json. Servers come from npm.
compared: env
	$(BIN)/python -m benchmarks.compared

# Clients come from npm, into a cache folder of the user (NEXUS_E2E_CACHE). HARNESS=codex runs the tests of one.
e2e: env
	$(BIN)/python -m tests.e2e $(HARNESS)

# Two of the tests of make e2e. What cannot pass is in tests/official/expected.json, each with its reason.
official: env
	$(BIN)/python -m tests.e2e official newest-official

# A systemd of its own runs deploy/nexus-mcp.service, as root, in namespaces without anything of this machine to write to.
unit: env
	TEST_OF_SYSTEMD=1 $(BIN)/python -m pytest tests/deploy/test_unit.py

# Needs root, and podman, buildah, runc and mmdebstrap from Debian.
container: env
	@$(BIN)/python -m tests.container

# Chromium comes from the system, axe-core from npm. Screenshots: .cache/browser/.
browser: env
	@$(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements-browser.lock
	$(BIN)/python -m tests.browser

# The blocks "A real run" of docs/claude-code.md, codex.md and opencode.md.
captures: env
	$(BIN)/python -m tests.e2e.capture $(HARNESS)

bench-env: env
	@$(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements-bench.lock

# What the build warns about fails it, and what the built pages would load from another host, too.
site: env
	@$(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements-docs.lock
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict
	$(BIN)/python -m docs.site_check site

wheel: env
	$(BIN)/python -m build --no-isolation

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group dev \
	  --custom-compile-command "make lock" --upgrade --output-file requirements-dev.lock pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group bench --no-annotate \
	  --constraint requirements-dev.lock --custom-compile-command "make lock" --upgrade --output-file requirements-bench.lock
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group docs --no-annotate \
	  --constraint requirements-dev.lock --custom-compile-command "make lock" --upgrade --output-file requirements-docs.lock
	$(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --group browser --no-annotate \
	  --constraint requirements-dev.lock --custom-compile-command "make lock" --upgrade --output-file requirements-browser.lock

clean:
	rm -rf $(VENV) .venv-* dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
