# Everything runs in .venv, which any target makes when it is missing or out of date.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TRAINER := $(VENV)/trainer
STAMP := $(VENV)/installed
TRAINING_KERNELS := $(VENV)/training-kernels
KERNELS := $(VENV)/kernels
KERNEL_FILES := $(wildcard dagsched_env/kernels/jit.py dagsched_env/kernels/indexing.py) \
	$(shell grep -rlE '^@(kernel|borrowing|embedded|inlined)' dagsched_env aerl_trainer --include='*.py')

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# pip would make it on one core, and that of other projects' tests, too. One file of torch is for a newer Python.
BYTECODE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/'
TRAINING := trainer,plot,exact,formats,compare,workflows,jobshop
OTHERS := llvm,ray,tsp,human,tools,docs,dev

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install train test bounds baseline bench docs lint type imports check clean

CHECKED := $(addprefix tests/,env/schedulers env/solver env/environment env/problem/test_simulator.py \
	env/kernels/test_resources.py env/kernels/test_blocks.py env/problem/test_destructive.py \
	trainer/policy trainer/learning trainer/tree)
SPREAD := -n auto --maxprocesses 4 --dist loadscope
BENCHES := env schedulers search fixed_prefix

TRAIN_FLAGS := \
	$(if $(RUN),--run-dir 'runs/$(RUN)') \
	$(if $(MINUTES),--minutes '$(MINUTES)') \
	$(if $(ACTORS),--actors '$(ACTORS)') \
	$(if $(SEED),--seed '$(SEED)') \
	$(if $(INSTANCES),--instances $(foreach spec,$(INSTANCES),'$(spec)')) \
	$(if $(CONFIG),--config '$(CONFIG)') \
	$(if $(filter 1 yes true,$(RESUME)),--resume)

help: ## list the targets
	@echo 'usage: make TARGET [NAME=VALUE ...]'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r target text; do printf '  %-10s %s\n' "$$target" "$$text"; done
	@echo
	@echo 'for example: make train MINUTES=60 RUN=long; make train RUN=long RESUME=1'

install: $(STAMP) $(KERNELS) ## make .venv with everything that constraints.txt pins, and compile the kernels

$(TRAINER): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'make: Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@echo 'installing into $(VENV); PyTorch alone is some 200 MB, several times that with CUDA'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e '.[$(TRAINING)]'
	@$(BYTECODE) $(VENV)/lib || :
	@touch $@

# What `make train` can do without, so that the first training begins sooner.
$(STAMP): $(TRAINER)
	@echo 'installing what tests, documentation and the other examples need'
	@$(INSTALL) -e '.[$(TRAINING),$(OTHERS)]'
	@$(BYTECODE) $(VENV)/lib || :
	@touch $@

$(TRAINING_KERNELS): $(TRAINER) $(KERNEL_FILES)
	@echo 'compiling the numeric kernels of a training'
	@$(BIN)/aerl warm-up --training
	@touch $@

$(KERNELS): $(TRAINER) $(KERNEL_FILES)
	@echo 'compiling the numeric kernels'
	@$(BIN)/aerl warm-up
	@touch $(TRAINING_KERNELS) $@

train: $(TRAINING_KERNELS) ## train AERL-DS: MINUTES, RUN (name under runs/), INSTANCES, ACTORS, SEED, CONFIG, RESUME=1
	@$(BIN)/aerl train $(TRAIN_FLAGS)

# The tests of a file stay together: they share fixtures that train. The slowest files begin, see
# tests/conftest.py; pytest-xdist would begin with those of the most tests.
# They start hundreds of processes, which may not write bytecode (PYTHONDONTWRITEBYTECODE).
test: $(STAMP) $(KERNELS) ## run all tests, on up to four cores
	@$(BYTECODE) dagsched_env aerl_trainer
	@$(BIN)/python -m pytest $(SPREAD) --no-loadscope-reorder

# A kernel with an index outside its array reads or writes some other memory, in silence.
bounds: $(STAMP) ## run the tests of the kernels with every index checked
	@rm -rf $(VENV)/bounds
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR='$(CURDIR)/$(VENV)/bounds' $(BIN)/python -m pytest \
		$(SPREAD) -m 'not slow' $(CHECKED)

baseline: $(KERNELS) ## train MaskablePPO on graphs like those of the suite heldout: MINUTES
	@$(BIN)/python -m aerl_trainer.baselines.maskable_ppo $(if $(MINUTES),--minutes '$(MINUTES)')

# The results of each state of the code have a file of their own, from which a second call goes on.
bench: $(STAMP) $(KERNELS) ## measure speed and quality, then compare all solvers at equal wall time (quick)
	@set -e; for name in $(BENCHES); do \
		echo "benchmarks/$$name.py"; $(BIN)/python "benchmarks/$$name.py"; done
	@mkdir -p runs/bench; echo 'benchmarks/solvers.py --quick'; $(BIN)/python benchmarks/solvers.py --quick \
		--json "runs/bench/solvers-$$(git describe --always)-$$(git diff HEAD | git hash-object --stdin).json" \
		--csv runs/bench/solvers.csv \
		--picture runs/bench/profiles.png --curve runs/bench/curve.png

# Not --quiet: it hides the warnings from --strict, too.
docs: $(STAMP) ## build the documentation into site/, strictly and without network (MkDocs)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'documentation: site/index.html'

lint: $(STAMP) ## check style and formatting (ruff)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

type: $(STAMP) ## check types (mypy, strict)
	@$(BIN)/mypy

imports: $(STAMP) ## check the import order of the packages (import-linter)
	@$(BIN)/lint-imports --no-logo

check: lint type imports ## lint, type and imports together

clean: ## remove caches and build products; .venv and runs/ stay
	@rm -rf build dist site *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache \
		.import_linter_cache
	@find . -path ./$(VENV) -prune -o -name __pycache__ -prune -exec rm -rf {} +
	@rm -f $(TRAINER) $(STAMP) $(TRAINING_KERNELS) $(KERNELS)
