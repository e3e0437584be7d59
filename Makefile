## make demo       train a small model with the whole system and watch it improve; options: DEMO="--seed 2"
## make test       run every check except those of vLLM and of containers: lint, types, unit, integration, acceptance
## make changed    run the checks that your changes since main can reach; since another commit: BASE=HEAD~3
## make quick      lint, types, unit tests and one acceptance test that trains a model; for use while you work
## make durations  keep the seconds of each test file that the last run saw: the next runs begin with the longest
## make soak       run the long versions of tests: many random kills, several seeds, all pairs of methods (about 9 minutes)
## make lint       check style, import rules, lengths of files and functions, and generated code
## make types      check types with mypy
## make unit       run the unit tests; also: make integration, make acceptance; options: PYTEST_OPTIONS="-k word"
## make deps       install the servers and programs that tests use: RabbitMQ, Ceph, promtool, Chromium, Node, g++, bubblewrap, helm
## make vllm       make vLLM's own environment, .venv-vllm (3 minutes, 4 GB); then HONE_ENGINE=vllm make demo
## make vllm-test  the same, then test the vLLM engine
## make compose-test   start docker-compose.yml with stand-in images and train the toy run on it (minutes)
## make bench      measure every published figure on this machine (almost two hours) and render the tables
## make bench-methods   run the experiments of the methods and write docs/measured/experiments.md
## make bench-through-services   train with each method on a stack (20 minutes); write docs/measured/through-the-services.md
## make proto      generate the code in libs/hone/api after a change in proto/
## make release    VERSION=0.1.0: lint, the page of its changes, kept REST and gRPC contracts, and the wheel in dist/
## make structure  print the table of file and function lengths
## make clean      remove environments and caches

VENV   ?= .venv
VLLM   ?= .venv-vllm
BASE   ?= main
BIN    := $(VENV)/bin

export OMP_NUM_THREADS ?= 1
# Tests start hundreds of Python processes: modules are compiled once, not by each of them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: $(shell sed -n 's/^## make \([a-z-]*\) .*/\1/p' Makefile) help integration acceptance every loop bare static
help:
	@sed -n 's/^## //p' Makefile

demo: $(VENV)/.installed-train
	@$(BIN)/hone demo $(DEMO)

test: $(VENV)/.installed-test
	@mkdir -p .cache && scripts/check.sh $(PYTEST_OPTIONS)

quick: static unit loop

changed: $(VENV)/.installed-test
	scripts/changed.sh $(BIN) $(BASE) $(PYTEST_OPTIONS)

durations:
	@$(BIN)/python -m tests.distribution

static:
	@$(MAKE) --no-print-directory -j 2 lint types

lint: $(VENV)/.installed-test
	scripts/lint.sh $(BIN) $(PYTEST_OPTIONS)

# mypy gives its workers three seconds to start, which a busy machine may not have: it ends with 2, and one process does it.
types: $(VENV)/.installed-test
	$(BIN)/mypy || { [ $$? -eq 2 ] && MYPY_NUM_WORKERS=0 $(BIN)/mypy; }

every unit integration acceptance loop soak bare: $(VENV)/.installed-test
	scripts/test.sh $(BIN)/python $@ $(PYTEST_OPTIONS)

vllm: $(VLLM)/.installed

vllm-test: $(VENV)/.installed-test $(VLLM)/.installed
	scripts/test-vllm.sh $(BIN)/python $(VLLM)/bin/python --durations=5 $(PYTEST_OPTIONS)

compose-test: $(VENV)/.installed-test
	deploy/test.sh $(BIN)/python .cache/compose

bench bench-methods bench-through-services: $(VENV)/.installed-bench
	scripts/$@.sh $(BIN)/python

proto: $(VENV)/.installed-test
	PYTHON=$(BIN)/python proto/generate.sh

release: $(VENV)/.installed-test
	scripts/release.sh $(BIN) $(VERSION)

structure: $(VENV)/.installed-test
	@$(BIN)/python -m checks.structure --markdown

deps:
	@scripts/servers.sh
	@scripts/kubernetes.sh .cache/kubernetes $(PYTHON)

clean:
	rm -rf $(VENV) $(VLLM) .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/.installed-%: pyproject.toml
	@scripts/environment.sh $(VENV) $* $(PYTHON) && touch $@

$(VLLM)/.installed: pyproject.toml
	@scripts/environment.sh $(VLLM) vllm $(PYTHON) && touch $@
