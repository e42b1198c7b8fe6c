# Every target sets up first: what is missing on a fresh Debian 12 is installed,
# and where nothing is missing that takes a fraction of a second.

.DEFAULT_GOAL := help
.PHONY: help setup build cachescope measure-aarch64 host-x86 proofs check-proofs check ci test test-cachescope test-host-x86 test-report test-python spelling campaign campaign-analysis campaign-planner campaign-proofs bench-scale miri torture lint msrv demo bench-exits reproduce reproduce-setup release publish-check image fuzz book deny clean distclean tested-xtask machines check-host-x86

# rustup's folder, for shells that were started before it was installed.
ifeq ($(shell command -v rustup),)
export PATH := $(HOME)/.cargo/bin:$(PATH)
endif

CARGO_DENY_VERSION := 0.20.2
TYPOS_VERSION := 1.52.0
MDBOOK_VERSION := 0.4.52
MATURIN_VERSION := 1.16.0
MDBOOK := $(or $(shell command -v mdbook),build/tools/bin/mdbook)
CARGO_DENY := $(or $(shell command -v cargo-deny),build/tools/bin/cargo-deny)
DENY_CACHESCOPE := --manifest-path cachescope/Cargo.toml --config cachescope/deny.toml
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
FUZZ_SECONDS ?= 60
INTERLEAVINGS ?= 20000
PERIODS ?= 1000000
SEEDS ?= 100
SYSTEMS ?= 1000000
GRID ?= 10000
SERVERS ?= 2500
CERTIFICATES ?= 300
SECONDS ?= 600
PLANS ?= 100
KILLS ?= 20
SEED ?= 1
# A workspace of its own; `bulkhead run` looks for the plugin in this folder.
CACHESCOPE := --manifest-path cachescope/Cargo.toml --target-dir cachescope/target --locked
PYTHON := --manifest-path python/Cargo.toml
VENV := build/python
# Not one that is in PATH: each version knows other mistakes.
TYPOS := build/tools/typos-$(TYPOS_VERSION)/bin/typos
MATURIN := build/tools/maturin-$(MATURIN_VERSION)/bin/maturin
TARGET := $(or $(CARGO_TARGET_DIR),target)
BULKHEAD := $(TARGET)/release/bulkhead
XTASK := cargo xtask
# The same program as the tests build it: cargo compiles its libraries once more for `cargo xtask`, with fewer features.
TESTED_XTASK := CARGO_MANIFEST_DIR=$(CURDIR)/xtask $(TARGET)/debug/xtask

help: ## Show this list
	@echo 'make <target>:'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Install what is missing, saying what and why
	@scripts/setup

build: setup ## Build everything: hypervisor, guests, the bulkhead command
	cargo xtask build
	cargo build --release --package bulkhead

cachescope: setup ## Build the QEMU plugin that counts cache evictions
	cargo build --release $(CACHESCOPE)

# Runs a command beside other targets, which alone keep one CPU busy.
beside = @$(MAKE) --no-print-directory $(1) & other=$$!; $(2) || { kill $$other; exit 1; }; wait $$other

# One test is enough: xtask is built for it, and of the libraries only those of xtask.
tested-xtask:
	cargo test --workspace --no-run --test release

# Hypervisor, guests and the files of Linux.
machines:
	$(TESTED_XTASK) build

# Where Coq is missing and apt cannot install it, a line says so. coqchk needs another minute: `make proofs` runs it.
check-proofs:
	@mkdir -p build
	@command -v coqc >/dev/null || scripts/setup coq >build/coq.log 2>&1 || true
	@if command -v coqc >/dev/null; then $(MAKE) --no-print-directory -C proofs words; \
	else echo 'Coq is missing and cannot be installed (build/coq.log says why), so that proofs are not checked'; fi

