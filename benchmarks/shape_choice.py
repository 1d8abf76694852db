"""What bins with MNR are worth beside other shapes of a response: re-ranked lists with planted responses.

python benchmarks/shape_choice.py [--sets 8] [--noise 2 6]

Each data set has 60 lists to tune on by `pro` as published, 60 to choose bits and β (or the ridge) by, and 200 to score
on, of 40 hypotheses. Constraints on the shape are no part of the toolkit, which is why they are made here: weights of
steps, or of ramps that end, that may not be negative.
"""

import argparse
import itertools
import sys
import warnings

import numpy as np

from bench_common import machine, show

BITS, BETAS, RIDGES = (3, 4, 6), (1e1, 1e3, 1e5), (1.0, 30.0)
SENTENCES, K = (60, 60, 200), 40
FEATURES = ("P", "P2")
PUBLISHED = {"gains": "sentence", "psi": 1.0, "falling": False, "iterations": 1, "keep": "last"}


def reach(pools, limits=None, **settings):
    """Tune on the first pool; return the scores of the second and the third."""
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    metric = load_metric("column:worth")
    problem = ListProblem.of(pools[0], metric, bounds=limits)
    found = run(tuner("pro", **PUBLISHED, **settings), problem, np.zeros(problem.n_features), RunOptions(seed=0))
    return [ListProblem.of(pool, metric).gain(found.weights) for pool in pools[1:]]


class Induced:
    """The pools of a data set with bins, each way of it made once."""

    def __init__(self, pools):
        self.pools, self.made = pools, {}

    def bins(self, bits, induction, conjunctions):
        from luthier.features.induce import induce_pool
        from luthier.features.making import BinOptions, bins_of_pool

        key = bits, induction, conjunctions
        if key not in self.made:
            options = BinOptions(bins=1 << bits, induction=induction, conjunctions=conjunctions)
            bins = bins_of_pool(self.pools[0], FEATURES, options)
            self.made[key] = bins, [induce_pool(pool, bins) for pool in self.pools]
        return self.made[key]

    def neighbours(self, kind, induction="indicator", conjunctions=()):
        """Return the score of the point of bits and β that the second pool prefers."""
        grid = itertools.product([bits for bits in BITS if bits <= 4 or not conjunctions], BETAS)
        tried = [reach(self.bins(bits, induction, conjunctions)[1], neighbours=kind, beta=beta) for bits, beta in grid]
        return max(tried)[1]

    def constrained(self, shape):
        """Return the same with weights that only rise, or that rise and bend down, by bits and ridge."""
        tried = []
        for bits, c in itertools.product(BITS, RIDGES):
            bins, pools = self.bins(bits, "indicator", ())
            made = [in_another_basis(pool, bins, shape) for pool in pools]
            tried.append(reach([pool for pool, _ in made], made[0][1], c=c))
        return max(tried)[1]


def in_another_basis(pool, bins, shape):
    """Return a pool whose bins are steps that start, or ramps that end, and the limits of their weights."""
    from luthier.kbest.features import Features
    from luthier.landscape.bounds import Bounds

    binned = {name for feature in bins.features for name in feature.names}
    names = [name for name in pool.features.names if name not in binned]
    columns, free = [pool.features.column(name) for name in names], [True] * len(names)
    for feature in bins.features:
        fired = np.column_stack([pool.features.column(name) for name in feature.names])
        place = np.arange(fired.shape[1])
        if shape == "rises":
            basis = (place[:, None] >= place).astype(float)
        else:
            basis = np.minimum(place[:, None], place) / np.maximum(place, 1.0)
            basis[:, 0] = 1.0
        columns += list((fired @ basis).T)
        names += [f"{feature.feature}~{k}" for k in place]
        free += [True] + [False] * (len(place) - 1)
    low = np.where(free, -np.inf, 0.0)
    features = Features.from_dense(tuple(names), np.column_stack(columns))
    return pool.with_features(features), Bounds(low, np.full(len(low), np.inf))


def measure(noise, number):
    """Return what each way reaches on one data set."""
    from luthier.invented.lists.planted import PlantedLists

    pools = [
        PlantedLists(noise=noise, features=2, sentences=n, k=K, language=number).generate(100 * number + k)
        for k, n in enumerate(SENTENCES)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features with few values
        induced = Induced(pools)
        return {
            "MNR": induced.neighbours("mnr"),
            "LNR": induced.neighbours("lnr"),
            "hats with MNR": induced.neighbours("mnr", "hat"),
            "hats with LNR": induced.neighbours("lnr", "hat"),
            "a conjunction, with MNR": induced.neighbours("mnr", conjunctions=(FEATURES,)),
            "weights that may only rise": induced.constrained("rises"),
            "weights that rise and bend down": induced.constrained("bends"),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=8)
    parser.add_argument("--noise", type=float, nargs="+", default=[2.0, 6.0])
    options = parser.parse_args()
    print(machine())
    for noise in options.noise:
        found = [measure(noise, number) for number in range(options.sets)]
        rows = []
        for name in found[0]:
            change = np.array([one[name] - one["MNR"] for one in found])
            error = change.std(ddof=1) / len(change) ** 0.5 if len(change) > 1 else np.nan
            mean = np.mean([one[name] for one in found])
            rows.append((name, f"{mean:.2f}", "" if name == "MNR" else f"{change.mean():+.2f} ± {error:.2f}"))
        show(f"planted responses, noise {noise:g}, {options.sets} data sets", ("", "score", "beside MNR"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
