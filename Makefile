# The two commands of a newcomer: `make up` and `make test`. Everything runs in .venv, made on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: up test install check generate format clean

up: install          ## run the default scenario: a network of processes, for about a minute
	$(BIN)/edgefw up

test: install        ## run every test
	$(BIN)/pytest -n auto --dist loadgroup

install: $(STAMP)    ## make the environment alone

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[figures]' --group dev
	touch $@

check: install       ## formatting, lint, types, layers, protos, generated code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd protos && ../$(BIN)/buf lint
	protos/check.sh $(CURDIR)/$(BIN)/python

generate: install    ## write edgefw/v1 from the protos
	protos/generate.sh $(CURDIR)/$(BIN)/python $(CURDIR)

format: install      ## rewrite the sources in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:               ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
