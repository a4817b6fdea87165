# Two commands do everything: `make quickstart` and `make test`.
# Needs Rust, Python 3.11 or newer, make, a C++ compiler and git.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
UV_VERSION := 0.13.8
HARBOR_PYTHON ?= >=3.12
NEMO_GYM_PYTHON ?= 3.12
TINKER_PYTHON ?= >=3.12,<3.15
OUT ?= generated/quickstart

# torch-sys asks the first `python` on the PATH where libtorch is.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
export CARGO_TERM_PROGRESS_WHEN ?= auto
# The sandbox has packages read-only: what is not compiled at once is compiled at each of its starts.
export UV_COMPILE_BYTECODE := 1

.PHONY: help quickstart guide-demo test test-bridges test-guide test-harbor test-lm-eval test-openenv test-tinker test-trl test-vllm check lint advisories build record venv venv-test venv-lint venv-bench venv-anchors venv-bridges venv-harbor venv-lm-eval venv-nemo-gym venv-openenv venv-tinker venv-trl venv-vllm fmt lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

quickstart: venv build ## Tasks, SFT, GRPO, evaluation and a report, on embedded defaults
	scripts/quickstart.sh $(OUT)

guide-demo: venv ## Try guidance without a model: a guide server and a scripted agent at two seconds a turn
	cargo build --release --locked -p factory -p sandbox -p agents-cli
	scripts/guide_demo.py --bin "$${CARGO_TARGET_DIR:-target}/release"

test: lint ## Everything: lints, documentation, all tests, doc tests, examples
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	scripts/tiers.sh reset
	scripts/nextest.sh
	scripts/tiers.sh report
	scripts/check_tutorial.py "$${CARGO_TARGET_DIR:-target}/debug"
	cargo test --workspace --doc --locked
	scripts/examples.sh

test-bridges: build venv-bridges venv-nemo-gym venv-openenv ## Examples for verifiers, Inspect, NeMo Gym, SkyRL and verl, played
	scripts/test_bridges.py

test-guide: ## The page of the guide server in Chromium; needs Node 20, npm and Chromium; not part of `make test`
	cargo build --locked -p agents-cli
	cd agents/tests/page && npm ci --ignore-scripts --no-audit --no-fund && npm run types && npm test

test-harbor: venv-test venv-harbor ## Exports in Harbor and in Hugging Face's datasets; not part of `make test`
	cargo test --workspace --locked --test harbor

test-lm-eval: venv-test venv-lm-eval ## lm-evaluation-harness against `rl serve`, compared with transformers
	cargo test --workspace --locked --test lm_eval

test-openenv: venv-test venv-openenv ## Clients and checks of `openenv` 0.10 against `sandbox serve`
	cargo test --workspace --locked --test openenv

test-tinker: venv-test venv-tinker ## Training through SkyRL's server on the CPU, compared with the native learner
	cargo test --workspace --locked --test tinker_server

test-trl: venv-test venv-trl ## TRL beside us, and on our tasks and checkpoints; not part of `make test`
	cargo test --workspace --locked --test suite -- --ignored --show-output trl

test-vllm: venv-test venv-vllm ## vLLM's servers sample for `rl train`; not part of `make test`
	cargo test --workspace --locked --test vllm -- --show-output

lint: check venv-test ## Checks of the tree, lints of Rust, licences and sources of dependencies
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo deny --offline --locked check --hide-inclusion-graph licenses bans sources

check: venv-lint ## What needs no build: format, Python, spelling, links, environment variables, tables of docs/SCALE.md
	cargo fmt --all --check
	ruff format --check --quiet
	ruff check --quiet
	scripts/check_fragments.py
	typos
	scripts/check_links.py --paths
	scripts/check_environment.py
	scripts/scale.py --check

advisories: venv-lint ## Known vulnerabilities of dependencies; fetches RustSec's database
	cargo deny --locked check advisories

