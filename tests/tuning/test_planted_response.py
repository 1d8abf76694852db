"""A planted log response: bins of raw probabilities find it, with the penalties of neighbours and without decoding."""

import numpy as np
import pytest

from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.features.induction import induce_pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.planted import PlantedLists
from luthier.tuning.base import tuner
from luthier.tuning.run import run

ROUND = {"gains": "sentence", "psi": 1.0, "iterations": 1, "keep": "last"}


def explained(x, w, population):
    """Return R² of the best a + b·x by least squares weighted by population."""
    root = np.sqrt(population)
    table = np.stack([np.ones(len(x)), x], axis=1)
    a = np.linalg.lstsq(table * root[:, None], w * root, rcond=None)[0]
    mean = np.average(w, weights=population)
    return 1 - np.sum(population * (w - table @ a) ** 2) / np.sum(population * (w - mean) ** 2)


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["pro", "pro-all"])
@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_the_logarithm_is_learned_from_raw_probabilities(method, kind):
    pools = [PlantedLists(sentences=60, k=30).generate(seed) for seed in (0, 1)]
    metric = load_metric("column:worth")
    bins = bins_of_pool(pools[0], ["P"], BinOptions(bins=16))
    raw, raw_test = (ListProblem.of(pool, metric) for pool in pools)
    problem, test = (ListProblem.of(induce_pool(pool, bins), metric) for pool in pools)
    plain = run(tuner(method, **ROUND), raw, np.zeros(raw.n_features))
    found = run(tuner(method, neighbours=kind, beta=1e3, **ROUND), problem, np.zeros(problem.n_features))
    feature = bins.features[0]
    w = np.array([found.weights[problem.index(name)] for name in feature.names])
    by_log, by_line = (explained(x, w, feature.populations) for x in (np.log(feature.means), feature.means))
    assert by_log >= 0.95
    assert by_log > by_line + 0.2
    assert test.gain(found.weights) > raw_test.gain(plain.weights) + 3.0


def test_the_lists_are_what_they_say():
    pool = PlantedLists(sentences=5, k=7, uses=4, features=2).generate(3)
    assert pool.features.names == ("P", "P2", "Words", "Noise", "Glue")
    assert pool.list_lengths.tolist() == [7] * 5
    local, derivations = pool.derivations.features, pool.derivations
    for m in range(pool.n_hypotheses):  # columns are sums over rules
        rules = derivations.rules[derivations.offsets[m] : derivations.offsets[m + 1]]
        for d, name in enumerate(pool.features.names):
            assert pool.features.dense[m, d] == pytest.approx(local.column(name)[rules].sum(), abs=1e-5)
    assert (local.column("P") > 0).sum() == len(local) - 1  # glue has none
    again = PlantedLists(sentences=5, k=7, uses=4, features=2).generate(3)
    assert again.digest() == pool.digest() != PlantedLists(sentences=5, k=7, uses=4, features=2).generate(4).digest()
