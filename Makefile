# All tasks of this project, for a machine with Python 3.11 to 3.14 and make.
# .venv is created with the standard venv and pip, or with uv, which is faster, if it is on the PATH.

PYTHON ?= python3
PORT ?= 8000
# One more than the number of processors, because some tests wait.
PROCESSORS := $(shell nproc 2>/dev/null || echo 2)
AT_ONCE = $(shell echo $$(($(PROCESSORS) + 1)))
test: AT_ONCE = $(PROCESSORS)
ARGS ?=
SECONDS ?= 5
STEPS ?= 20000
SEED := $(or $(SEED),$(shell date +%s))

PY := .venv/bin/python
PYTEST = $(PY) -m pytest -n $(or $(WORKERS),$(AT_ONCE)) --dist worksteal $(ARGS)
# Failed tests run once more, in new processes: other programs run at the same time, and midnight passes.
twice = $(1) || $(1) --last-failed --last-failed-no-failures=none
# A browser and Django's database layer do not work together in one process.
NO_BROWSER := --ignore=tests/browser
MANAGE := $(PY) manage.py
UV := $(or $(shell command -v uv 2>/dev/null),.venv/bin/uv)
COMPILE = $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' --no-emit-package editor-client pyproject.toml

# If npm is installed, the tests cover the npm client, the types generated for TypeScript, and whether the prompt
# editor in the repository matches its sources.
NPM := $(shell command -v npm 2>/dev/null)
NPM_LOCKS := $(wildcard tests/api/*/package-lock.json) studio/frontend/package-lock.json
NPM_PACKAGES := $(and $(NPM),$(NPM_LOCKS:package-lock.json=node_modules/.installed))

.DELETE_ON_ERROR:
.PHONY: help run tools test test-processes test-postgres simulate test-browser test-promptfoo test-image screenshots icons api-reference client prompt-editor audit bench check format lock migrations translations clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo '  PORT=8000 is the port of `run`; ARGS="-k publish" is passed to pytest; WORKERS=2 is the number of test processes;'
	@echo '  SECONDS=5 is the time for each load of `bench`.'

run: .venv/.server var/secret_key ## Install, migrate, load the demo once and serve it
	@export SECRET_KEY="$${SECRET_KEY:-$$(cat var/secret_key)}"; \
	echo 'Migrating the database'; \
	$(MANAGE) migrate --verbosity 0 \
	&& echo 'Loading the demo' \
	&& $(MANAGE) demo --address http://127.0.0.1:$(PORT) --key-file var/demo_key \
	&& echo 'Serving on http://127.0.0.1:$(PORT) until Ctrl-C' \
	&& exec $(MANAGE) serve --bind 127.0.0.1:$(PORT)

tools: .venv/.dev $(NPM_PACKAGES) ## Install the requirements of the tests only

test: .venv/.dev ## Run the tests that start no server, worker or command, on SQLite
	$(call twice,env -u DATABASE_URL $(PYTEST) $(NO_BROWSER) -m 'not processes')

# None of these uses Hypothesis, which would read all sources for constants.
test-processes: .venv/.dev $(NPM_PACKAGES) ## Run the tests with servers, workers and commands, on SQLite
	$(call twice,env -u DATABASE_URL $(PYTEST) $(NO_BROWSER) -p no:hypothesispytest -m processes)

test-postgres: .venv/.dev $(NPM_PACKAGES) ## Run the tests that depend on the database, on a new PostgreSQL
	$(call twice,$(PY) -m tests.support.postgres -- $(PYTEST) $(NO_BROWSER))

simulate: .venv/.dev ## Compare the editor with an oracle, step by step: STEPS=100000 SEED=1
	env -u DATABASE_URL $(PY) -m pytest -q -s tests/simulation --steps=$(STEPS) --hypothesis-seed=$(SEED)

test-browser: .venv/.dev ## Test the studio in Debian's Chromium
	$(call twice,env -u DATABASE_URL $(PYTEST) tests/browser)

# It is too large for the suite: half a gigabyte, with its Node.
PROMPTFOO := build/promptfoo/node_modules/.installed
test-promptfoo: .venv/.dev $(PROMPTFOO) ## Read our exports with promptfoo (needs npm)
	env -u DATABASE_URL $(PY) -m pytest -q tests/importing/promptfoo_itself.py

test-image: .venv/.dev ## Build the image, and run the manifests' processes from it (as root)
	deploy/test-image.sh

screenshots: .venv/.dev ## Redraw the main pages of the studio into docs/screenshots
	env -u DATABASE_URL $(PY) -m pytest -q tests/browser/screenshots.py

api-reference: .venv/.dev ## Regenerate docs/reference/api-reference.md from the service
	env -u DATABASE_URL PYTEST_RECORD_EXAMPLES=1 $(PY) -m pytest -q tests/api/test_openapi_examples.py
	$(PY) -m tests.support.api_reference

client: .venv/.dev ## Regenerate the client's results and arguments from the OpenAPI document
	$(PY) -m tests.support.client_shapes

prompt-editor: studio/frontend/node_modules/.installed ## Rebuild the prompt editor in studio/static (needs npm)
	cd studio/frontend && npm run --silent build

check: .venv/.dev ## Check lint, types, import layers, migrations, generated files and docs
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) check
	$(PY) -m tests.support.client_shapes --check
	$(PY) -m tests.support.docs_lint

# It requests a report about every package, so it is not part of `check`.
audit: .venv/.dev $(UV) ## List known vulnerabilities of the locked packages, if reports are available
	@$(UV) tool run --quiet --from 'pip-audit~=2.10' pip-audit --disable-pip --no-deps --progress-spinner off \
		--format json -r requirements-dev.txt | $(PY) -m tests.support.audit

bench: .venv/.dev ## Measure the real server, for the figures of docs/reference/benchmarks.md (needs wrk, PostgreSQL)
	@command -v wrk >/dev/null || { echo 'wrk is missing; on Debian: apt-get install wrk'; exit 1; }
	$(PY) -m benchmarks $(SECONDS)

format: .venv/.dev ## Apply the fixes of ruff
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

# The tools' file comes first, so that the server runs with the tested versions.
lock: $(UV) ## Lock the newest allowed versions
	$(COMPILE) --extra dev --extra sso --extra otel --output-file requirements-dev.txt
	$(COMPILE) --extra sso --extra otel --constraint requirements-dev.txt --output-file requirements.txt

# It needs the programs of gettext: on Debian, apt-get install gettext.
translations: .venv/.dev ## Collect the texts of the studio for translators, and compile the translations
	$(PY) -m tests.support.translations

# Run it once after adding a name to fonts/icons.txt, and commit the font. It needs npm, for the complete font.
ICONS := studio/static/studio/fonts
SYMBOLS := @fontsource/material-symbols-outlined
icons: $(UV) ## Cut the icon font to the names in fonts/icons.txt
	npm install --silent --no-save --prefix build/icons $(SYMBOLS)@5.3.8
	$(UV) tool run --from 'fonttools[woff]' pyftsubset \
		build/icons/node_modules/$(SYMBOLS)/files/material-symbols-outlined-latin-400-normal.woff2 \
		--text=abcdefghijklmnopqrstuvwxyz_0123456789 --glyphs="$$(paste -sd, $(ICONS)/icons.txt)" \
		--no-layout-closure --layout-features=rlig --no-hinting --drop-tables+=FFTM --flavor=woff2 --output-file=$(ICONS)/icons.woff2

$(PROMPTFOO):
	npm install --silent --no-save --omit=optional --prefix build/promptfoo promptfoo@0.123.1 \
		node-$$(node -p 'process.platform + "-" + process.arch')@22.23.5 \
		@libsql/$$(node -p 'process.platform + "-" + process.arch + (process.platform === "linux" ? "-gnu" : "")')@0.5.29
	@touch $@

migrations: .venv/.dev ## Write missing migrations
	$(MANAGE) makemigrations
	.venv/bin/ruff format --quiet */migrations */*/migrations

clean: ## Remove generated files; the data in var/ stays
	rm -rf .venv build client/build *.egg-info client/*.egg-info .*_cache .hypothesis tests/api/*/node_modules studio/frontend/node_modules
	find . -name __pycache__ -prune -exec rm -rf {} +

# Nothing here needs a real secret or a database on disk; files are in UTF-8 in any locale.
test test-processes test-postgres test-browser test-promptfoo screenshots api-reference bench check migrations translations: export SECRET_KEY = test
test test-processes test-postgres test-browser test-promptfoo screenshots api-reference bench check: export PYTHONUTF8 = 1
check migrations: export DATABASE_URL = sqlite://:memory:

var/secret_key:
	@mkdir -p -m 700 var
	@umask 077; $(PYTHON) -c 'import secrets; print(secrets.token_urlsafe(50))' > $@

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15) and \
		"Python 3.11 to 3.14 is needed; name one with: make PYTHON=python3.11")'
	@echo 'Making .venv with $(PYTHON)'
	@$(PYTHON) -m venv .venv
	@touch $@

