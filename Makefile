# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv where present (fast), pip everywhere else.
UV := $(shell command -v uv 2>/dev/null)
INSTALL = $(if $(UV),VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

.PHONY: demo test lint bench clean

demo: $(VENV)/.installed
	$(BIN)/raterlens demo

test: lint
	$(BIN)/pytest -n 2

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.against_mirt

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Raterlens needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(if $(UV),$(UV) venv --quiet --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[dev,bench]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
