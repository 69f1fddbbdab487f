# Everything a developer does, by name. `make` alone lists it.

# Where Rust's installer puts cargo, for shells that have not been told.
export PATH := $(PATH):$(HOME)/.cargo/bin

rust_version := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# The Python that the package is tested with, in an environment of its own.
PYTHON ?= python3
venv := target/python
# Another one for the tests on Apache Spark.
spark_venv := target/spark
# How the package is compiled there.
profile ?= dev

# Installs a package of Debian. The lists of packages may be old, or not there at all.
apt = { apt-get install -y -qq $(1) || { apt-get update -qq && apt-get install -y -qq $(1); }; } >/dev/null 2>&1

.DEFAULT_GOAL := help
.PHONY: liblinear help run test python spark wheel spark-package java bench clean cargo

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: cargo ## build the program and run it on the small data set
	cargo build --release -p rueful-cli
	./target/release/rueful run data/phishing.libsvm

test: cargo liblinear ## check format, lints and documentation, then run every test, those of Python and Spark last
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
# The program and the library are both named rueful: only the library's pages are built.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude rueful-cli --no-deps --locked
# The same random cases every time; another seed, or none, finds others.
	PROPTEST_RNG_SEED=1 cargo test --workspace --locked
# In one call, so that the package is built once.
	$(MAKE) python spark

python: wheel ## build the Python package, and run its tests
	wheel=$$(ls target/wheels/*.whl) && $(venv)/bin/pip install --quiet "$$wheel[test]" && \
	$(venv)/bin/pip install --quiet --force-reinstall --no-deps "$$wheel"
	$(venv)/bin/python -m pytest

spark: spark-package ## build the Python package, and run its tests on a cluster of Apache Spark
	$(spark_venv)/bin/python -m pytest python/tests/spark

# The package in an environment of its own, with Spark.
spark-package: java wheel $(spark_venv)/bin/pip
	wheel=$$(ls target/wheels/*.whl) && $(spark_venv)/bin/pip install --quiet "$$wheel[spark]" pytest && \
	$(spark_venv)/bin/pip install --quiet --force-reinstall --no-deps "$$wheel"

# The Python package as a file, for all environments.
wheel: cargo $(venv)/bin/maturin
	rm -rf target/wheels
	$(venv)/bin/maturin build --profile $(profile) --locked --quiet --out target/wheels

# Spark runs on Java.
java:
	@command -v java >/dev/null || $(call apt,openjdk-17-jre-headless) || \
	{ echo "Please install Java 17 or newer: the tests on Apache Spark need it." >&2; exit 1; }

$(venv)/bin/maturin:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Please install Python 3.11 or newer, or name it: make PYTHON=python3.12 test" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(call apt,python3-venv) || \
	{ echo "Please install venv for $(PYTHON): on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(venv)
	$(venv)/bin/pip install --quiet 'maturin>=1.9,<2'

$(spark_venv)/bin/pip: | $(venv)/bin/maturin
	$(PYTHON) -m venv $(spark_venv)

bench: cargo ## measure: learning from memory, the race against other programs, and with DATA=FOLDER their losses
	cargo build --release -p rueful-bench -p rueful-cli
	cargo build --release -p rueful-bench --example classes
	./target/release/rueful-bench
	python3 crates/bench/rivals/race.py
	python3 crates/bench/rivals/python.py
	python3 crates/bench/rivals/losses.py $(DATA)
	python3 crates/bench/rivals/classes.py
	$(MAKE) spark-package profile=release
	python3 crates/bench/rivals/spark.py $(DATA)

clean: cargo ## remove what was built
	cargo clean

cargo:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || \
	{ echo "Please install stable Rust $(rust_version) or newer with cargo, rustfmt and clippy." >&2; exit 1; }

# One test compares with LIBLINEAR, and says that it was skipped where there is none.
liblinear:
	@command -v liblinear-train >/dev/null || $(call apt,liblinear-tools) || true
