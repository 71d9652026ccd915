# SchedViz. `make` lists what there is to do.

VENV ?= .venv
PYTHON ?=
PORT ?=
PYTEST_ARGS ?=
BIN := $(VENV)/bin
export VENV PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo test check fix bench install

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## start everything embedded with a scenario and print the URL (PORT= chooses the port)
	@sh .ci/venv requirements.txt
	@exec $(BIN)/python manage.py up $(if $(PORT),--port $(PORT))

test: ## run the whole test suite (PYTEST_ARGS= adds arguments)
	@sh .ci/venv tests/requirements.txt
	@sh .ci/chromium
	@exec $(BIN)/python -m pytest $(PYTEST_ARGS)

check: ## format, lint, import contracts, types, migrations, settings, templates
	@sh .ci/venv tests/requirements.txt
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check --fail-level WARNING
	SCHEDVIZ_ALLOWED_HOSTS=example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

fix: ## format and mend what can be mended by itself
	@sh .ci/venv tests/requirements.txt
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: ## measure against the goals: prints a table, writes build/bench.json
	@sh .ci/venv tests/requirements.txt
	@sh .ci/chromium
	@exec $(BIN)/python -m tests.bench

install: ## make $(VENV) and install what the product runs on
	@sh .ci/venv requirements.txt