# The client is a separate distribution. Python finds it in its folder, as if it were installed editable, without a
# build. The path is relative, so that the checkout can be moved or linked.
.venv/.client: | .venv/.made
	@$(PY) -c 'import os, pathlib, sysconfig; packages = pathlib.Path(sysconfig.get_path("purelib")); \
		(packages / "editor-client.pth").write_text(os.path.relpath("client", packages) + "\n")'
	@touch $@

# Progress is shown on terminals only.
QUIET := $(shell test -t 2 || echo --quiet)
# uv does not read pip's configuration, so pip may succeed if uv fails.
install = @echo 'Installing $(1) into .venv: this takes a while the first time'; \
	{ command -v $(UV) >/dev/null && $(UV) pip install $(QUIET) --python $(PY) --require-hashes -r $(1); } \
	|| $(PY) -m pip install $(QUIET) --disable-pip-version-check --require-hashes -r $(1)

.venv/.server: requirements.txt | .venv/.made .venv/.client
	$(call install,$<)
	@touch $@

# The tools include all requirements of the server, so `run` installs nothing more.
.venv/.dev: requirements-dev.txt | .venv/.made .venv/.client
	$(call install,$<)
	@touch $@ .venv/.server

.venv/bin/uv: | .venv/.made
	$(PY) -m pip install --quiet --disable-pip-version-check uv

# Without a registry, the tests of these installations are skipped.
%/node_modules/.installed: %/package-lock.json
	@cd $* && if npm ci --no-audit --no-fund --loglevel=error; then touch node_modules/.installed; else rm -rf node_modules; \
		echo 'npm ci failed, so the tests that need $* will be skipped.'; fi
