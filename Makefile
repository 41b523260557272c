# Two commands matter: `make demo` and `make test`. Each sets itself up: Rust, Python 3.11, Node 20 and make are assumed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
TESTS := .venv-tests
TESTS_PY := $(TESTS)/bin/python
PYTEST := $(TESTS_PY) -m pytest tests -q --durations=12 --durations-min=15

help:
	@echo 'make build      the binary, at .venv/bin/loadline'
	@echo 'make python     the Python package with Locust beside it, in .venv'
	@echo 'make wheel      the same as a wheel, in dist/'
	@echo 'make dist       the binary alone, in an archive with completions, man pages, documents, licences and a checksum, in dist/'
	@echo 'make web        the report page, at web/dist/report.html'
	@echo 'make demo       a target, a test and its report, in under a minute'
	@echo 'make test       format, lints, unit and integration tests, the installed command'
	@echo 'make bench      CPU per request beside wrk (needs nginx, wrk, taskset)'
	@echo 'make bench-wrk  the whole matrix of the wrk door beside wrk (needs nginx, wrk, taskset)'
	@echo 'make bench-tls  a saturated server, over TLS and in clear, beside wrk (needs nginx, wrk, taskset, openssl)'
	@echo 'make bench-artillery  the same beside artillery (needs nginx, npm, taskset)'
	@echo 'make bench-locust  the same beside Locust (needs nginx, taskset)'
	@echo 'make bench-mqtt  MQTT: to a sink that checks every message, and to mosquitto beside paho (needs mosquitto)'
	@echo 'make bench-report  the report of an hour: rebuilt, and opened in a browser'
	@echo 'make bench-sampling  what looking at a service costs (needs PostgreSQL, redis-server)'
	@echo 'make bench-cluster  what nodes over Ray cost, and how far apart they begin'
	@echo 'make bench-stop  how often stop rules fire for nothing, and how soon for something'
	@echo 'make bench-saturation  how often "what saturated first" is right of live services'
	@echo 'make dev T=…   the binary, and the tests that T names'
	@echo 'make test-cases that, and the wheel, counts against the originals, the case studies whole'
	@echo 'make test-long  that, and the whole battery of the self-test with every sin'

build: $(VENV)/ready web
	cargo build --release --locked -p loadline
	install -m 755 target/release/loadline $(VENV)/bin/loadline

# The Python package with what Locust's front door needs, beside Locust itself.
# Binary and extension module in one build: what they share is compiled once.
python: $(VENV)/ready web $(VENV)/locust-ready
	cargo build --release --locked -p loadline -p loadline-python
	install -m 755 target/release/loadline $(VENV)/bin/loadline
	install -m 755 target/release/lib_native.so python/loadline/_native.abi3.so
	echo $(CURDIR)/python > $$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/loadline.pth

$(VENV)/locust-ready: pyproject.toml $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'locust>=2.47,<2.48' 'geventhttpclient>=2.6,<2.7'
	touch $@

# Only what runs on several nodes of Ray's needs it: 79 MB.
$(VENV)/ray-ready: pyproject.toml $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'ray>=2.52,<2.61'
	touch $@

# The wheel, with the binary: what `pip install` gets.
wheel: $(VENV)/ready web/dist/report.html
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What is given to others.
dist: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 packaging/dist.py target/dist/loadline

# The report page, one file; the binary carries it.
web: web/dist/report.html

web/dist/report.html: web/node_modules/ready web/report.html web/vite.config.ts web/tsconfig.json $(shell find web/src -type f)
	cd web && npm run build

web/node_modules/ready: web/package-lock.json web/package.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

demo: build
	$(VENV)/bin/loadline demo

# One build serves the Rust tests, the binary and the extension module under test. It knows the known defects of the
# self-test, and it is installed apart from the product, in an environment of its own.
CI_BUILD := --profile ci --workspace --locked --features loadline/mutants,loadline-python/mutants

# Packages are fetched while the build goes on.
tests-build: web
	$(MAKE) -j2 tests-cargo $(TESTS)/$(if $(CASES),ray-ready,ready)
	install -m 755 target/ci/loadline $(TESTS)/bin/loadline
	install -m 755 target/ci/lib_native.so $(TESTS)/package/loadline/_native.abi3.so

tests-cargo:
	cargo build $(CI_BUILD) --all-targets

# CASES=1 adds what takes minutes: the wheel, counts against the originals, simulations, the case studies whole.
# In one pass with the rest, because tests that wait leave the cores to those that compute.
CASES ?=
ifdef CASES
TIER := not proof
test: wheel-under-test
endif
TIER ?= not proof and not long

test: tests-build
	$(MAKE) -j2 --output-sync=target test-rust test-commands
	$(PYTEST) -m '$(TIER) and alone and paced' -n 3 --dist loadgroup
	$(PYTEST) -m '$(TIER) and alone and not paced'

