"""What an everyday command costs before its work begins: CPU seconds of whole processes, beside importing Numba.

Each command runs a few times on a small pool with warm kernels; the least is printed, and its ratio to the least of
``python -c "import numba"`` in the same run: the seconds depend on the machine, the ratio hardly. Python keeps its own
compiled files, as it does for whoever installs the package.
"""

import os
import resource
import subprocess
import sys
import tempfile

from bench_common import parse_arguments, show

REPEATS = 10
# what every command on pools begins with
BARE = """
from luthier.core.start_up import as_command
with as_command():
    import luthier.core.jit, pyarrow, rich.console, rich.table
"""
LIMITS = {"rerank": 0.45, "score": 0.45, "inspect": 0.45, "tune mert": 0.8}


def cpu_of(words, folder):
    """Return the least CPU seconds of a few runs of a program, after one that warms it."""
    least = float("inf")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for k in range(REPEATS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=folder, env={**environment, "TERM": "dumb"}, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if k:
            least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def main():
    """Print the table."""
    parse_arguments(__doc__)  # the same options as all benchmarks; none matters here
    luthier = [sys.executable, "-m", "luthier.cli.start"]
    with tempfile.TemporaryDirectory() as folder:
        for words in (
            ["synthetic", "lists", "lists", "--sentences", "1000", "--k", "10"],
            ["pool", "lists/list.moses.gz", "--refs", "lists/refs.0.txt", "-o", "pool.arrow"],
            ["rerank", "pool.arrow", "--weights", "lists/weights.txt", "-o", "out.txt"],
        ):
            subprocess.run([*luthier, *words], cwd=folder, capture_output=True, check=True)
        jobs = {
            "import numba": [sys.executable, "-c", "import numba"],
            "Numba as commands load it, pyarrow, rich": [sys.executable, "-c", BARE],
            "import sacrebleu": [sys.executable, "-c", "import sacrebleu"],
            "--help": [*luthier, "--help"],
            "rerank": [*luthier, "rerank", "pool.arrow", "--weights", "lists/weights.txt", "-o", "out.txt"],
            "score": [*luthier, "score", "out.txt", "--refs", "lists/refs.0.txt"],
            "inspect": [*luthier, "inspect", "pool.arrow"],
            "tune mert": [*luthier, "tune", "pool.arrow", "--method", "mert", "-o", "tuned.txt"],
        }
        seconds = {name: cpu_of(words, folder) for name, words in jobs.items()}
    bare = seconds["import numba"]
    rows = [(name, f"{s:.2f}", f"{s / bare:.2f}", LIMITS.get(name, "")) for name, s in seconds.items()]
    show("1,000 lists of 10", ("", "CPU s", "× import numba", "asked, s"), rows)


if __name__ == "__main__":
    main()