build: venv ## Build every command in release
	cargo build --release --workspace --locked

record: build ## Record a chat model's answers for 12 tasks: make record MODEL=openai:NAME
	@test -n "$(MODEL)" || { echo "error: name a model: make record MODEL=openai:NAME"; exit 1; }
	target/release/factory generate --count 12 --seed 1 --roles "blueprint:$(MODEL)" --out generated/record
	target/release/factory calls export generated/record generated/record.jsonl

venv: .venv/.locked ## The locked Python environment
venv-test: .venv/.locked-test ## The same, with what the tests compare against
venv-lint: .venv/.locked-lint ## The tools of `make check` alone
venv-bench: .venv-bench/.locked ## A Python with packages of MLE-bench, in .venv-bench (9 GB)
	@echo "scripts use it with: export MLE_PYTHON=$(CURDIR)/.venv-bench/bin/python"
venv-vllm: .venv-vllm/.locked ## A Python with vLLM for CPUs, in .venv-vllm (8 GB)
venv-trl: .venv-trl/.locked ## A Python with TRL, in .venv-trl (6 GB, most of it hard links to what .venv has)
venv-anchors: .venv-anchors/.locked ## A Python with the data of `factory anchors`, in .venv-anchors (500 MB)
venv-bridges: .venv-bridges/.locked ## A Python with verifiers, SkyRL-gym and verl, in .venv-bridges (6 GB, most of it hard links)
venv-nemo-gym: .venv-nemo-gym/.locked ## A Python of 3.12 with NeMo Gym, in .venv-nemo-gym (1.2 GB)
venv-harbor: .venv-harbor/.locked ## A Python of 3.12 or newer with Harbor and datasets, in .venv-harbor (600 MB)
venv-lm-eval: .venv-lm-eval/.locked ## A Python with lm-evaluation-harness, in .venv-lm-eval
venv-openenv: .venv-openenv/.locked ## A Python with OpenEnv's package and Inspect, in .venv-openenv (450 MB)
venv-tinker: .venv-tinker/.locked ## A Python of 3.12 or newer with SkyRL's server and JAX, in .venv-tinker (6 GB)

.venv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "error: $(PYTHON) is missing or older than Python 3.11"; \
	  echo; echo "hint: install Python 3.11 or newer with its venv module, or name one: make PYTHON=/path/to/python3.11"; exit 1; }
	env -u VIRTUAL_ENV $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.locked: python/requirements.txt | .venv/bin/uv
	.venv/bin/uv pip install --python .venv/bin/python --quiet --require-hashes -r python/requirements.txt
	touch $@

.venv/.locked-test: python/requirements-test.txt python/requirements-openenv-core.txt python/requirements-tensorboard.txt .venv/.locked
	.venv/bin/uv pip install --python .venv/bin/python --quiet --require-hashes -r python/requirements-test.txt
	.venv/bin/uv pip install --python .venv/bin/python --quiet --require-hashes --no-deps -r python/requirements-openenv-core.txt
	.venv/bin/uv pip install --python .venv/bin/python --quiet --require-hashes --no-deps -r python/requirements-tensorboard.txt
	touch $@

.venv/.locked-lint: python/requirements-lint.txt | .venv/bin/uv
	.venv/bin/uv pip install --python .venv/bin/python --quiet --require-hashes -r python/requirements-lint.txt
	touch $@

.venv-bench/.locked: python/requirements-bench.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-bench
	.venv/bin/uv pip install --python .venv-bench/bin/python --quiet --require-hashes -r python/requirements-bench.txt
	touch $@

.venv-anchors/.locked: python/requirements-anchors.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-anchors
	.venv/bin/uv pip install --python .venv-anchors/bin/python --quiet --require-hashes --no-deps -r python/requirements-anchors.txt
	touch $@

.venv-bridges/.locked: python/requirements-bridges.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-bridges
	.venv/bin/uv pip install --python .venv-bridges/bin/python --quiet --require-hashes -r python/requirements-bridges.txt
	touch $@