# A short form of `make test-host-x86`. Where the files of the host cannot be had, a line says so.
check-host-x86:
	@mkdir -p build
	@if scripts/setup host-x86 >build/host-x86.log 2>&1 && $(TESTED_XTASK) build guests-x86 host-x86 >>build/host-x86.log 2>&1; \
	then BULKHEAD_XTASK=$(abspath $(TARGET))/debug/xtask cargo test --workspace --test host_x86 -- --ignored runs_are_the_same; \
	else echo 'The x86 host cannot be built (build/host-x86.log says why), so that runs in it are not tested'; fi

ci: setup ## Pass every lint and test, and every limit of a figure
	$(MAKE) --no-print-directory tested-xtask
	$(call beside,test-cachescope,cargo test --workspace --no-run)
	$(call beside,check-proofs machines,$(MAKE) --no-print-directory lint XTASK="$(TESTED_XTASK)")
	$(TESTED_XTASK) size
	$(TESTED_XTASK) test --all --figures
	$(MAKE) --no-print-directory check-host-x86

test: setup ## Pass all tests but those that take long (xtask/src/test/long.rs), the proofs and the tests of cachescope
	$(MAKE) --no-print-directory tested-xtask
	$(call beside,machines cachescope,cargo test --workspace --no-run)
	$(TESTED_XTASK) test

test-cachescope: cachescope ## Test the plugin and its model
	cargo test --workspace --features bulkhead-cachescope-model/parquet $(CACHESCOPE) -- --include-ignored

check: setup lint ## Pass lints and the tests of `cargo test`: all that boots no machine (2 minutes after a build)
	cargo xtask test --quick

proofs: ## Check the proofs of the analysis with Coq, and again with coqchk: no axioms (two minutes)
	scripts/setup coq
	$(MAKE) --no-print-directory -C proofs

host-x86: setup ## Build an x86 host for QEMU, in which `cargo xtask host-x86` runs systems under KVM, instruction by instruction
	scripts/setup host-x86
	cargo xtask build guests-x86 host-x86

test-host-x86: host-x86 cachescope ## Test runs under KVM in the x86 host, and measure their costs (minutes)
	cargo test --package bulkhead --test host_x86 -- --ignored --test-threads 1
	cargo xtask bench-host-x86

test-report: setup ## Look at reports of proofs with real browsers (Chromium, Firefox), those of `make demo` too (needs a network the first time)
	scripts/test-report $(wildcard build/demo)

test-python: setup cachescope $(VENV)/bin/python ## Test the package for Python: types, tutorial, runs in QEMU, a Dask cluster (needs a network the first time)
	cargo clippy --locked $(PYTHON) -- -D warnings
	cargo xtask build hypervisor guests
	cargo build --package bulkhead
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation --force-reinstall ./python
	cd python && ../$(VENV)/bin/python -m mypy package/bulkhead tests
	cd python && BULKHEAD_COMMAND=$(CURDIR)/target/debug/bulkhead ../$(VENV)/bin/python -m pytest --quiet --doctest-modules \
		tests --pyargs bulkhead

$(VENV)/bin/python: python/requirements.txt
	@echo 'test-python: making an environment with what the tests need: $(VENV) (once)'
	python3 -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
	touch $@

campaign: build cachescope ## Test what `make test` tests for seconds for longer: PERIODS=1000000 of servers, SEEDS=100, INTERLEAVINGS=20000 of CPUs (an hour)
	BULKHEAD_PERIODS=$(PERIODS) BULKHEAD_SEEDS=$(SEEDS) cargo test --release --package bulkhead \
		--test budgets --test races --test overshoot --test cyclictest --test trace_run \
		-- --ignored --nocapture
	cargo test --release --package bulkhead --test storm storms_of_links -- --ignored --nocapture
	cargo test --release --package bulkhead-tests --test coincidence --test links -- --ignored
	BULKHEAD_INTERLEAVINGS=$(INTERLEAVINGS) cargo test --release --package bulkhead-interleavings --test interleavings
	PROPTEST_CASES=$(INTERLEAVINGS) cargo test --release --package bulkhead-hypervisor --lib vdev::gic

