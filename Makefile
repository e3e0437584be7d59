## make demo    train a small model through the whole stack and watch it improve (DEMO="--seed 2" for its options)
## make test    all that is checked but for vLLM and containers: style, types, structure, unit, integration and acceptance tests
## make vllm    build vLLM's own environment, .venv-vllm (3 minutes, 4 GB); then HONE_ENGINE=vllm make demo
## make vllm-test   the same, and test the vLLM engine in it
## make bench-methods   run the methods' behavioural experiments and write docs/experiments.md
## make bench-through-services   train methods and GRPO on a stack (20 minutes) and write docs/through-the-services.md
## make bench   measure every figure of the README and docs/algorithms.md here (almost two hours on a quiet machine) and render its tables
## make deps    what tests use from the system's packages: RabbitMQ, Ceph's object gateway, promtool, Chromium, Node
## make trl-vllm   add TRL to vLLM's environment, for the comparison with its vLLM mode
## make compose-test   bring deploy/docker-compose.yml up with stand-in images and train the toy run through it (minutes)
## make proto   write the code in libs/hone/api again after a change in proto/
## make structure   print the table of file and function lengths
## make clean   remove the environment and caches

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= $(firstword $(foreach name,python3.11 python3,$(shell command -v $(name))))
VENV   ?= .venv
VLLM   ?= .venv-vllm
BIN    := $(VENV)/bin
# Twice: errors alone, not each place of a machine's own index that has nothing to offer.
QUIET  := --quiet --quiet --disable-pip-version-check
PIP    := $(BIN)/python -m pip install $(QUIET)
TORCH  := $(shell sed -n 's/.*"\(torch==[^"]*\)".*/\1/p' pyproject.toml)
PYTEST := $(BIN)/python -m pytest
ABREAST := -n 2 --dist loadscope --no-loadscope-reorder
BUF    := .cache/buf

export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint types unit integration acceptance vllm vllm-test trl-vllm compose-test bench bench-methods bench-through-services deps proto lint-proto structure clean help

help:
	@sed -n 's/^## //p' Makefile

demo: $(VENV)/.installed-train
	@$(BIN)/hone demo $(DEMO)

test: lint types unit integration acceptance

lint: $(VENV)/.installed-test lint-proto
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m checks.structure
	$(BIN)/python -m checks.generated

types: $(VENV)/.installed-test
	$(BIN)/mypy
	$(BIN)/mypy checks benchmarks tests

unit integration acceptance: $(VENV)/.installed-test
	$(PYTEST) tests/$@ $(ABREAST) --durations=10 $(PYTEST_OPTIONS)

vllm: $(VLLM)/.installed

# The engine's own tests run in its environment; those of the contract and of runs in ours, on processes of its.
vllm-test: $(VENV)/.installed-test $(VLLM)/.installed
	$(VLLM)/bin/python -m pytest tests/vllm --durations=5 $(PYTEST_OPTIONS)
	HONE_ENGINE=vllm HONE_VLLM_PYTHON=$(VLLM)/bin/python $(PYTEST) tests/integration/inference tests/with_vllm \
		--durations=5 $(PYTEST_OPTIONS)

trl-vllm: $(VLLM)/.installed
	$(VLLM)/bin/python -m pip install $(QUIET) -e '.[bench]'

compose-test: $(VENV)/.installed-test
	deploy/test.sh $(BIN)/python .cache/compose

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.generation
	$(MAKE) vllm && $(BIN)/python -m benchmarks.vllm
	$(MAKE) trl-vllm
	$(BIN)/python -m benchmarks.grpo_step --setting short
	$(BIN)/python -m benchmarks.grpo_step --setting variable
	$(BIN)/python -m benchmarks.asynchronous
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.recovery
	$(BIN)/python -m benchmarks.policy_losses
	$(BIN)/python -m benchmarks.step_parts
	$(BIN)/python -m benchmarks.chunked_logprobs
	$(BIN)/python -m benchmarks.render

structure: $(VENV)/.installed-test
	@$(BIN)/python -m checks.structure --markdown

proto: $(VENV)/.installed-test
	PYTHON=$(BIN)/python proto/generate.sh

