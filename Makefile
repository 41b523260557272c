# The two main commands are `make demo` and `make test`. Both set themselves up.
# They require Rust, Python 3.11, Node 20 and make.
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
	@echo 'make python     the Python package and Locust, in .venv'
	@echo 'make wheel      the Python package as a wheel, in dist/'
	@echo 'make dist       the release archive (binary, completions, man pages, documents, licences), in dist/'
	@echo 'make wheel-dist the wheel for distributions with glibc 2.17 or later, in dist/'
	@echo 'make web        the report page, at web/dist/report.html'
	@echo 'make docs       the documentation as a site, at target/site/index.html'
	@echo 'make demo       a target, a test and its report, in under a minute'
	@echo 'make test       format, lints, unit and integration tests, the installed command'
	@echo 'make bench      CPU per request compared with wrk (needs nginx, wrk, taskset)'
	@echo 'make bench-wrk  `loadline wrk` compared with wrk in many cases (needs nginx, wrk, taskset)'
	@echo 'make bench-tls  a saturated server with and without TLS, compared with wrk (needs nginx, wrk, taskset, openssl)'
	@echo 'make bench-h2   CPU per request over HTTP/2 compared with h2load (needs nginx, h2load, taskset, openssl)'
	@echo 'make bench-ws   CPU per WebSocket message compared with other clients (needs go, node, taskset)'
	@echo 'make bench-artillery  CPU per request compared with artillery (needs nginx, npm, taskset)'
	@echo 'make bench-js   processors in JavaScript: CPU compared with artillery, and memory (needs nginx, npm, taskset)'
	@echo 'make bench-k6   k6 scripts: CPU per request, memory and start of users (needs nginx, taskset)'
	@echo 'make bench-locust  CPU per request compared with Locust (needs nginx, taskset)'
	@echo 'make bench-mqtt  CPU per MQTT message: to a checking sink, and to mosquitto compared with paho (needs mosquitto)'
	@echo 'make bench-llm  streamed responses: truth, memory, and CPU per event compared with Python clients (needs taskset)'
	@echo 'make bench-report  rendering the report of an hour and opening it in a browser'
	@echo 'make bench-sampling  cost of sampling a service (needs PostgreSQL, redis-server)'
	@echo 'make bench-cluster  cost of nodes over Ray, and how far apart they start'
	@echo 'make bench-stop  false alarms and delays of stop rules'
	@echo 'make bench-saturation  how often the first bottleneck is named correctly'
	@echo 'make dev T=…   builds the binary and runs the tests in T'
	@echo 'make test-cases  `make test`, the wheel, comparisons with the original tools, and full case studies'
	@echo 'make test-long  `make test-cases`, and the full self-test with every mutant'

build: $(VENV)/ready web
	cargo build --release --locked -p loadline
	install -m 755 target/release/loadline $(VENV)/bin/loadline

# The Python package, with Locust and what `loadline locust` needs.
# Binary and extension module are built together, so shared crates are compiled once.
python: $(VENV)/ready web $(VENV)/locust-ready
	cargo build --release --locked -p loadline -p loadline-python
	install -m 755 target/release/loadline $(VENV)/bin/loadline
	install -m 755 target/release/lib_native.so python/loadline/_native.abi3.so
	echo $(CURDIR)/python > $$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/loadline.pth

$(VENV)/locust-ready: pyproject.toml $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'locust>=2.47,<2.48' 'geventhttpclient>=2.6,<2.7'
	touch $@

# Needed only for runs on several nodes over Ray (79 MB).
$(VENV)/ray-ready: pyproject.toml $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'ray>=2.52,<2.61'
	touch $@

# The wheel that `pip install` gets, with the binary.
wheel: $(VENV)/ready web/dist/report.html
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What others get runs on every distribution with glibc 2.17 (2014) or later: zig links it against
# that version. LuaJIT unwinds its stack itself, because zig's libraries lack GCC's unwinder.
GLIBC := 2.17
DIST_TARGET := $(shell uname -m)-unknown-linux-gnu
ZIG_BUILD = PATH=$(CURDIR)/$(VENV)/bin:$$PATH TARGET_FLAGS=-DLUAJIT_NO_UNWIND \
	cargo zigbuild --profile dist --locked --target $(DIST_TARGET).$(GLIBC) -p loadline -p loadline-python

$(VENV)/zig-ready: $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild>=0.24,<0.25' 'ziglang>=0.17,<0.18'
	touch $@

# The release archive.
dist: web/dist/report.html $(VENV)/zig-ready
	$(ZIG_BUILD)
	python3 packaging/dist.py target/$(DIST_TARGET)/dist/loadline --glibc $(GLIBC)

wheel-dist: web/dist/report.html $(VENV)/zig-ready
	$(ZIG_BUILD)
	LOADLINE_WHEEL_PREBUILT=target/$(DIST_TARGET)/dist LOADLINE_WHEEL_GLIBC=$(GLIBC) $(MAKE) wheel

# The report page in one file, which is embedded in the binary.
web: web/dist/report.html

web/dist/report.html: web/node_modules/ready web/report.html web/vite.config.ts web/tsconfig.json $(shell find web/src -type f)
	cd web && npm run build

web/node_modules/ready: web/package-lock.json web/package.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

