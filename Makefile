# Two commands set everything up on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
BIN := .venv/bin
# CI puts a runner here that gives what failed a second try.
PYTEST := $(BIN)/pytest
# Twice the cores: half of the tests wait for tmux, git or a daemon at any moment.
WORKERS := $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))
# What `pip install` depends on; a change of it installs again.
PACKAGING := pyproject.toml

.PHONY: demo test quick lint unit test-stand-ins bench soak mutants docs clean

demo: .venv/run
	@$(BIN)/herdr demo $(DIR)

test: lint unit

lint: .venv/dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache >/dev/null || $(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/vulture

unit: .venv/dev
	@$(PYTEST) -q -n $(WORKERS) --dist worksteal

# What most changes break, in less than a minute on two cores: the rules, the configuration, the store, operations,
# harnesses, the protocol and the pages. Left out is what waits for tmux, daemons, the network and whole commands.
QUICK := tests/test_promises.py tests/test_references.py tests/cli/test_docs.py tests/campaign tests/commandline \
    tests/config tests/harness tests/ops tests/polyresearch/protocol tests/store tests/trunk
quick: .venv/dev
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(PYTEST) -q -n 2 --dist worksteal $(QUICK)

# Whole lives of a polyresearch project on the two GitHub stand-ins; CI runs it too.
test-stand-ins: .venv/dev
	@STAND_INS=1 $(PYTEST) -q -n $(WORKERS) --dist worksteal tests/polyresearch/commands/test_life.py

bench: .venv/dev
	@$(BIN)/python -m bench

# Fifty kills of the daemon and five of tmux, over campaigns of twenty runs and more; forty ideas; two hundred
# comments; many more orders of people, ends and kills; 500 campaigns of careless agents: about an hour and a half.
soak: .venv/dev
	@FORTY_IDEAS=1 COMMENTS=200 ORDER_EXAMPLES=600 $(BIN)/pytest -q tests/daemon/test_forty_ideas.py \
	    tests/daemon/test_many_comments.py tests/daemon/test_any_order.py
	@CARELESS_CAMPAIGNS=500 $(BIN)/pytest -q -n $(WORKERS) tests/daemon/test_careless_agents.py
	@STORM_KILLS=50 STORM_TMUX_KILLS=5 STORM_RUNS=20 $(BIN)/pytest -q tests/daemon/test_recovery.py \
	    tests/daemon/test_two_homes.py -k random

# Changes the rules of the campaign and of the head in over a thousand places, and sees that their tests notice each:
# about ten minutes. `make mutants ONLY=herdr/trunk` looks at one folder or file.
mutants: .venv/dev
	@$(BIN)/python tools/mutate.py --only $(ONLY)

# Pages that are generated from the code; a test says when they are out of date.
docs: .venv/dev
	@$(BIN)/python -m herdr.cli.docs docs

.venv/run: $(PACKAGING) tools/need_programs.sh
	@tools/need_programs.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "herdr needs Python 3.10 or newer: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }
	@echo "setting up .venv (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check 'pip>=25.1'
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

.venv/dev: .venv/run
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group dev
	@touch $@

clean:
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