# buf comes from npm; without it the contracts are still generated and compared, but not held to buf's style.
lint-proto:
	@skipped() { echo "skipped: buf lint ($$1)"; exit $(if $(findstring --require-servers,$(PYTEST_OPTIONS)),1,0); }; \
	command -v npm > /dev/null || skipped "npm is not installed"; \
	test -x $(BUF)/node_modules/.bin/buf \
		|| npm install --loglevel error --no-audit --no-fund --prefix $(BUF) @bufbuild/buf@1.75.0 \
		|| skipped "npm cannot install it"; \
	cd proto && ../$(BUF)/node_modules/.bin/buf lint && ../$(BUF)/node_modules/.bin/buf format --diff --exit-code

$(VENV)/.installed-train: pyproject.toml
	@$(call create)
	@$(call install,train)

$(VENV)/.installed-bench: pyproject.toml
	@$(call create)
	@$(call install,train$(COMMA)bench)

$(VENV)/.installed-test: pyproject.toml
	@$(call create)
	@$(call install,train$(COMMA)dev$(COMMA)textworld$(COMMA)tensorboard$(COMMA)mlflow$(COMMA)wandb$(MOTO))

# vLLM pins torch and transformers, so it has an environment of its own; what torch and vLLM are is in pyproject.toml.
# The CPU build asks for three libraries that exist for CUDA alone and break every import; text models need none.
$(VLLM)/.installed: pyproject.toml
	@begin=$$SECONDS; \
	$(PYTHON) -m venv $(VLLM); \
	pip="$(VLLM)/bin/python -m pip $(QUIET)"; \
	echo "installing $(TORCH) in $(VLLM) ..."; $$pip install '$(TORCH)'; \
	echo "installing vLLM and Hone in $(VLLM) ..."; $$pip install -e '.[vllm,test]'; \
	$$pip uninstall --yes torchvision torchaudio torchcodec; \
	$(VLLM)/bin/python -c 'import services.inference.vllm.kind' > $(VLLM)/import.log 2>&1 \
		|| { cat $(VLLM)/import.log; echo "vLLM is installed but cannot be imported" >&2; exit 1; }; \
	touch $@; echo "installed in $$((SECONDS - begin)) s"

COMMA := ,
# The S3 server of the tests: Ceph's where it is installed, otherwise moto's.
MOTO := $(if $(shell command -v radosgw),,$(COMMA)moto)

define create
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "Hone needs Python 3.11 or newer; found $$($(PYTHON) --version). Set PYTHON=..."; exit 1; }; \
$(PYTHON) -m venv $(VENV)
endef

define install
begin=$$SECONDS; \
echo "installing $(TORCH) ..."; $(PIP) '$(TORCH)'; \
echo "installing Hone and its libraries ($(1)) ..."; $(PIP) -e '.[$(1)]'; \
touch $@; echo "installed in $$((SECONDS - begin)) s"
endef

bench-methods: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.methods
	$(BIN)/python -m benchmarks.methods.report

bench-through-services: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.through_services
	$(BIN)/python -m benchmarks.through_services.report

# As root, or where sudo asks for no password. Elsewhere it says what the tests will do without.
deps:
	@missing=(); \
	test -x /usr/lib/rabbitmq/bin/rabbitmq-server || missing+=(rabbitmq-server); \
	command -v radosgw > /dev/null && command -v ceph-mon > /dev/null && command -v ceph-osd > /dev/null \
		|| missing+=(radosgw ceph-mon ceph-osd); \
	command -v promtool > /dev/null || missing+=(prometheus); \
	command -v chromium > /dev/null && command -v chromedriver > /dev/null || missing+=(chromium chromium-driver); \
	command -v node > /dev/null && command -v npm > /dev/null || missing+=(nodejs npm); \
	if (( $${#missing[@]} == 0 )); then echo "RabbitMQ, Ceph, promtool, Chromium and Node are installed"; exit; fi; \
	if ! command -v apt-get > /dev/null; then sudo=none; elif (( $$(id -u) == 0 )); then sudo=; \
	elif sudo -n true 2> /dev/null; then sudo="sudo -n"; else sudo=none; fi; \
	if [[ $$sudo == none ]]; then \
		echo "not installed: $${missing[*]} (no apt-get, or not root). Tests of RabbitMQ, of alert rules, of"; \
		echo "the console, of a client in Node and of the contracts' style are skipped; without Ceph they use moto, which"; \
		echo "cannot show durability."; exit; fi; \
	echo "installing $${missing[*]} ..."; \
	$$sudo apt-get update -qq; \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $${missing[@]} > /dev/null

clean:
	rm -rf $(VENV) $(VLLM) .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
