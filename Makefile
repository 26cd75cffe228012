# `make demo` and `make test` are all a fresh machine needs; `make help` lists the rest.
#
# VENV=DIR        where the environment lives (default .venv)
# PYTHON=COMMAND  the Python that makes it (default: python3.11, else 3.12, else 3.13)
# PYTEST_ARGS=... passed on to pytest by `make test`
# BENCHMARK_ARGS=... passed on by `make benchmark`

VENV ?= .venv
BIN := $(VENV)/bin
LOCK := requirements/requirements.lock

# The first Python found that the lock is for and that can make an environment.
FIND_PYTHON = for python in python3.11 python3.12 python3.13 python3; do \
	  "$$python" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	    >/dev/null 2>&1 && { command -v "$$python"; break; }; done
PYTHON ?= $(shell $(FIND_PYTHON))

# A few packages are built from source: with the setuptools of the lock (older pips read the first, newer ones the second).
CONSTRAIN_BUILDS := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK)

export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help env test demo benchmark lint format lock clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

env: $(VENV)/.installed  ## create the environment, once

test: env  ## run the tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

demo: env  ## train a sentiment model without and with ELMo and compare them
	$(BIN)/python -m elmo_plugin.demo

benchmark: env  ## measure speed beside AllenNLP, for hours; BENCHMARK_ARGS=--quick only compares vectors
	$(BIN)/python -m elmo_plugin.benchmark $(BENCHMARK_ARGS)

lint: env  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: env  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The stamps come last, so that an environment whose making was cut off is made again from nothing. Without --no-compile
# most of the time would go into byte code, nearly all of it for modules that are never imported.
$(VENV)/.ready: $(LOCK)
	@test -n "$(PYTHON)" || { echo "No suitable Python found. Install Python 3.11, 3.12 or 3.13 with its venv module" \
	  "(Debian and Ubuntu: apt install python3.11-venv), or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { echo \
	  "$(PYTHON) does not run or is not Python 3.11, 3.12 or 3.13, which $(LOCK) is for." >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON). This happens once, downloads about 3 GB, fills about 6 GB and takes some minutes."
	"$(PYTHON)" -m venv --clear "$(VENV)"
	$(CONSTRAIN_BUILDS) $(BIN)/python -m pip install --no-compile --no-deps -r $(LOCK)
	@touch $@

$(VENV)/.installed: $(VENV)/.ready setup.py $(wildcard elmo_plugin/engine/backends/compiled/*.cpp elmo_plugin/engine/backends/compiled/*.h)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lock:  ## resolve requirements/requirements.in again (uses uv, in an environment of its own)
	"$(PYTHON)" -m venv --clear build/uv
	build/uv/bin/python -m pip install --quiet uv
	build/uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header \
	  --override requirements/overrides.txt requirements/requirements.in --output-file $(LOCK)

clean:  ## remove the environment and what builds left behind
	rm -rf "$(VENV)" build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
