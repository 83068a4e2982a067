# make parse   parses TEXT with the English model of the package and draws the best tree
# make test    runs the tests
# make lint    ruff (findings and format), mypy and the layers
# make docs    builds the documentation into build/docs
# Each sets up its own virtual environment in .venv; nothing but Python (with pip) is needed.

PYTHON ?= python3
VENV ?= .venv
TEXT ?= I saw the man with the telescope.
PYTEST_OPTIONS ?=

BIN = $(VENV)/bin
export TEXT

.PHONY: parse test lint docs clean clean-cache
.DELETE_ON_ERROR:

parse: $(VENV)/installed
	@printf '%s\n' "$$TEXT" | $(BIN)/bbparse parse --text --format tree

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal $(PYTEST_OPTIONS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W -q -b html docs build/docs

clean:
	rm -rf $(VENV) build

# compiled kernels; they are made again when they are called
clean-cache:
	find bbparse features -name '*.nb[ci]' -delete

$(VENV)/installed: $(BIN)/python pyproject.toml setup.py
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml setup.py
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/installed-docs: $(BIN)/python pyproject.toml setup.py
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

# Some systems ship Python without the means to put pip into a new environment.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { \
	    $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
