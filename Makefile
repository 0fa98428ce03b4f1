# The two commands of a newcomer: `make up` and `make test`. Everything runs in .venv, made on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PROGRAM := $(VENV)/.program
UNIVERSES := PYTHONPATH=tests/support $(BIN)/python -m universes

.PHONY: up test beside alone newcomer thorough universes universe planted install check generate dashboards figures docs format clean

up: $(PROGRAM)       ## run the default scenario: a network of processes, for about a minute
	$(BIN)/edgefw up

test: beside alone   ## run the tests: about eight minutes

# Several at a time; what measures or fills the machine has it to itself, after the rest.
beside: install
	$(BIN)/pytest -n auto --dist loadgroup -m "not alone and not newcomer and not thorough"

alone: install
	$(BIN)/pytest -m alone $$(grep -rl --include='test_*.py' mark.alone tests)

universes: install   ## run N universes (1000), from SEED on or from one that is drawn: see docs/universes.md
	$(UNIVERSES) many $(or $(N),1000) $(SEED)

universe: install    ## run the universe of SEED again and say what happens in it; only its EVENTS, WITHOUT parts of it
	$(UNIVERSES) one $(SEED) $(if $(EVENTS),--events $(EVENTS)) $(if $(WITHOUT),--without $(WITHOUT))

planted: install     ## look for every bug that is planted for the universes to find, and say how it was found
	$(UNIVERSES) planted

newcomer: install    ## do what README, tutorial and notebook tell a reader to, as it stands there
	$(BIN)/pytest -m newcomer tests

thorough: install    ## what other tests show in small, at full size
	$(BIN)/pytest -m thorough tests

install: $(STAMP)    ## make the environment alone, with all that tests and checks need

$(STAMP): $(PROGRAM)
	$(BIN)/pip install --quiet --constraint constraints.txt --group dev
	touch $@

# The program alone: nobody who wants to see a run has to wait for the tools of tests and checks.
$(PROGRAM): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "edgefw needs Python 3.11 or later, and $(PYTHON) is %d.%d: say which, as in make install PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[figures,frames,tls,ui]'
	touch $@

check: install       ## formatting, lint, types, layers, protos, generated code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint docker/Dockerfile examples/momentum/Dockerfile
	$(BIN)/shellcheck docker/host.sh docker/grafana/schema/make.sh protos/*.sh .ci/run
	cd protos && ../$(BIN)/buf lint
	protos/check.sh $(CURDIR)/$(BIN)/python

generate: install    ## write edgefw/v1 from the protos
	protos/generate.sh $(CURDIR)/$(BIN)/python $(CURDIR)

dashboards: install  ## write Grafana's dashboards from docker/grafana
	$(BIN)/python docker/grafana/build.py

figures: install     ## write the figures of the page in a browser from edgefw/page/figures.py
	$(BIN)/python -m edgefw.page.figures

docs: install        ## write the pages of docs that are made from the code
	$(BIN)/python docs/generate.py

compose.yaml: install edgefw/scenarios/playground.yaml edgefw/containers/compose.py edgefw/containers/compose.template.yaml  ## write the Compose file
	$(BIN)/edgefw compose playground --out $@

compose.tls.yaml: compose.yaml edgefw/containers/compose.tls.template.yaml  ## write the Compose file that adds TLS
	$(BIN)/edgefw compose playground --tls --out $@

format: install      ## rewrite the sources in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:               ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
