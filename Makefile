# `make` lists what there is. Every target makes .venv first if need be (bin/setup, with the dev extra).
.DEFAULT_GOAL := help
SHELL := /bin/sh

export FAULTLINE_HOME := $(CURDIR)
export PYSPARK_PYTHON := $(CURDIR)/.venv/bin/python

PYTHON := .venv/bin/python
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder
LOCK_ARGS ?=
RECORDER := integrations/recorder/target/faultline-recorder.jar
FUZZ_ARGS ?=
LAB_ARGS ?=
BENCH_ARGS ?=
MUTANTS_ARGS ?=
EXECUTOR_PYTHON ?=
SAMPLE := dist/sample-night
MKDOCS := NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build
LOCK := .venv/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --quiet

.PHONY: help setup browser recorder test test-recorder test-collector test-stores test-dashboards test-wheel lab test-quick test-all durations faults fuzz mutants check lint types statements format docs docs-check site site-check licences supply-check bench bench-night bench-recorder package sbom executor-env lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

setup: ## .venv with everything for tests and checks
	@FAULTLINE_EXTRAS=dev bin/setup

browser: setup ## a Chromium for the tests of the page: the one on PATH, else Debian's (as root) or playwright's
	@bin/browser

recorder: $(RECORDER) ## the recorder's jar for producers, built with Maven; what is built already stays
$(RECORDER): $(shell find integrations/recorder/src/main integrations/recorder/pom.xml -type f)
	@bin/recorder

test: check browser recorder ## every check, then every test not marked slow; two JVMs at once; PYTEST_ARGS='-k midnight' narrows
	@$(PYTHON) -m pytest $(PYTEST_ARGS)

test-recorder: setup recorder ## the recorder, as an agent and as a library, with each client release from 4.3.0 to 5.5.0, also against real servers of 4.9.7 and 5.3.3; half an hour, and Maven
	@FAULTLINE_CLIENTS='4.3.0 4.5.2 4.7.1 4.9.4 4.9.8 5.1.0 5.1.4 5.2.0 5.3.3 5.4.0 5.5.0' \
	  $(PYTHON) -m pytest tests/recorder/test_agent.py tests/recorder/test_decisions.py tests/recorder/test_real_brokers.py -m "" $(PYTEST_ARGS)

test-collector: setup ## the collector with real name servers and brokers, 4.9.7 and 5.3.3, with ACL and TLS too; ten minutes, and Maven
	@$(PYTHON) -m pytest tests/collector -m "" $(PYTEST_ARGS)

test-stores: setup ## lakes on a real S3 server and on HDFS, a cluster whose parts are killed, and YARN; 45 to 90 minutes, 750 MB of jars once, and Go
	@$(PYTHON) -m pytest tests/stores -m "" $(PYTEST_ARGS)

test-dashboards: setup browser ## the dashboards in a real Superset and a real Chromium; five to eight minutes, and 700 MB of packages once
	@$(PYTHON) -m pytest tests/dashboards -m "" $(PYTEST_ARGS)

test-wheel: setup ## the built wheel in an environment of its own, by pip: demo, show, report and export; five minutes and a gigabyte of packages
	@$(PYTHON) -m pytest tests/test_package.py -m slow $(PYTEST_ARGS)

lab: setup recorder ## a live night on loopback from a seed: servers, applications, deeds, both flows, and what they miss or invent; LAB_ARGS='--seed 7 --minutes 6 --keep DIR'; a quarter of an hour, and Maven
	@$(PYTHON) -m tests.lab $(LAB_ARGS)

test-quick: setup browser ## the tests without Spark, in seconds
	@$(PYTHON) -m pytest tests/plain tests/answers tests/test_architecture.py tests/test_package.py $(PYTEST_ARGS)

test-all: check browser recorder ## every check, then every test, the slow ones too, and the figure of `make faults`; an hour and more
	@$(PYTHON) -m pytest -m "" $(PYTEST_ARGS)

durations: setup browser recorder ## what `make test` runs, and which files took long written into tests/durations.toml: these begin first
	@$(PYTHON) -m pytest --record-durations $(PYTEST_ARGS)

faults: check browser recorder ## inject every fault of docs/faults.md, the slow ones too, and count how many were survived
	@$(PYTHON) -m pytest -m fault $(PYTEST_ARGS)

