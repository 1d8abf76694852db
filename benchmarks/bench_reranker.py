"""Choosing one of 16 candidates with 5 scorers: `luthier.Reranker` beside a bare NumPy product.

The NumPy product is `int(np.argmax(array @ weights))`: no names, no checks, and a sum in whatever order BLAS has. Each
figure is the least mean of a thousand calls. The last table has whole processes that load a file of weights and choose
once.
"""

import json
import resource
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

import numpy as np

import luthier
from bench_common import parse_arguments, show

NAMES = ["lm", "kiwi", "length", "repeated", "logprob"]
LIMITS = {"dictionaries": 30.0, "array": 10.0}  # microseconds
SERVICE = f"import luthier; luthier.Reranker.load('w.json').best([{dict.fromkeys(NAMES, 1.0)}] * 16)"
WITH_NUMPY = (
    "import json, numpy as np; w = json.load(open('w.json')); np.argmax(np.ones((16, 5)) @ np.array(list(w.values())))"
)


def microseconds(function):
    """Return the least mean of repeated runs of a thousand calls."""
    return 1e3 * min(timeit.repeat(function, number=1000, repeat=15))


def cpu_of(code, folder):
    """Return the least CPU seconds of a process that runs some code."""
    least = float("inf")
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def main():
    """Print the tables."""
    seed = parse_arguments(__doc__).seed
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(16, 5))
    weights = rng.normal(size=5)
    named = dict(zip(NAMES, weights.tolist(), strict=True))
    dicts = [dict(zip(NAMES, row, strict=True)) for row in array.tolist()]
    plain, derived = (
        luthier.Reranker(named),
        luthier.Reranker({**named, "lp": 1.0}, derived={"lp": "logprob/max(length, 1)**0.6"}),
    )
    calls = {
        "bare NumPy product of an array": lambda: int(np.argmax(array @ weights)),
        "array": lambda: plain.best(array),
        "dictionaries": lambda: plain.best(dicts),
        "dictionaries, a feature by a formula": lambda: derived.best(dicts),
        "dictionaries, all ranked": lambda: plain.rank(dicts),
    }
    assert plain.best(dicts) == plain.best(array) == int(np.argmax(array @ weights))
    found = {name: microseconds(call) for name, call in calls.items()}
    bare = next(iter(found.values()))
    rows = [(name, f"{value:.1f}", f"{value / bare:.1f}") for name, value in found.items()]
    show("16 candidates × 5 scorers", ("input", "µs", "× NumPy"), rows)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "w.json").write_text(json.dumps(named))
        codes = {"python": "pass", "Reranker": SERVICE, "NumPy": WITH_NUMPY}
        seconds = {name: cpu_of(code, folder) for name, code in codes.items()}
    show("from nothing to the first choice", ("process", "CPU ms"), [(n, f"{1e3 * s:.0f}") for n, s in seconds.items()])
    for name, limit in LIMITS.items():
        if found[name] > limit:
            sys.exit(f"{name}: {found[name]:.1f} µs, more than {limit:.0f}")


if __name__ == "__main__":
    main()