# As for Harbor; `NEMO_GYM_PYTHON` names a Python of 3.12.
.venv-nemo-gym/.locked: python/requirements-nemo-gym.txt | .venv/bin/uv
	env -u VIRTUAL_ENV .venv/bin/uv venv --quiet --clear --python '$(NEMO_GYM_PYTHON)' .venv-nemo-gym
	.venv/bin/uv pip install --python .venv-nemo-gym/bin/python --quiet --require-hashes -r python/requirements-nemo-gym.txt
	touch $@

# uv looks for a Python that is new enough, and fetches one if it finds none. To name one:
# `make venv-harbor HARBOR_PYTHON=/path/to/python3.12`.
.venv-harbor/.locked: python/requirements-harbor.txt | .venv/bin/uv
	env -u VIRTUAL_ENV .venv/bin/uv venv --quiet --clear --python '$(HARBOR_PYTHON)' .venv-harbor
	.venv/bin/uv pip install --python .venv-harbor/bin/python --quiet --require-hashes -r python/requirements-harbor.txt
	touch $@

.venv-lm-eval/.locked: python/requirements-lm-eval.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-lm-eval
	.venv/bin/uv pip install --python .venv-lm-eval/bin/python --quiet --require-hashes -r python/requirements-lm-eval.txt
	touch $@

.venv-openenv/.locked: python/requirements-openenv.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-openenv
	.venv/bin/uv pip install --python .venv-openenv/bin/python --quiet --require-hashes -r python/requirements-openenv.txt
	touch $@

# As for Harbor; to name a Python: `make venv-tinker TINKER_PYTHON=/path/to/python3.12`.
.venv-tinker/.locked: python/requirements-tinker.txt | .venv/bin/uv
	env -u VIRTUAL_ENV .venv/bin/uv venv --quiet --clear --python '$(TINKER_PYTHON)' .venv-tinker
	.venv/bin/uv pip install --python .venv-tinker/bin/python --quiet --require-hashes -r python/requirements-tinker.txt
	touch $@

.venv-trl/.locked: python/requirements-trl.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-trl
	.venv/bin/uv pip install --python .venv-trl/bin/python --quiet --require-hashes -r python/requirements-trl.txt
	touch $@

.venv-vllm/.locked: python/requirements-vllm.txt | .venv/bin/uv
	env -u VIRTUAL_ENV $(PYTHON) -m venv --clear .venv-vllm
	.venv/bin/uv pip install --python .venv-vllm/bin/python --quiet --require-hashes --no-deps -r python/requirements-vllm.txt
	touch $@

fmt: venv-lint ## Format Rust and Python
	cargo fmt --all
	ruff format --quiet

lock: .venv/bin/uv ## Write python/requirements*.txt anew from the .in files
	cd python && for name in requirements requirements-charts requirements-chemistry requirements-test requirements-lint requirements-bench requirements-bridges requirements-lm-eval requirements-openenv requirements-task requirements-trl; do \
	  ../.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --no-annotate $$name.in -o $$name.txt; done
	cd python && for name in requirements-harbor requirements-nemo-gym requirements-tinker; do \
	  ../.venv/bin/uv pip compile -q --universal --python-version 3.12 --generate-hashes --no-header \
	    --no-emit-index-url --no-annotate $$name.in -o $$name.txt; done
	cd python && ../.venv/bin/uv pip compile -q --python-platform x86_64-unknown-linux-gnu --python-version 3.11 \
	  --override requirements-vllm-torch.in --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  requirements-vllm.in -o requirements-vllm.txt
	cd python && for name in requirements-openenv-core requirements-tensorboard requirements-anchors; do \
	  ../.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --no-annotate --no-deps $$name.in -o $$name.txt; done

clean: ## Remove what was generated and built, keep the Python environment
	rm -rf target
	find generated -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} +
