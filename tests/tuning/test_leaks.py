"""Features that know what is tuned for: told by their name or by their correlation, and by nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from luthier import pool_from_frame, tune
from luthier.core.errors import LuthierWarning
from luthier.landscape.list_problem import ListProblem

RNG = np.random.default_rng(5)
N, K = 20, 4
COMET = RNG.normal(size=N * K)
FRAME = {
    "id": np.repeat(np.arange(N), K),
    "hyp": [f"h{i}" for i in range(N * K)],
    "lm": RNG.normal(size=N * K),
    "comet": COMET,
}


def told(columns, **settings):
    pool = pool_from_frame({**FRAME, **columns}, columns=["comet"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LuthierWarning)
        tune(pool, metric="column:comet", method="mert", restarts=1, **settings)
    return [str(w.message) for w in caught if "tuned for" in str(w.message)]


def test_scorers_without_references_are_features():
    names = ("kiwi", "qe", "reward", "judge", "mbr", "cometkiwi22", "metricx_qe", "tm_comet")
    assert told({name: COMET + RNG.normal(size=N * K) for name in names}) == []


def test_a_feature_that_is_the_tuned_column_is_told():
    shifted = -3 * COMET + np.repeat(RNG.normal(size=N), K)  # by another constant in each list
    (message,) = told({"judge": shifted})
    assert message.startswith("the feature 'judge' agrees with what is tuned for (correlation -1.0000)")
    assert told({"judge": shifted}, feature="judge") == []
    pool = pool_from_frame({**FRAME, "noisy": COMET + 0.1 * FRAME["lm"]}, columns=["comet"])
    rows = [slice(i * K, (i + 1) * K) for i in range(N)]
    a = np.concatenate([COMET[r] - COMET[r].mean() for r in rows])
    noisy = pool.features.column("noisy")
    b = np.concatenate([noisy[r] - noisy[r].mean() for r in rows])
    found = ListProblem.of(pool, "column:comet").correlations()
    assert found["noisy"] == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-12)


def test_a_feature_with_the_metrics_name_is_told():
    (message,) = told({"COMET": RNG.normal(size=N * K)})
    assert "the feature 'COMET' has the name of what is tuned for" in message
    assert told({"COMET": RNG.normal(size=N * K)}, feature=["COMET"]) == []


def test_a_few_rows_are_never_told():
    frame = {"id": [0, 0, 1, 1], "hyp": list("abcd"), "lm": [1.0, 2, 3, 4], "comet": [1.0, 2, 3, 4]}
    assert ListProblem.of(pool_from_frame(frame, columns=["comet"]), "column:comet").correlations() == {}
