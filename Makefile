# Needs python3 (3.11 or later, with venv) and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test hunt check lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "larspark needs Python 3.11 or later; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "installing into .venv: about 700 MB from PyPI (PySpark is 455 MB), some minutes the first time"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP)
	$(BIN)/python examples/flights/run.py

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The same tests on new random examples, and many more of them: hours, not minutes.
hunt: $(STAMP)
	LARSPARK_SEED=$${LARSPARK_SEED:-$$(date +%s)} LARSPARK_PAIRS=200000 LARSPARK_EXAMPLES=20000 \
		LARSPARK_SEEDS=$${LARSPARK_SEEDS:-50000} LARSPARK_MUTATIONS=$${LARSPARK_MUTATIONS:-1000000} \
		$(BIN)/python -m pytest -n auto --dist loadgroup --hypothesis-profile=default

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Writes requirements.lock anew from pyproject.toml (needs uv).
lock:
	uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements.lock

clean:
	rm -rf .venv