campaign-analysis: setup ## Compare bounds with simulations for SYSTEMS=1000000 random systems; goes on where it was stopped (quarter of an hour)
	mkdir -p build
	BULKHEAD_SYSTEMS=$(SYSTEMS) BULKHEAD_PROGRESS=$(CURDIR)/build/campaign-analysis.toml cargo test --release \
		--package bulkhead-analysis --test campaign as_many -- --ignored --nocapture
	BULKHEAD_SYSTEMS=$(SYSTEMS) cargo test --release \
		--package bulkhead-analysis --test overheads_simulated many -- --ignored --nocapture
	cargo test --release --package bulkhead-analysis --test simulation --test contention --test contention_simulated \
		--test vmpcp -- --ignored --nocapture

campaign-planner: setup ## Compare the planner with simple plans and optima on GRID=10000 random systems; prints tables
	BULKHEAD_SYSTEMS=$(GRID) cargo test --release --package bulkhead-planner --test grid many -- --ignored --nocapture \
		--test-threads 1
	BULKHEAD_MANY_CASES=1 cargo test --release --package bulkhead-planner --test whole

campaign-proofs: setup ## Have Coq compare servers of SERVERS=2500 PCPUs with the model of the proofs, and check certificates of CERTIFICATES=300 systems
	scripts/setup coq
	BULKHEAD_SYSTEMS=$(SERVERS) cargo test --release --package bulkhead-policy --test traces many -- --ignored --nocapture
	BULKHEAD_SYSTEMS=$(CERTIFICATES) cargo test --release --package bulkhead-verdict --test certificates many -- --ignored --nocapture

bench-scale: setup ## Measure how the time and the memory of check and plan grow with a system; prints tables (2 minutes)
	cargo bench --package bulkhead-planner --bench scale

miri: setup ## Run tests of policies and hypervisor under Miri: no undefined behaviour (10 minutes; needs a nightly with miri and rust-src)
	PROPTEST_CASES=4 PROPTEST_FAILURE_PERSISTENCE=off MIRIFLAGS=-Zmiri-disable-isolation \
		cargo +nightly miri test --target-dir target/miri --package bulkhead-policy --lib -- --skip color::
	PROPTEST_CASES=4 PROPTEST_FAILURE_PERSISTENCE=off MIRIFLAGS=-Zmiri-disable-isolation \
		cargo +nightly miri test --target-dir target/miri --package bulkhead-hypervisor --lib -- \
		arch:: vdev::gic lock:: scheduler:: timer:: --skip random:: --skip hammering --skip stuck

torture: build cachescope ## Torture hypervisor and tools: a guest that executes anything for SECONDS=600, all storms against a neighbour (an hour), PLANS=100 by chance, KILLS=20 of each command; from SEED=1
	BULKHEAD_SECONDS=$(SECONDS) BULKHEAD_SEED=$(SEED) cargo test --release --package bulkhead \
		--test torture campaign -- --ignored --nocapture
	cargo test --release --package bulkhead --test storm campaign -- --ignored --nocapture
	BULKHEAD_PLANS=$(PLANS) BULKHEAD_SEED=$(SEED) cargo test --release --package bulkhead-tests \
		--test random_plans -- --nocapture
	BULKHEAD_KILLS=$(KILLS) BULKHEAD_SEED=$(SEED) cargo test --release --package bulkhead \
		--test killed -- --include-ignored --nocapture

lint: setup spelling ## Check spelling, format and lints, for this machine and for bare metal
	cargo fmt --all --check
	cargo fmt --all --check --manifest-path cachescope/Cargo.toml
	cargo fmt --all --check $(PYTHON)
	$(XTASK) lint

spelling: setup $(TYPOS) ## Look for misspellings; typos.toml has what may be spelt otherwise (needs a network the first time)
	$(TYPOS) --format brief

