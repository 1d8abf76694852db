"""Which tuner for a loop: tune on half of the sentences of the lists that a loop has kept, score on the other half.

  python benchmarks/tuner_choice.py LOOP [--splits 2] [--methods mert pro …]

LOOP is the folder of a loop. All its lists are merged; at each split of the sentences into halves, every tuner goes
from the loop's first weights on either half, and its choices on the half it has not seen are scored together. Nothing
is decoded, and no test set is looked at.
"""

import argparse
from pathlib import Path

import numpy as np

from bench_common import show

METHODS = ("mert", "mert:both", "mert-regularized", "pro", "mira-batch", "expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", type=Path)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=METHODS, help="a tuner, or one with directions after a colon")
    options = parser.parse_args()
    pool, start = merged_lists(options.loop)
    rows = []
    for method in options.methods:
        found = [one_split(pool, start, method, split) for split in range(options.splits)]
        tuned, unseen = np.array(found).T
        rows.append((method, f"{tuned.mean():.2f}", f"{unseen.mean():.2f}", " ".join(f"{x:.2f}" for x in unseen)))
    show(
        f"BLEU, {pool.n_sentences:,} sentences in halves, {pool.n_hypotheses:,} hypotheses",
        ("tuner", "on the half it has seen", "on the other", "each split"), rows,
    )  # fmt: skip


def merged_lists(folder):
    """Return all lists of a loop as one pool, and its first weights in the order of the features."""
    from luthier import open_pool, read_weights
    from luthier.kbest.merge import first_rows, merge

    pool = merge([open_pool(path) for path in sorted((folder / "lists").glob("*.arrow"))])
    pool = pool.take(np.flatnonzero(first_rows(pool.offsets, pool.features, pool.tokens, {})))
    weights = read_weights(folder / "weights" / "000.json")
    return pool, np.array([weights.get(name, 0.0) for name in pool.features.names])


def one_split(pool, start, method, split):
    """Return the score of the sentences tuned on, a mean of two, and that of all sentences, each unseen when tuned."""
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    metric = load_metric("bleu")
    order = np.random.default_rng(split).permutation(pool.n_sentences)
    halves = [ListProblem.of(pool.take_sentences(np.sort(half)), metric) for half in np.array_split(order, 2)]
    name, _, directions = method.partition(":")
    chosen = tuner(name, directions=directions) if directions else tuner(name)
    results = [run(chosen, half, start, RunOptions(seed=split)) for half in halves]
    sums = [other.selected(result.weights).sum(axis=0) for result, other in zip(results, reversed(halves), strict=True)]
    return np.mean([result.gain for result in results]), float(metric.score(np.sum(sums, axis=0)))


if __name__ == "__main__":
    main()
