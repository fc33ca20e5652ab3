# Every target installs what it needs. `make help` lists them; the text after ## is its help.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv if there is one. Otherwise pip installs uv, which takes a third of the time, and falls back to pip itself if uv cannot
# reach the packages: it does not read pip.conf.
UV := $(shell command -v uv 2>/dev/null)
comma := ,
# Installing compiles the kernels, so a change of these installs again.
INSTALLED_FROM := pyproject.toml hatch_build.py $(wildcard src/raterlens/kernels/c/*)
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
with-uv = VIRTUAL_ENV=$(VENV) $(or $(UV),$(BIN)/uv) pip install --quiet --compile-bytecode --editable '$(1)'
install = $(if $(UV),$(call with-uv,$(1)),{ $(PIP) uv && $(call with-uv,$(1)); } 2>/dev/null || $(PIP) --editable '$(1)')

# Tests start hundreds of processes, and each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# Two processes, one file of tests at a time each, so that what its tests share is made once. BLAS threads would only get in
# each other's way.
BY_FILE = -n 2 --dist loadfile --no-loadscope-reorder
SIDE_BY_SIDE = OPENBLAS_NUM_THREADS=1

.PHONY: help demo test test-all suite suite-all coverage test-lowest test-writers lint browser docs pictures bench bench-large bench-quick fuzz sanitize mutants clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/.installed  ## Install, fit the bundled example, write raterlens-demo/report.html
	$(BIN)/raterlens demo

# Style and types beside the tests, so that neither core waits for the other.
test:  ## Check style and types, run the tests except the nightly ones
	@$(MAKE) --no-print-directory --jobs=2 browser $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs=2 lint suite

test-all:  ## Check style and types, run every test
	@$(MAKE) --no-print-directory --jobs=2 browser $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs=2 lint suite-all

suite: $(VENV)/.installed-dev
	$(SIDE_BY_SIDE) $(BIN)/pytest $(BY_FILE) --durations 10 -m 'not nightly'

suite-all: $(VENV)/.installed-dev
	$(SIDE_BY_SIDE) $(BIN)/pytest $(BY_FILE)

# Lines that no test runs. One process; its subprocesses are not counted.
coverage: $(VENV)/.installed-dev  ## Which lines do the tests run?
	$(SIDE_BY_SIDE) $(BIN)/coverage run -m pytest -q -m 'not nightly'
	$(BIN)/coverage report --skip-covered --sort=cover

lint: $(VENV)/.installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Debian's Chromium for the browser tests. Without it they are skipped and say so (if CI=true, they fail).
browser:  ## Install Chromium for the browser tests
	@if [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Chromium for the browser tests (apt-get install chromium)"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium; } \
	    >/tmp/raterlens-chromium.log 2>&1 || echo "Chromium could not be installed: see /tmp/raterlens-chromium.log"; \
	else echo "No Chromium: the browser tests will be skipped. To run them: apt-get install chromium"; fi

# The oldest versions that pyproject.toml allows, in a separate environment.
test-lowest: .venv-lowest/.installed  ## Test with the oldest versions that pyproject.toml allows
	$(SIDE_BY_SIDE) .venv-lowest/bin/pytest $(BY_FILE)

.venv-lowest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=.venv-lowest .venv-lowest/bin/uv pip install --quiet --resolution lowest-direct --editable '.[dev]'
	@touch $@

# Files by the tools that write them, in a separate environment: their dependencies are many. Their warnings are theirs.
test-writers: .venv-writers/.installed  ## Read files as Label Studio, Argilla, DeepEval, Inspect AI and MLflow write them
	$(SIDE_BY_SIDE) .venv-writers/bin/pytest -q -W default -p no:asyncio -p no:deepeval \
	  tests/reading/formats/test_tool_writers.py tests/scenarios/test_eval_tools.py

.venv-writers/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-writers
	.venv-writers/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=.venv-writers .venv-writers/bin/uv pip install --quiet --editable '.[dev,writers]'
	@touch $@

# The documentation site in site/. It runs every block that has changed, and stops at a broken link or a failing block. Works
# offline.
docs: $(VENV)/.installed-docs  ## Build the documentation site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

# Screenshots for the documentation, taken from those of the tests.
pictures: browser $(VENV)/.installed-dev  ## Take the screenshots of the documentation
	$(BIN)/pytest -q -k every_page tests/output/report/test_in_browser.py tests/app/web/test_in_browser.py
	$(BIN)/python -m tests.support.screens

bench: $(VENV)/.installed-bench  ## Compare speed and memory with other programs
	$(BIN)/python -m benchmarks.speed.suite $(if $(SIZES),--sizes $(SIZES)) $(if $(LIMIT),--limit $(LIMIT))
	$(BIN)/python -m benchmarks.speed.uneven
	$(BIN)/python -m benchmarks.speed.cold
	$(BIN)/python -m benchmarks.speed.startup
	$(BIN)/python -m benchmarks.speed.startup 1m 3
	$(BIN)/python -m benchmarks.speed.silence 2m

# 100,000,000 ratings against polars' reading of them: needs 3 GiB of memory and 3 GB of disk.
bench-large: $(VENV)/.installed-bench  ## Fit 100,000,000 ratings (3 GiB of memory, 3 GB of disk)
	$(BIN)/python -m benchmarks.speed.scaling large

# Is this checkout slower than another commit? make bench-quick BASE=main
bench-quick: $(VENV)/.installed-bench  ## Is this checkout slower than BASE=commit?
	$(BIN)/python -m benchmarks.speed.quick $(BASE)

# Damaged files, tiny designs, wrong options, killed and failing commands, web requests, made by chance: an hour by hand, a
# minute in continuous integration, a turn of each kind in `make test-all`. Failures are printed as commands.
fuzz: $(VENV)/.installed-dev  ## Try damaged files, tiny designs and wrong options, SECONDS=60
	$(BIN)/python -m audit --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

# Kernels built with AddressSanitizer: TESTS="tests/diagnostics" for other tests than theirs.
sanitize: $(VENV)/.installed-dev  ## Test kernels built with AddressSanitizer
	$(SIDE_BY_SIDE) $(BIN)/python -m audit.sanitized $(TESTS)

# Mutation testing: SAMPLE faults each in likelihood, capability and inference; takes an hour or so.
mutants: $(VENV)/.installed-dev .venv-mutants/bin/cosmic-ray  ## Mutation testing of likelihood, capability and inference
	$(BIN)/python -m audit.mutants .venv-mutants/bin/cosmic-ray --sample $(or $(SAMPLE),50)

.venv-mutants/bin/cosmic-ray:
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check cosmic-ray

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Raterlens needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(if $(UV),$(UV) venv --quiet --seed --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.installed: $(INSTALLED_FROM) | $(BIN)/python
	@echo 'Installing into $(VENV) ...'
	@$(call install,.[charts$(comma)web])
	@touch $@

$(VENV)/.installed-dev: $(INSTALLED_FROM) | $(BIN)/python
	@echo 'Installing into $(VENV) ...'
	@$(call install,.[dev])
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(INSTALLED_FROM) | $(BIN)/python
	@echo 'Installing into $(VENV) ...'
	@$(call install,.[all$(comma)docs])
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(INSTALLED_FROM) | $(BIN)/python
	@echo 'Installing into $(VENV) ...'
	@$(call install,.[dev$(comma)bench])
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

clean:  ## Remove environments and caches
	rm -rf $(VENV) .venv-lowest .venv-writers .venv-mutants .docs_cache .pytest_cache .mypy_cache .ruff_cache .coverage
