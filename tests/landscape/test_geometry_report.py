"""The report against linear programs over all rows, on lists of small whole numbers."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.jobs.bounds import constraint_curves, feature_numbers, sentence_numbers
from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.landscape import dense_rows as dense_module
from luthier.landscape.dense_rows import dense_rows
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.constraints import CurveSettings, GeometrySettings, report_geometry
from luthier.metrics.loading import load_metrics
from luthier.synthetic.lists.noisy_channel import SyntheticLists

BLEU = load_metrics("bleu")["bleu"]
NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def pool():
    return SyntheticLists(sentences=6, k=7, vocabulary=100).generate(5)


def integer_pool(pool, seed, *, sparse=False):
    table = np.random.default_rng(seed).integers(-2, 3, size=(pool.n_hypotheses, len(NAMES))).astype(float)
    features = Features.from_dense(NAMES, table)
    if sparse:
        rows, columns = np.nonzero(table[:, 1:])
        indptr = np.searchsorted(rows, np.arange(len(table) + 1))
        features = Features(NAMES, table[:, :1], indptr, columns.astype(np.int32), table[:, 1:][rows, columns])
    return dataclasses.replace(pool, features=features)


def report_of(pool, seed=0, **settings):
    problem = ListProblem.of(pool, BLEU)
    features = dense_rows(problem.pool.features)
    return report_geometry(problem, features, np.ones(features.shape[1]), GeometrySettings(**settings), seed=seed)


def possible(features, lists):
    """Return whether some w puts the given row of each list above all rows that differ: max t over all at once."""
    rows = np.concatenate([features[low:high] - features[row] for low, high, row in lists])
    rows = rows[np.any(rows != 0, axis=1)]
    if not len(rows):
        return True
    d = rows.shape[1]
    table, bounds = np.column_stack([rows, np.ones(len(rows))]), [(-1, 1)] * d + [(None, 1)]
    return -linprog(np.append(np.zeros(d), -1.0), A_ub=table, b_ub=np.zeros(len(rows)), bounds=bounds).fun > 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_counts_and_verdicts_are_those_of_brute_force(pool, seed):
    own = integer_pool(pool, seed)
    report = report_of(own, seed, sample=15)
    h, offsets = own.features.dense, own.offsets
    spans = list(itertools.pairwise(offsets.tolist()))
    assert report.distinct.tolist() == [len(np.unique(h[low:high], axis=0)) for low, high in spans]
    firsts = [[k for k in range(low, high) if not np.any(np.all(h[low:k] == h[k], axis=1))] for low, high in spans]
    vertices = [[k for k in rows if possible(h, [(*span, k)])] for rows, span in zip(firsts, spans, strict=True)]
    assert report.extreme.tolist() == [len(rows) for rows in vertices]
    oracle = report.oracle.rows.tolist()
    whole = [(*span, row) for span, row in zip(spans, oracle, strict=True)]
    assert report.verdict.as_dict()["feasible"] == possible(h, whole)
    assert report.oracle_extreme.tolist() == [possible(h, [part]) for part in whole]
    kept = [whole[i] for i in report.subset.lists]
    assert possible(h, kept)
    assert not any(possible(h, [*kept, part]) for part in whole if part not in kept)
    assert report.subset_holds
    rng = make_rng(seed).spawn(2)[1]
    for reached in report.sample_reached.tolist():
        drawn = [(*span, row) for span, row in zip(spans, rng.integers(offsets[:-1], offsets[1:]), strict=True)]
        assert possible(h, drawn[:reached])
        assert reached == len(drawn) or not possible(h, drawn[: reached + 1])


@pytest.mark.parametrize("seed", range(3))
def test_a_contradiction_names_differences_that_cancel(pool, seed):
    own = integer_pool(pool, seed)
    report = report_of(own, sample=0)
    assert not report.verdict.as_dict()["feasible"]
    constraints = report.as_dict()["oracle"]["contradiction"]
    h, starts, oracle = own.features.dense, own.offsets, report.oracle.rows
    assert all(oracle[w["sentence"]] == starts[w["sentence"]] + w["wanted"] for w in constraints)
    total = sum(
        w["multiplier"] * (h[starts[w["sentence"]] + w["other"]] - h[oracle[w["sentence"]]]) for w in constraints
    )
    np.testing.assert_allclose(total, 0.0, atol=1e-12)


def test_weights_of_a_feasible_oracle_select_it(pool):
    # a feature that is the oracle itself, and noise
    problem = ListProblem.of(pool, BLEU)
    rows = report_of(pool, sample=0).oracle.rows
    table = np.random.default_rng(0).normal(size=(pool.n_hypotheses, 3))
    table[:, 0] = 0.0
    table[rows, 0] = 5.0
    own = dataclasses.replace(problem.pool, features=Features.from_dense(("oracle", "x", "y"), table))
    report = report_of(own, sample=0)
    assert report.verdict.as_dict()["feasible"]
    told = report.as_dict()["oracle"]
    assert told["margin"] > 0
    assert rerank(own, np.array([told["weights"][name] for name in own.features.names])).tolist() == rows.tolist()
    assert len(report.subset.lists) == own.n_sentences
    assert report.as_dict()["oracle"]["extreme"] == own.n_sentences


def test_sparse_features_and_empty_sentences_change_nothing(pool):
    dense, sparse = integer_pool(pool, 1), integer_pool(pool, 1, sparse=True)
    one, other = report_of(dense, sample=20).as_dict(), report_of(sparse, sample=20).as_dict()
    assert one == other
    some = np.flatnonzero(np.arange(dense.n_hypotheses) >= dense.offsets[1])  # the first sentence loses its list
    gone = dense.take(some)
    assert gone.n_sentences == dense.n_sentences
    rest = dense.take_sentences(np.arange(1, dense.n_sentences))
    assert report_of(gone, sample=20).as_dict() == report_of(rest, sample=20).as_dict()


def test_the_same_seed_gives_the_same_report(pool):
    own = integer_pool(pool, 2)
    assert report_of(own, 7, sample=20).as_dict() == report_of(own, 7, sample=20).as_dict()
    assert report_of(own, 7, sample=20).sample_reached.tolist() != report_of(own, 8, sample=20).sample_reached.tolist()


def test_tables_too_large_are_refused(pool, monkeypatch):
    monkeypatch.setattr(dense_module, "MOST_ENTRIES", 10)
    with pytest.raises(LuthierError, match="keep the features that matter"):
        dense_rows(integer_pool(pool, 0, sparse=True).features)


def test_shares_are_those_of_brute_force(pool):
    problem = ListProblem.of(integer_pool(pool, 3), BLEU)
    h, offsets = problem.pool.features.dense, problem.offsets
    oracle = report_of(problem.pool, sample=0).oracle.rows
    settings = CurveSettings(draws=6, timed_draws=0)
    found = constraint_curves(problem, h, oracle, ("dims",), settings, seed=4)
    assert not found.costs
    expected = dict.fromkeys(((s.n_features, s.n_sentences) for s in found.shares), 0)
    rng = make_rng(4).spawn(2)[0]
    for _ in range(6):
        columns, order = rng.permutation(4), rng.permutation(len(oracle))
        for size, n in expected:
            part = h[:, columns[:size]]
            lists = [(offsets[i], offsets[i + 1], oracle[i]) for i in order[:n]]
            first = not any(np.any(np.all(part[low:row] == part[row], axis=1)) for low, _, row in lists)
            expected[size, n] += first and possible(part, lists)
    assert {(s.n_features, s.n_sentences): s.feasible for s in found.shares} == expected
    assert any(expected.values())
    assert {size for size, _ in expected} == set(feature_numbers(4))


def test_lp_mert_is_timed_along_each_axis(pool):
    problem = ListProblem.of(integer_pool(pool, 3), BLEU)
    oracle = report_of(problem.pool, sample=0).oracle.rows
    settings = CurveSettings(draws=1, timed_draws=1, timed_sentences=2, timed_k=3, time_limit=1e6)  # never given up
    found = constraint_curves(problem, problem.pool.features.dense, oracle, ("dims", "sentences"), settings, seed=0)
    assert [(c.n_features, c.n_sentences) for c in found.costs if c.axis == "dims"] == [(d, 2) for d in (1, 2, 3, 4)]
    assert [(c.n_features, c.n_sentences) for c in found.costs if c.axis == "sentences"] == [(3, 1), (3, 2)]
    assert all(c.finished == 1 and c.seconds[0] > 0 for c in found.costs)
    given_up = dataclasses.replace(settings, time_limit=0.0)
    found = constraint_curves(problem, problem.pool.features.dense, oracle, ("dims",), given_up, seed=0)
    assert [(c.n_features, c.finished) for c in found.costs] == [(1, 0)]  # larger ones are not tried


def test_numbers_to_look_at():
    assert sentence_numbers(1) == [1]
    assert sentence_numbers(24) == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    assert feature_numbers(1) == [1]
    assert feature_numbers(40)[-1] == 40
