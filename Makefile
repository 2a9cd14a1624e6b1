# `make` lists the targets. Each sets up what it needs, once (scripts/setup.sh: .venv, locked packages).
.DEFAULT_GOAL := help
.PHONY: help setup train eval test check lint types rules tasks bench docs screenshots gpu-check lock clean distclean

TASK ?= gsm8k
BIN := .venv/bin
SETUP := @scripts/setup.sh --quiet

help: ## list the targets
	@echo 'reasongym: make TARGET [VARIABLE=value ...]'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install everything into .venv, once (2-4 minutes, 6 GB)
	@scripts/setup.sh

train: ## train: TASK=gsm8k STEPS=3 RECIPE=name ARGS="--set trainer.learning_rate=1e-5"
	$(SETUP)
	$(BIN)/reasongym train --task $(TASK) $(if $(RECIPE),--recipe $(RECIPE)) $(if $(STEPS),--steps $(STEPS)) $(ARGS)

eval: ## evaluate: TASK=gsm8k MODEL=folder ARGS="--samples 4"
	$(SETUP)
	$(BIN)/reasongym eval --task $(TASK) $(if $(MODEL),--model $(MODEL)) $(ARGS)

test: ## the whole test suite: ARGS="-k gsm8k" for a part
	$(SETUP)
	@scripts/docker_engine.sh install
	@scripts/postgres.sh install
	@scripts/browser.sh install
	$(BIN)/python -m pytest $(ARGS)

check: lint types rules tasks ## what must hold before a commit: ruff, strict types, import rules, all tasks checked

lint:
	$(SETUP)
	$(BIN)/ruff check .

types:
	$(SETUP)
	$(BIN)/mypy
	$(BIN)/mypy scripts

rules:
	$(SETUP)
	$(BIN)/python -m pytest -q tests/test_import_rules.py

tasks:
	$(SETUP)
	$(BIN)/reasongym check --rows 2

bench: ## the benchmarks of benchmarks/: ARGS=names
	$(SETUP)
	$(BIN)/python -m benchmarks $(ARGS)

docs: ## build the documentation into build/site
	$(SETUP)
	$(BIN)/python -m pip install --quiet mkdocs mkdocs-material
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

screenshots: ## the pictures of docs/pictures, made anew
	$(SETUP)
	@scripts/browser.sh install
	$(BIN)/python scripts/screenshots.py

gpu-check: ## on a machine with a CUDA device: a short run there, with its figures
	$(SETUP)
	$(BIN)/python scripts/gpu_check.py $(ARGS)

lock: ## write requirements/cpu.lock anew from what .venv holds
	$(BIN)/python scripts/lock.py > requirements/cpu.lock.new
	mv requirements/cpu.lock.new requirements/cpu.lock

clean: ## remove caches and builds; .venv and runs stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## remove .venv and .cache as well
	mkdir -p .cache && flock .cache/setup.lock rm -rf .venv
	rm -rf .cache
