"""What bins with MNR are worth beside other shapes of a response, judged by re-ranking.

python benchmarks/shape_choice.py [--sets 8] [--noise 2 6] [--bits 3 4 6] [--interact]
python benchmarks/shape_choice.py --pools TUNE HELDOUT --metric bleu --features P_EgivenFCoherent … --bits 4

Lists with planted responses: each data set has 60 lists to tune on, 60 to choose bits and β (or the ridge) by, and 200
to score on, of 40 hypotheses; with --interact the first probability counts in full only where the second is high. Of
pools with derivations, such as a study of discretisation makes to choose by (systems/NAME/choices), the sentences of
the second with even numbers choose, the others are scored.

Tuned by one round of `pro` with the gains of sentences. Constraints on the shape are no part of the toolkit, which is
why they are made here: weights of steps, or of ramps that end, that may not be negative.
"""

import argparse
import dataclasses
import itertools
import sys
import warnings

import numpy as np

from bench_common import machine, show

BETAS, RIDGES = (1e1, 1e3, 1e5), (1.0, 30.0)
SENTENCES, K = (60, 60, 200), 40
ONE_ROUND = {"gains": "sentence", "psi": 1.0, "falling": False, "iterations": 1, "keep": "last"}


def reach(pools, metric, limits=None, **settings):
    """Tune on the first pool; return the gains of the second and the third."""
    from luthier.landscape.list_problem import ListProblem
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    problem = ListProblem.of(pools[0], metric, bounds=limits)
    found = run(tuner("pro", **ONE_ROUND, **settings), problem, np.zeros(problem.n_features), RunOptions(seed=0))
    return [ListProblem.of(pool, metric).gain(found.weights) for pool in pools[1:]]


class Induced:
    """The pools of a data set with bins, each way of it made once."""

    def __init__(self, pools, metric, features, bits):
        self.pools, self.metric, self.features, self.bits, self.made = pools, metric, features, bits, {}

    def induced(self, bits, induction, conjunctions):
        from luthier.features.fit_bins import BinOptions, bins_of_pool
        from luthier.features.induction import induce_pool

        key = bits, induction, conjunctions
        if key not in self.made:
            options = BinOptions(bins=1 << bits, induction=induction, conjunctions=conjunctions)
            bins = bins_of_pool(self.pools[0], self.features, options)
            self.made[key] = bins, [induce_pool(pool, bins) for pool in self.pools]
        return self.made[key]

    def neighbours(self, kind, induction="indicator", conjunctions=()):
        """Return the score of the point of bits and β that the second pool prefers."""
        grid = itertools.product([bits for bits in self.bits if bits <= 4 or not conjunctions], BETAS)
        tried = [
            reach(self.induced(bits, induction, conjunctions)[1], self.metric, neighbours=kind, beta=beta)
            for bits, beta in grid
        ]
        return max(tried)[1]

    def constrained(self, shape):
        """Return the same with weights that only rise, or that rise and bend down, by bits and ridge."""
        tried = []
        for bits, c in itertools.product(self.bits, RIDGES):
            bins, pools = self.induced(bits, "indicator", ())
            made = [in_another_basis(pool, bins, shape) for pool in pools]
            tried.append(reach([pool for pool, _ in made], self.metric, made[0][1], c=c))
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


def measure(data):
    """Return what each way reaches on one data set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features with few values
        return {
            "MNR": data.neighbours("mnr"),
            "LNR": data.neighbours("lnr"),
            "hats with MNR": data.neighbours("mnr", "hat"),
            "hats with LNR": data.neighbours("lnr", "hat"),
            "a conjunction, with MNR": data.neighbours("mnr", conjunctions=(tuple(data.features[:2]),)),
            "weights that may only rise": data.constrained("rises"),
            "weights that rise and bend down": data.constrained("bends"),
        }


def interacting(pool, noise, seed):
    """Return a pool whose worth is Σ log P over rules, of which a fifth counts where P2 is below its median."""
    uses = pool.derivations
    p, other = uses.features.column("P"), uses.features.column("P2")
    has = p > 0
    worth = np.where(has, np.log(np.where(has, p, 1.0)) * np.where(other > np.median(other[has]), 1.0, 0.2), 0.0)
    planted = np.add.reduceat(np.append(worth[uses.rules], 0.0), uses.offsets[:-1])
    planted = np.where(np.diff(uses.offsets) > 0, planted, 0.0)
    planted = planted + noise * np.random.default_rng(seed).normal(size=len(planted))
    means = np.add.reduceat(planted, pool.offsets[:-1]) / pool.list_lengths
    score = np.clip(50.0 + 4.0 * (planted - np.repeat(means, pool.list_lengths)), 0.0, 100.0)
    return dataclasses.replace(pool, columns={"worth": score}, stats={})


def planted(noise, number, bits, interact):
    """Return one data set of lists with planted responses."""
    from luthier.metrics.loading import load_metric
    from luthier.synthetic.lists.planted import PlantedLists

    pools = [
        PlantedLists(noise=noise, features=2, sentences=n, k=K, language=number).generate(100 * number + k)
        for k, n in enumerate(SENTENCES)
    ]
    if interact:
        pools = [interacting(pool, noise, 7 * number + k) for k, pool in enumerate(pools)]
    return Induced(pools, load_metric("column:worth"), ("P", "P2"), bits)


def given(paths, metric, features, bits):
    """Return the data set of two pools: the second chooses and is scored on, sentence by sentence in turn."""
    from luthier.kbest.storage.pool_file import open_pool
    from luthier.metrics.loading import load_metric

    tune, heldout = map(open_pool, paths)
    rows = np.arange(heldout.n_sentences)
    halves = [heldout.take_sentences(rows[first::2]) for first in (0, 1)]
    return Induced([tune, *halves], load_metric(metric), tuple(features), bits)


def report(title, found):
    rows = []
    for name in found[0]:
        change = np.array([one[name] - one["MNR"] for one in found])
        error = f" ± {change.std(ddof=1) / len(change) ** 0.5:.2f}" if len(change) > 1 else ""
        mean = np.mean([one[name] for one in found])
        rows.append((name, f"{mean:.2f}", "" if name == "MNR" else f"{change.mean():+.2f}{error}"))
    show(title, ("", "gain", "beside MNR"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=8)
    parser.add_argument("--noise", type=float, nargs="+", default=[2.0, 6.0])
    parser.add_argument("--bits", type=int, nargs="+", default=[3, 4, 6])
    parser.add_argument("--interact", action="store_true")
    parser.add_argument("--pools", nargs=2)
    parser.add_argument("--metric", default="bleu")
    parser.add_argument("--features", nargs="+", default=["P_EgivenFCoherent", "P_MaxLexEgivenF", "P_MaxLexFgivenE"])
    options = parser.parse_args()
    print(machine())
    if options.pools:
        report(options.pools[1], [measure(given(options.pools, options.metric, options.features, options.bits))])
        return 0
    for noise in options.noise:
        found = [measure(planted(noise, number, options.bits, options.interact)) for number in range(options.sets)]
        report(f"planted responses, noise {noise:g}, {options.sets} data sets", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
