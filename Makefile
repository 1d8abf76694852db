# Two commands for a newcomer: `make demo` and `make test`. Each makes the virtual environment it needs.
# pip alone does; uv is used where it is installed.

# `make test PYTHON=python3.13` takes another Python, and has an environment of its own for it: .venv-3.13
ifneq ($(filter command environment,$(origin PYTHON)),)
VENV ?= .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
VENV ?= .venv
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v $$p && break; done)
UV := $(shell command -v uv 2>/dev/null)
BIN := $(VENV)/bin
DATA ?=
# processes that share the tests
WORKERS ?= 2
SHARED := -n $(WORKERS) --dist worksteal
# of the tests: that of the files, unless said otherwise
ORDER ?=
# mutants of `make fuzz`, and what they, `make soak` and the order of tests are drawn by
N ?= 20000
SEED ?= 0
BOUNDS := tests/corpus/test_vocab.py tests/corpus/test_texts.py tests/kbest/test_duplicates.py tests/kbest/test_derivations.py \
	tests/kbest/readers/test_jsonl.py tests/kbest/test_rerank.py tests/metrics/test_ter.py tests/geometry/test_envelope.py \
	tests/geometry/test_overlay.py tests/geometry/test_concurrent.py tests/tuning/test_line_search.py \
	tests/decoding/test_lazy_kbest.py tests/decoding/test_forest_lines.py tests/landscape/test_certified_boxes.py
TUNERS := $(foreach name,adagrad expected listwise mira mira_batch pairs penalties pro pro_all rampion svm,tests/tuning/test_$(name).py)

.PHONY: demo test browser test-jit test-plain test-bounds test-neural test-pythons test-newest fuzz soak lint bench docs dist clean

demo: $(VENV)/.base
	$(BIN)/luthier demo -o demo-out

test: test-jit test-plain test-bounds