$(TYPOS):
	@echo 'spelling: typos is missing: installing $(TYPOS_VERSION) into build/tools (8 MB to download, once)'
	python3 -m venv --clear build/tools/typos-$(TYPOS_VERSION)
	build/tools/typos-$(TYPOS_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check typos==$(TYPOS_VERSION)

demo: build cachescope ## Prove that a rover's deadlines hold with isolation and not without, with a report (3 minutes)
	$(BULKHEAD) prove systems/rover.toml --output build/demo

msrv: setup ## Build all but tests with the oldest compiler that Cargo.toml allows (needs a network the first time)
	rustup toolchain install $(MSRV) --profile minimal --target aarch64-unknown-none-softfloat --no-self-update
	cargo +$(MSRV) check --locked --workspace --exclude bulkhead-interleavings --target-dir target/msrv
	cargo +$(MSRV) check --locked --package bulkhead-hypervisor --package bulkhead-programs --profile bare \
		--target aarch64-unknown-none-softfloat --target-dir target/msrv
	cargo +$(MSRV) check --locked --manifest-path cachescope/Cargo.toml --workspace --target-dir target/msrv
	cargo +$(MSRV) check --locked $(PYTHON) --target-dir target/msrv

bench-exits: setup ## Count the EL2 instructions of every exit path
	cargo xtask bench-exits

measure-aarch64: setup ## Build the bulkhead command for Linux on AArch64 (build/linux/bulkhead), and a Linux guest with it
	cargo xtask build linux-measure

reproduce-setup: build cachescope measure-aarch64 host-x86 ## Build everything that `bulkhead reproduce` needs

reproduce: reproduce-setup ## Measure again what papers have published (hours, for a scheduler); ends with an error if a verdict differs from docs/reproduce
	$(BULKHEAD) reproduce all --expect docs/reproduce

release: setup $(MATURIN) ## Build the archives, packages and wheel of a release from a commit: build/release
	cargo xtask release --maturin $(CURDIR)/$(MATURIN)

publish-check: setup ## Pack the libraries for crates.io and build them from their packages, and publish nothing (2 minutes; needs a network)
	cargo publish --workspace --dry-run --locked

image: ## Make a container image (OCI archive) of build/release with Debian's QEMU: build/image (needs root, debootstrap, buildah and a network)
	scripts/image

$(MATURIN):
	@echo 'release: installing maturin $(MATURIN_VERSION) into build/tools, which builds the wheel for Python (once)'
	python3 -m venv --clear build/tools/maturin-$(MATURIN_VERSION)
	build/tools/maturin-$(MATURIN_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check \
		maturin==$(MATURIN_VERSION)

fuzz: setup ## Run every fuzz target for FUZZ_SECONDS=60
	cargo xtask fuzz --seconds $(FUZZ_SECONDS)

# Its title, on each page, says of which version and day it is.
book: $(MDBOOK) ## Make the documentation a book of HTML pages: build/book (needs a network the first time)
	MDBOOK_BOOK__TITLE="Bulkhead $(VERSION), $$(git log -1 --format=%cs)" $(MDBOOK) build

build/tools/bin/mdbook:
	@echo 'book: mdbook is missing: installing $(MDBOOK_VERSION) into build/tools (5 minutes, once)'
	cargo install --locked --version $(MDBOOK_VERSION) --root build/tools mdbook

deny: $(CARGO_DENY) ## Check licences, sources and advisories of all dependencies (needs a network)
	$(CARGO_DENY) check bans licenses sources
	$(CARGO_DENY) $(DENY_CACHESCOPE) check bans licenses sources
	$(CARGO_DENY) $(PYTHON) --config deny.toml check bans licenses sources
	$(CARGO_DENY) check advisories
	$(CARGO_DENY) $(DENY_CACHESCOPE) check advisories
	$(CARGO_DENY) $(PYTHON) --config deny.toml check advisories

build/tools/bin/cargo-deny:
	@echo 'deny: cargo-deny is missing: installing $(CARGO_DENY_VERSION) into build/tools (5 minutes, once)'
	cargo install --locked --version $(CARGO_DENY_VERSION) --root build/tools cargo-deny

clean: ## Remove what was built; downloads and tools stay
	cargo clean
	rm -rf cachescope/target python/target
	mkdir -p build
	find build -mindepth 1 -maxdepth 1 ! -name cache ! -name tools -exec rm -rf {} +

distclean: clean ## Remove downloads as well
	rm -rf build