# Properties are tried on the same cases every time, so that no change fails by another's luck; `make test-long` draws new ones.
test-rust:
	cargo fmt --all --check
	PROPTEST_RNG_SEED=1 cargo test -q $(CI_BUILD) --all-targets
	$(if $(CASES),cargo test -q $(CI_BUILD) --lib -- --ignored)
	cargo clippy $(CI_BUILD) --all-targets -- -D warnings
	cd web && npm run check && npm run test
	$(TESTS)/bin/ruff check tests bench python packaging
	$(TESTS)/bin/ruff format --check tests bench python packaging

test-commands:
	$(PYTEST) -m '$(TIER) and not alone' -n 5 --dist loadgroup

test-cases:
	$(MAKE) test CASES=1

wheel-under-test: tests-build $(TESTS)/ray-ready
	LOADLINE_WHEEL_PREBUILT=target/ci $(MAKE) wheel PY=$(TESTS_PY)

# What takes hours or draws new cases: properties, fuzzing, the whole self-test, the product's size.
test-long: test-cases build
	cargo test $(CI_BUILD) --all-targets
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target --locked -- -D warnings
	./fuzz/run 120
	cargo test $(CI_BUILD) -p report --test report -- --ignored
	PRODUCT=$(VENV)/bin/loadline $(TESTS_PY) -m pytest tests -q -m proof

# From an edit to its result: the crates that changed, and the tests that T names. `make dev T=tests/artillery`
dev: $(TESTS)/ready web/dist/report.html
	cargo build $(CI_BUILD) --bin loadline --test seeds
	ln -sf $(CURDIR)/target/ci/loadline $(TESTS)/bin/loadline
	$(TESTS_PY) -m pytest -q -n 4 -m 'not long and not proof' $(T)

# Debian splits venv from Python; as root we may fetch what is missing.
$(VENV)/ready:
	if ! python3 -c 'import ensurepip' 2>/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update && apt-get install -y --no-install-recommends python3-venv; fi
	python3 -m venv $(VENV)
	touch $@

# The environment of the tests: pytest, Locust, and the package as it would be installed, from links to its sources.
$(TESTS)/ready: tests/requirements.txt tests/missing-packages pyproject.toml $(VENV)/ready
	missing=$$(tests/missing-packages); if [ "$$(id -u)" = 0 ] && [ -n "$$missing" ]; then \
	  apt-get update && apt-get install -y --no-install-recommends $$missing; fi
	python3 -m venv $(TESTS)
	$(TESTS_PY) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt 'locust>=2.47,<2.48' 'geventhttpclient>=2.6,<2.7'
	mkdir -p $(TESTS)/package/loadline
	ln -sfn $(CURDIR)/python/loadline/* $(TESTS)/package/loadline/
	rm -f $(TESTS)/package/loadline/_native.abi3.so $(TESTS)/package/loadline/__pycache__
	echo $(CURDIR)/$(TESTS)/package > $$($(TESTS_PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/loadline.pth
	touch $@

$(TESTS)/ray-ready: pyproject.toml $(TESTS)/ready
	$(TESTS_PY) -m pip install --quiet --disable-pip-version-check 'ray>=2.52,<2.61'
	touch $@

bench: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/engine.py

bench-wrk: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/wrk.py

bench-mqtt: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	test -x target/paho/bin/python || python3 -m venv target/paho
	target/paho/bin/pip install --quiet --disable-pip-version-check 'paho-mqtt<2'
	python3 bench/mqtt.py --paho target/paho/bin/python

bench-tls: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/tls.py

# Our package as it is shipped, beside the original in the same environment.
bench-locust: python
	cargo build --profile dist --locked -p loadline -p loadline-python
	install -m 755 target/dist/lib_native.so python/loadline/_native.abi3.so
	$(PY) bench/locust.py

bench-report: web/dist/report.html $(TESTS)/ready
	cargo build --profile dist --locked -p loadline
	$(TESTS_PY) bench/report.py

bench-sampling: web/dist/report.html $(TESTS)/ready
	cargo build --profile dist --locked -p loadline
	$(TESTS_PY) bench/sampling.py

bench-cluster: python $(VENV)/ray-ready
	$(PY) bench/cluster.py

bench-stop: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/stop.py

bench-saturation: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/saturation.py

# The original beside ours; its browser is not needed, so no install script runs.
bench-artillery: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	npm install --prefix bench/node --no-save --no-package-lock --ignore-scripts --no-audit --no-fund artillery@2.0.21
	python3 bench/artillery.py

clean:
	cargo clean
	rm -rf $(VENV) $(TESTS) web/node_modules web/dist web/test-results

.PHONY: help build python wheel dist web demo test test-long tests-build tests-cargo test-rust test-commands test-cases wheel-under-test dev bench bench-wrk bench-tls bench-artillery bench-locust bench-mqtt bench-report bench-sampling bench-cluster bench-stop bench-saturation clean
