"""Lists of a study of capacity: one point for rows that differ by rounding, rules as features, extreme rows."""

import dataclasses

import numpy as np

from luthier.corpus.texts import Texts
from luthier.geometry.lp.certificates import Feasible
from luthier.jobs.lab.base import Place, read_study
from luthier.jobs.lab.capacity.lists import Extremes, on_grid, with_rules
from luthier.jobs.lab.capacity.settings import CapacityUnit
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.feasibility import Choice, judge
from small_problems import pool_of

STUDY = """
kind = "capacity"
name = "tiny"
seed = 7
oracle = "sentence"
[[feature_set]]
name = "as they are"
[[tuner]]
name = "lines"
method = "mert"
[[data]]
name = "made"
source = "synthetic"
k = 6
tune = { seed = 1, sentences = 10, k = 6, n_references = 1, vocabulary = 100, n_features = 2 }
test = { seed = 2, sentences = 4, k = 6, n_references = 1, vocabulary = 100, n_features = 2 }
[[grid]]
title = "Reach"
data = "made"
features = "as they are"
sentences = [10]
tuners = "oracle"
"""


def is_extreme(pool, s, row):
    rows = np.full(pool.n_sentences, -1)
    rows[s] = row
    return isinstance(judge(pool, Choice("one", rows)).proof, Feasible)


def test_sums_in_another_order_are_one_point():
    tenths = [0.1, 0.2, 0.3]
    there, back = (a + b + c for a, b, c in (tenths, tenths[::-1]))
    assert there != back
    found = on_grid(pool_of([[[there, 1.0], [back, 1.0], [back + 1e-6, 1.0]]], [np.zeros(3)])).features.dense
    assert found[0, 0] == found[1, 0]
    assert found[2, 0] > found[1, 0]
    np.testing.assert_allclose(found[:, 0], [there, back, back + 1e-6], atol=2.0**-30)


def with_derivations(pool, uses, texts):
    counts = np.concatenate([[0], np.cumsum([len(own) for own in uses])])
    local = Features.from_dense(["local"], np.zeros((len(texts), 1)))
    used = Derivations(counts, np.concatenate(uses).astype(np.int32), Texts.from_strings(texts), local)
    return dataclasses.replace(pool, derivations=used)


def test_rules_are_features_that_count_their_uses():
    plain = pool_of([[[1.0], [2.0]], [[3.0]]], [[0, 0], [0]])
    pool = with_derivations(plain, [[0, 1, 1], [2], [1]], ["a", "b", "c"])
    found = with_rules(pool, {"a": 0, "b": 1}).features  # c is a rule of other lists
    assert found.names == ("f0", "rule 0", "rule 1")
    scores = [found.scores(np.eye(3)[d]).tolist() for d in range(3)]
    assert scores == [[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [2.0, 0.0, 1.0]]
    sparse = Features(("f0", "s0"), pool.features.dense, np.array([0, 0, 1, 1]), np.zeros(1, np.int32), np.array([5.0]))
    found = with_rules(pool.with_features(sparse), {"b": 0}).features  # behind features that are sparse themselves
    assert found.names == ("f0", "s0", "rule 0")
    assert [found.scores(np.eye(3)[d]).tolist() for d in (1, 2)] == [[0.0, 5.0, 0.0], [2.0, 0.0, 1.0]]


def test_the_best_extreme_rows_and_drawn_ones_are_extreme():
    rng = np.random.default_rng(4)
    pool = pool_of(rng.integers(-2, 3, (8, 9, 2)), np.zeros((8, 9)))
    gains = rng.integers(0, 4, 72).astype(float)  # ties
    extremes = Extremes(pool)
    best, drawn = extremes.best(gains), extremes.draw(np.arange(8), np.random.default_rng(1))
    for s in range(8):
        own = [row for row in range(9 * s, 9 * s + 9) if is_extreme(pool, s, row)]
        assert best[s] == max(own, key=lambda row: (gains[row], -row))
        assert drawn[s] in own


def test_oracles_that_are_not_extreme_are_counted(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    study = read_study(tmp_path / "study.toml")
    units = study.units(study.data[0], Place(str(tmp_path / "study.toml"), tmp_path))
    line = units.run(CapacityUnit("as they are", "all", 10, "oracle", 0))
    pool = units.lists.tune
    gains, offsets = ListProblem.of(pool, "bleu").sentence_gains, pool.offsets
    lowest = none = 0
    for s in range(10):
        own = gains[offsets[s] : offsets[s + 1]]
        tied = [int(offsets[s]) + row for row in np.flatnonzero(own == own.max())]
        lowest += not is_extreme(pool, s, tied[0])
        none += not any(is_extreme(pool, s, row) for row in tied)
    assert (line["lowest_not_extreme"], line["none_extreme"]) == (lowest, none)
    assert lowest >= none > 0