fuzz: setup ## bad input of every kind from seeds, ten minutes of it; FUZZ_ARGS='--minutes 60', '--seed 7 --rounds 1 --only csv'
	@$(PYTHON) -m tests.fuzz $(FUZZ_ARGS)

mutants: setup ## mutmut over plain Python: changes that no test notices; a quarter of an hour; MUTANTS_ARGS='udfs.moves.*'
	@PYTHONPATH= .venv/bin/mutmut run $(MUTANTS_ARGS)
	@PYTHONPATH= .venv/bin/mutmut results | grep -v ': not checked$$' || true

check: lint types statements docs-check site-check supply-check ## everything but the tests

lint: setup ## ruff's rules and the formatting
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check

types: setup ## mypy, strict
	@$(PYTHON) -m mypy

statements: setup ## fail when jobs/ and udfs/ have more statements than the budget in bin/statements.py
	@$(PYTHON) bin/statements.py --check

format: setup ## fix what ruff can fix
	@$(PYTHON) -m ruff check --fix
	@$(PYTHON) -m ruff format

docs: setup ## regenerate the generated pages
	@$(PYTHON) bin/tables_page.py
	@$(PYTHON) bin/kinds.py

docs-check: setup ## fail when a generated page is stale
	@$(PYTHON) bin/tables_page.py --check
	@$(PYTHON) bin/kinds.py --check

site: setup $(SAMPLE)/page.html ## the documentation as a site in site/, with search and the page of the sample night; two minutes once, then seconds
	@$(MKDOCS)

site-check: setup ## fail when a link, an anchor or a picture of the docs leads nowhere; seconds, without the sample night
	@$(MKDOCS) --site-dir .faultline/site-check

$(SAMPLE)/page.html: $(SAMPLE)/lake $(shell find jobs/answers -type f -not -name '*.pyc')
	@bin/faultline report --lake $(SAMPLE)/lake --output $@

$(SAMPLE)/lake: conf/local.toml $(shell find data_samples jobs/tables -type f -not -name '*.pyc') | setup
	@rm -rf $@ $@.part
	@bin/faultline nightly --settings conf/local.toml --lake $@.part
	@mv $@.part $@ && touch $@

licences: setup ## write docs/licences.md again
	@$(PYTHON) bin/licences.py

supply-check: setup ## fail when a lock does not fit pyproject.toml, a hash is missing, or a licence is new or not allowed
	@$(PYTHON) bin/locks.py
	@$(PYTHON) bin/licences.py --check

bench: setup ## figures of scale against a plain loop over the real Java classes (bench/README.md); about a quarter of an hour
	@$(PYTHON) -m bench.allocation

bench-night: setup ## a night of send attempts beside DuckDB, Polars and plain Spark; BENCH_ARGS='--sends 2400000'; more in bench/README.md
	@$(PYTHON) -m bench.night $(BENCH_ARGS)

bench-recorder: recorder ## cost of the recorder per send (JMH), and its highest rate; two minutes, and Maven
	@cd bench/recorder && mvn -q -B package exec:exec

# The time of what is built is that of its commit: the same commit gives the same bytes.
package sbom: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1580601600)

package: setup ## dist/faultline-<version>-py3-none-any.whl, and the same file as .zip for spark-submit --py-files
	@rm -f dist/faultline-*
	@$(PYTHON) -m hatchling build -t wheel
	@for wheel in dist/*.whl; do cp "$$wheel" "$${wheel%-py3-none-any.whl}.zip"; done
	@ls dist

sbom: setup ## dist/faultline-<version>.cdx.json: what a run uses, with hashes and licences (CycloneDX)
	@$(PYTHON) -m bin.sbom

executor-env: setup ## dist/executor-env.tar.gz for spark-submit --archives: what executors import; EXECUTOR_PYTHON=/usr/bin/python3.11 on them, if not at this one's path
	@$(PYTHON) bin/executor_env.py $(EXECUTOR_PYTHON)

lock: setup ## follow the pins of pyproject.toml in requirements*.lock, with hashes; what still fits stays (LOCK_ARGS=--upgrade raises all)
	@$(LOCK) $(LOCK_ARGS) --extra build --extra report --output-file requirements.lock
	@$(LOCK) $(LOCK_ARGS) --extra dev --output-file requirements-dev.lock

clean: ## remove what builds, tests and runs left behind; .venv and the Delta jars stay
	@rm -rf dist build site mutants spark-warehouse metastore_db derby.log .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
