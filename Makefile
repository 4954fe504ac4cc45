# Everything runs in .venv, which is made on first use. PYTHON picks the interpreter.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(shell find core -name '*.hpp' -o -name '*.cpp')
SOURCES := $(CORE) CMakeLists.txt pyproject.toml

.PHONY: demo test lint bench native exact claims sanitize reference torch format stubs clean
.DELETE_ON_ERROR:

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest $(PYTEST)

# The core again, with the address and undefined-behaviour sanitizers, under the tests that reach into it; and
# with registers four times as wide, so that the golden bits show that the width changes none.
# Python runs without site (-S), whose finder for the editable install would come before PYTHONPATH;
# tests/core/conftest.py looks whether it is the sanitized core that was loaded.
sanitize: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/sanitized --upgrade \
	    --config-settings=cmake.define.TREECV_SANITIZE=ON --config-settings=cmake.define.TREECV_BASELINE_REGISTER_BYTES=64 --config-settings=install.strip=false \
	    --config-settings=build-dir=build/sanitize .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so.6)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 TREECV_SANITIZED=build/sanitized \
	    PYTHONPATH="build/sanitized:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	    $(BIN)/python -S -m pytest tests/core tests/test_golden.py -p no:cacheprovider --capture=sys $(PYTEST)

# The torch adapters, with torch's CPU build of this version; it is too large for everybody's virtual environment.
torch: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0" "skorch>=1.0"
	$(BIN)/python -m pytest tests/adapters/test_torch.py src/treecv/estimators/torch.py $(PYTEST)

# The laws and the golden bits with Python's reference arithmetic in place of the core.
reference: .venv/installed
	TREECV_IMPLEMENTATION=python $(BIN)/python -m pytest tests/test_learners.py tests/test_tree.py \
	    tests/test_strategies.py tests/test_order.py tests/test_golden.py $(PYTEST)

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(CORE)

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CORE)

# BENCH and CLAIMS take the options of these commands; `--results DIR` keeps a trial away from the stored results.
bench: .venv/installed
	$(BIN)/python -m benchmarks.guards $(BENCH)

# Limits of the core's own learners, beside scikit-learn's estimators; takes the options of `bench`.
native: .venv/installed
	$(BIN)/python -m benchmarks.native $(BENCH)

# Exact shortcuts beside what scikit-learn takes, one family after another; stores nothing.
exact: .venv/installed
	for family in naive_bayes linear neighbours discriminants; do \
	    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.exact.$$family $(BENCH) || exit 1; done

claims: .venv/installed
	$(BIN)/python -m benchmarks.claims.table $(CLAIMS)
	$(BIN)/python -m benchmarks.claims.figure $(CLAIMS)

# An editable install: Python files are read from src, a change in the core builds it anew.
.venv/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,lint,plots]"
	touch $@

clean:
	rm -rf .venv build demo.png

# The stub of the baseline, which the other levels share; a test compares it with every module.
stubs: .venv/installed
	$(BIN)/python -m nanobind.stubgen -q -m treecv._core_v1 -o src/treecv/_core_v1.pyi