# The documentation as a site with a search, which `python3 -m http.server -d target/site` serves.
docs: $(VENV)/docs-ready
	$(VENV)/bin/mkdocs build --quiet

$(VENV)/docs-ready: $(VENV)/ready
	$(PY) -m pip install --quiet --disable-pip-version-check 'mkdocs>=1.6,<1.7'
	touch $@

demo: build
	$(VENV)/bin/loadline demo

# One build for the Rust tests, the binary and the extension module under test. It contains the
# mutants of the self-test and is installed in a separate environment.
CI_BUILD := --profile ci --workspace --locked --features loadline/mutants,loadline-python/mutants

# Packages are fetched during the build.
tests-build: web
	$(MAKE) -j2 tests-cargo $(TESTS)/$(if $(CASES),ray-ready,ready)
	install -m 755 target/ci/loadline $(TESTS)/bin/loadline
	install -m 755 target/ci/lib_native.so $(TESTS)/package/loadline/_native.abi3.so

tests-cargo:
	cargo build $(CI_BUILD) --all-targets

# Parallel sessions hand out one test at a time, the longest first (tests/conftest.py).
# CASES=1 adds tests that take minutes: the wheel, comparisons with the original tools, simulations,
# full case studies. They run in one pass with the rest: waiting tests leave the cores to others.
CASES ?=
ifdef CASES
TIER := not proof
test: wheel-under-test
endif
TIER ?= not proof and not long

test: lint tests-build
	$(MAKE) -j2 --output-sync=target test-rust test-commands
	$(PYTEST) -m '$(TIER) and alone and paced' -n 4
	$(PYTEST) -m '$(TIER) and alone and not paced'

# Checks of a few seconds come first: they fail before the minutes of the build.
lint: $(TESTS)/ready
	cargo fmt --all --check
	$(TESTS)/bin/ruff check tests bench python packaging
	$(TESTS)/bin/ruff format --check tests bench python packaging

# Property tests use a fixed seed, so a change never fails by chance. `make test-long` draws new cases.
test-rust:
	PROPTEST_RNG_SEED=1 cargo test -q $(CI_BUILD) --all-targets
	$(if $(CASES),cargo test -q $(CI_BUILD) --lib -- --ignored)
	cargo clippy $(CI_BUILD) --all-targets -- -D warnings
	cd web && npm run check && npm run test

test-commands:
	$(PYTEST) -m '$(TIER) and not alone' -n 7

test-cases:
	$(MAKE) test CASES=1

wheel-under-test: tests-build $(TESTS)/ray-ready
	LOADLINE_WHEEL_PREBUILT=target/ci $(MAKE) wheel PY=$(TESTS_PY)

# Tests that take hours or draw new cases: properties, fuzzing, the full self-test, the product's size.
test-long: test-cases build
	cargo test $(CI_BUILD) --all-targets
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target --locked -- -D warnings
	./fuzz/run 120
	cargo test $(CI_BUILD) -p report --test report -- --ignored
	PRODUCT=$(VENV)/bin/loadline $(TESTS_PY) -m pytest tests -q -m proof

# Builds changed crates and runs the tests in T: `make dev T=tests/artillery`
dev: $(TESTS)/ready web/dist/report.html
	cargo build $(CI_BUILD) --bin loadline --test seeds
	ln -sf $(CURDIR)/target/ci/loadline $(TESTS)/bin/loadline
	$(TESTS_PY) -m pytest -q -n 4 -m 'not long and not proof' $(T)

# Debian packages venv separately. As root, missing packages are installed.
$(VENV)/ready:
	if ! python3 -c 'import ensurepip' 2>/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update && apt-get install -y --no-install-recommends python3-venv; fi
	python3 -m venv $(VENV)
	touch $@

# The test environment: pytest, Locust, and the package as installed, with links to its sources.
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

bench-llm: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	test -x target/llm-clients/bin/python || python3 -m venv target/llm-clients
	target/llm-clients/bin/pip install --quiet --disable-pip-version-check aiohttp httpx
	python3 bench/llm.py target/llm-clients/bin/python

bench-tls: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/tls.py

bench-h2: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/http2.py

bench-ws: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/websocket.py

# The package as shipped, and Locust, in one environment.
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

# No install scripts run: artillery's browser is not needed.
bench-artillery: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	npm install --prefix bench/node --no-save --no-package-lock --ignore-scripts --no-audit --no-fund artillery@2.0.21
	python3 bench/artillery.py

bench-js: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	npm install --prefix bench/node --no-save --no-package-lock --ignore-scripts --no-audit --no-fund artillery@2.0.21
	python3 bench/artillery_js.py

bench-k6: web/dist/report.html
	cargo build --profile dist --locked -p loadline
	python3 bench/k6.py

clean:
	cargo clean
	rm -rf $(VENV) $(TESTS) web/node_modules web/dist web/test-results

.PHONY: help lint build python wheel dist wheel-dist web docs demo test test-long tests-build tests-cargo test-rust test-commands test-cases wheel-under-test dev bench bench-wrk bench-tls bench-h2 bench-ws bench-artillery bench-js bench-k6 bench-llm bench-locust bench-mqtt bench-report bench-sampling bench-cluster bench-stop bench-saturation clean
