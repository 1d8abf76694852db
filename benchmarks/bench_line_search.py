"""Exact line search: nanoseconds per hypothesis and direction, one core, beside sorting; MERT on real lists.

python benchmarks/bench_line_search.py [--size paper] [--data FOLDER] [--seed 0]

Sorting is the usual way: every line of a list is sorted by slope and stacked, with the same kernels for
the rest. Both find the same breakpoints, which is checked. With --data, MERT with 20 restarts from the
decoder's own weights on the De→En 1000-best list, five seeds: CPU seconds, BLEU there, and BLEU of the
test set's 100-best list re-ranked with the weights found. Moses' mert, 20 restarts, took 672 s there and
reached 42.49.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import SIZES, cpu_seconds, machine, parse_arguments, peak_megabytes, show, unpacked_list

SEEDS, RESTARTS = 5, 20
MOSES = ("Moses mert", "672", "42.49", "")
PARTS = ("first", "breakpoints", "before", "after")


def direction_sets(features, rng):
    n = features.n_features
    return {"axes": np.eye(n), "random": rng.normal(size=(12, n)) / features.dense.std(axis=0)}


def bench_envelopes(size, seed):
    from luthier.geometry.lines.envelope import Envelopes
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = SIZES[size]
    spec = SyntheticLists(sentences=sentences, k=k, n_features=12)
    pool = spec.generate(seed)
    weights = np.array(list(spec.decoder_weights.values()))
    problem = ListProblem.of(pool, load_metric("bleu"))
    before = peak_megabytes()
    preparing, ready = cpu_seconds(lambda: Envelopes(pool.offsets, pool.features.dense), repeats=1)
    rows = []
    for name, directions in direction_sets(pool.features, np.random.default_rng(seed)).items():
        unit = 1e-9 * pool.n_hypotheses * len(directions)
        fast, found = cpu_seconds(lambda d=directions: ready.along(weights, d), repeats=5)
        slow, expected = cpu_seconds(lambda d=directions: ready.along_sorted(weights, d), repeats=1)
        whole, _ = cpu_seconds(lambda d=directions: list(problem.curves(weights, d)), repeats=3)
        for one, other in zip(found, expected, strict=True):
            assert all(np.array_equal(getattr(one, part), getattr(other, part)) for part in PARTS)
        breakpoints = sum(len(one.breakpoints) for one in found) / len(found)
        rows.append((
            name, f"{fast / unit:.1f}", f"{slow / unit:.1f}", f"{slow / fast:.1f}×", f"{whole / unit:.1f}",
            f"{breakpoints:,.0f}",
        ))  # fmt: skip
    columns = ("directions", "ours", "sorting", "ratio", "ours, with the sweep", "breakpoints")
    show(f"Envelopes, ns per hypothesis and direction ({size}: {pool.n_hypotheses:,} × 12; {machine()})", columns, rows)
    dense = pool.features.dense.nbytes
    print(f"made ready in {preparing:.2f} s; float32 copy {dense / 2e6:.0f} MB beside {dense / 1e6:.0f} MB of features")
    print(f"peak memory before and after: {before:.0f} and {peak_megabytes():.0f} MB (sorting included)")


def real_problem(path, reference):
    from luthier import read_pool
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric

    return ListProblem.of(read_pool(path, refs=[str(reference)]), load_metric("bleu"))


def bench_mert(data, first_seed):
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    lists, texts = data / "kbest-de-en", data / "multi30k"
    with tempfile.TemporaryDirectory() as folder:
        tuning = real_problem(unpacked_list(data, Path(folder)), texts / "val.en.gz")
    test = real_problem(lists / "test_2016_flickr.kbest100.gz", texts / "test_2016_flickr.en.gz")
    named = dict(line.split() for line in (lists / "weights.final").read_text().splitlines())
    start = np.array([float(named[name]) for name in tuning.names])
    onto_test = [tuning.names.index(name) for name in test.names]
    list(tuner("mert", sweeps=1).steps(tuning, start, np.random.default_rng(0)))  # warm
    rows = [("start", "", f"{tuning.gain(start):.2f}", f"{test.gain(start[onto_test]):.2f}"), MOSES]
    seconds = []
    for seed in range(first_seed, first_seed + SEEDS):
        begin = time.process_time()
        result = run(tuner("mert"), tuning, start, RunOptions(seed=seed, restarts=RESTARTS))
        seconds.append(time.process_time() - begin)
        found = test.gain(result.weights[onto_test])
        rows.append((f"mert, seed {seed}", f"{seconds[-1]:.1f}", f"{result.gain:.2f}", f"{found:.2f}"))
    rows.append(("mert, median", f"{statistics.median(seconds):.1f}", "", ""))
    show(f"MERT, {RESTARTS} restarts, De→En", ("", "CPU s", "val BLEU", "test_2016 BLEU"), rows)


if __name__ == "__main__":
    arguments = parse_arguments(__doc__)
    bench_envelopes(arguments.size, arguments.seed)
    if arguments.data is not None:
        bench_mert(arguments.data, arguments.seed)