# Install the browser in which the explorer's page is tried (Debian, as root), where there is none. Without one these
# tests are skipped, and say so. LUTHIER_BROWSER names another browser; with LUTHIER_BROWSER_NEEDED a skip is a failure.
browser:
	@{ test -n "$$LUTHIER_BROWSER" || command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
		&& command -v chromedriver >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& { apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1 \
		|| { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1; }; } \
		|| { echo "make: expected Debian and root to install chromium and chromium-driver, found others"; exit 1; }

# The whole suite, kernels compiled: each of them once, before the tests, which would else compile them side by side.
test-jit: $(VENV)/.test
	$(BIN)/luthier warm --jobs $(WORKERS) --quiet
	$(BIN)/python -m pytest -q $(SHARED) $(ORDER)
	$(BIN)/python -m pytest --doctest-modules src/luthier -q

# Kernels once more as plain Python: what the compiler hides (names that were never set, divisions by 0, bad indices)
# shows here. Of the tuners, those that have kernels of their own.
test-plain: $(VENV)/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(SHARED) -m "not slow and not compiled" tests/core tests/corpus tests/alignment tests/lm tests/grammar tests/kbest \
		tests/metrics tests/features tests/decoding tests/evaluation tests/geometry $(TUNERS)

# Compiled with a check of every index: kernels that go through the bytes of strangers or compute places by numbers that
# wrap around, and lists too large for plain Python, which notices bad indices too. The cache is its own: Numba keeps no
# compiled kernels with and without the check apart. Little optimised, they compile in less time.
test-bounds: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 NUMBA_CACHE_DIR=$(VENV)/bounds-cache $(BIN)/python -m pytest -q $(SHARED) -m "not slow" $(BOUNDS)

# The scorer of the extra `neural`, with torch, in an environment of its own: .venv-neural
test-neural:
	$(MAKE) VENV=.venv-neural .venv-neural/.neural
	.venv-neural/bin/python -m pytest -q -n 0 tests/scorers/test_causal_lm.py

# The compiled leg on every Python from 3.11 on that is found here, or on the newest if it is not the usual one: there the
# tests come in an order drawn by SEED (`make test-newest SEED=7` draws another).
test-pythons:
	sh .ci/pythons | while read -r version python; do echo "== Python $$version"; $(MAKE) test-jit PYTHON=$$python </dev/null || exit 1; done

test-newest: $(VENV)/bin/python
	set -- $$(sh .ci/pythons | tail -n 1) && { test -z "$$1" || $(BIN)/python -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$1')" \
		|| $(MAKE) test-jit PYTHON=$$2 ORDER="-p randomly --randomly-seed=$(SEED)"; }

# Damaged files of every kind, and mutated requests to explorers and a served model (docs/security.md): `make fuzz N=100000 SEED=7`.
fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz/fuzz.py $(N) --seed $(SEED) --geometry 2000
	$(BIN)/python tests/explorer/attack.py $(N)

# A cluster of this machine whose workers, scheduler and client are killed at random moments (docs/scale.md).
soak: $(VENV)/.test
	$(BIN)/python tests/soak/soak.py --workers 30 --schedulers 10 --clients 10 --seed $(SEED)

lint: $(VENV)/.lint
	$(BIN)/ruff check src tests benchmarks studies
	$(BIN)/ruff format --check src tests benchmarks studies
	$(BIN)/mypy

# Every benchmark; the table of docs/performance.md is made anew. `make bench DATA=folder` measures on real lists too (the
# page says what the folder holds). Kernels are compiled first, so that no figure has that in it.
bench: $(VENV)/.bench
	$(BIN)/luthier warm --jobs $(WORKERS) --quiet
	$(BIN)/python benchmarks/overview.py --write docs/performance.md
	for script in benchmarks/bench_*.py; do echo "== $$script, $$(date +%T)"; $(BIN)/python $$script $(if $(DATA),--data $(DATA)) || exit 1; done

# The site, in build/site: guides, the API of every public name, the notebooks run anew. A link that leads nowhere fails.
docs: $(VENV)/.docs
	$(BIN)/python .ci/site
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR)/src $(BIN)/mkdocs build

# Wheels, and a look at them as a user's pip would have them: from a clean environment, outside of this folder. The first is
# for all platforms. On Linux with x86-64 a second one, for this Python, brings the kernels compiled: the first compiles and
# packs them, which takes minutes, and a newcomer's commands then compile nothing.
PACKED := $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m))
dist: $(VENV)/.dist
	rm -rf dist build/wheel build/kernels
	$(BIN)/python -m build --quiet --outdir dist
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
ifneq ($(PACKED),)
	cd build && wheel/bin/luthier warm --pack kernels --jobs $(WORKERS)
	LUTHIER_PACK=$$(echo $(CURDIR)/build/kernels/*.kernels) $(BIN)/python -m build --quiet --wheel --outdir dist
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*-cp*.whl
endif
	$(BIN)/python -m twine check --strict dist/*
	cd build && wheel/bin/python -c "import luthier, pathlib; home = pathlib.Path(luthier.__file__).parent; \
		assert 'wheel' in str(home) and (home / 'py.typed').exists(), home; luthier.Pool; print(luthier.__version__, home)"
	.ci/newcomer build/wheel/bin/luthier $(if $(PACKED),packed)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "make: expected Python 3.11 or newer on the PATH, found none"; exit 1; }
ifdef UV
	uv venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

# install,GROUP,EXTRAS: the package in place, with what pyproject.toml says it needs; older pips know no groups
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
install = $(if $(UV),uv pip install --quiet --python $(BIN)/python,$(PIP) 'pip>=25.1' && $(PIP)) -e '.$(2)' $(if $(1),--group $(1))

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(call install,)
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(call install,test)
	@touch $@

$(VENV)/.neural: pyproject.toml | $(VENV)/bin/python
	$(call install,test,[neural])
	@touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)/bin/python
	$(call install,lint)
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(call install,bench)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(call install,docs)
	@touch $@

$(VENV)/.dist: pyproject.toml | $(VENV)/bin/python
	$(call install,dist)
	@touch $@

clean:
	rm -rf demo-out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests studies -name __pycache__ -type d -prune -exec rm -rf {} +
