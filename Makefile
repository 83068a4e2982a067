# make parse   trains a small model, parses and shows the three best trees of each sentence
# make test    runs the tests
# make lint    ruff and mypy
# make docs    builds the documentation into build/docs
# Each sets up its own virtual environment in .venv; nothing but Python (with pip) is needed.

PYTHON ?= python3
VENV ?= .venv
EPOCHS ?= 5
PYTEST_OPTIONS ?=

BIN = $(VENV)/bin
DATA = tests/data
MODEL = build/small.model

.PHONY: parse test lint docs clean clean-cache
.DELETE_ON_ERROR:

parse: $(MODEL)
	$(BIN)/bbparse parse $(DATA)/small-dev.conllu --model $(MODEL) --k-best 3

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(PYTEST_OPTIONS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W -q -b html docs build/docs

clean:
	rm -rf $(VENV) build

# compiled kernels; they are made again when they are called
clean-cache:
	find bbparse features -name '*.nb[ci]' -delete

$(MODEL): $(VENV)/installed $(DATA)/small-train.conllu $(DATA)/small-dev.conllu configs/english.toml
	mkdir -p build
	$(BIN)/bbparse train $(DATA)/small-train.conllu --dev $(DATA)/small-dev.conllu \
	    --config configs/english.toml --model $@ --epochs $(EPOCHS) --seed 1

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
