# Every target makes its own environment in .venv: uv when present, else venv and pip.
# The stamps remember what is installed, so a second run starts at once.

PYTHON := .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each would compile the package
.DEFAULT_GOAL := help

.PHONY: help demo test lint types check fuzz coverage mutate mutants pythons bench peers gpu clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.installed-plot  ## train REINFORCE on CartPole until it is solved
	.venv/bin/ostinato run examples/reinforce_cartpole.py --out runs/demo

test: .venv/.installed-test  ## run the tests
	$(PYTHON) -m pytest -q -n 2 --dist loadfile

pythons:  ## the tests on every supported Python of this machine
	.ci/pythons

lint: .venv/.installed-dev  ## ruff: lint and formatting
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: .venv/.installed-dev  ## mypy and pyright, both strict
	.venv/bin/mypy
	.venv/bin/pyright --pythonpath $(PYTHON)

check: lint types test  ## everything CI checks

MINUTES ?= 10
fuzz: .venv/.installed-test  ## judge invented programs for MINUTES=10 (FUZZ=--quick: small ones)
	$(PYTHON) -m tests.property.fuzz --minutes $(MINUTES) $(FUZZ)

COVER := $(PYTHON) -m coverage
coverage: .venv/.installed-dev  ## branch coverage of the graph and its interpreter, at least 95 %
	$(COVER) erase
	$(COVER) run -m pytest -q tests/pdg tests/api tests/errors tests/property \
		tests/pipeline/test_checks.py
	$(COVER) combine -q
	$(COVER) report --include 'src/ostinato/pdg/*' --fail-under 95

mutate: .venv/.installed-dev  ## change the interpreter and the index algebra: do tests notice?
	.venv/bin/mutmut run --max-children 2
	.venv/bin/mutmut results

mutants: .venv/.installed-test  ## change every rewrite rule: do proofs and instances refuse it?
	$(PYTHON) -m tests.rewrite.mutants

SUITES ?= $(filter-out cuda,$(patsubst bench/suites/%.py,%,$(wildcard bench/suites/[a-z]*.py)))
bench: .venv/.installed-plot  ## the tables of bench/RESULTS.md, beside the peers that are installed
	set -e; for suite in $(SUITES); do \
		.venv/bin/ostinato bench $$suite --markdown bench/RESULTS.md; done

PEERS ?= $(filter-out %_on_cuda,\
	$(patsubst bench/peers/requirements-%.txt,%,$(wildcard bench/peers/requirements-*.txt)))
peers: .venv/.installed-plot $(PEERS:%=.venv-peers/%/.installed)  ## the peers of the benchmarks

.venv-peers/%/.installed: bench/peers/requirements-%.txt
	$(PYTHON) -m venv $(@D) || uv venv --quiet --clear --python $(PYTHON) $(@D)
	if command -v uv >/dev/null; then uv pip install --quiet --python $(@D)/bin/python -r $<; \
		else $(@D)/bin/python -m pip install --quiet -r $<; fi
	@touch $@

CUDA ?= 12
gpu: .venv/.installed-test .venv-peers/jax_on_cuda/.installed  ## on a machine with a GPU (CUDA=12 or 13): its tests, its table
	.ci/venv test,plot,cuda$(CUDA)
	.venv/bin/ostinato doctor
	$(PYTHON) -m pytest -q -m gpu tests/cuda
	.venv/bin/ostinato bench cuda --rounds 3 --markdown bench/RESULTS.md

clean:  ## remove the environment, caches and runs
	rm -rf .venv .venv-peers .venv-pythons build dist runs mutants .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed-%: pyproject.toml .ci/venv .ci/constraints.txt
	.ci/venv $*
	@touch $@ $(if $(filter dev,$*),.venv/.installed-test)  # which it includes
