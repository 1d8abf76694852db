"""Learned bins: gains as predicted by hand, planted edges found, bins that are runs of atoms."""

import dataclasses
import itertools

import numpy as np
import pytest

from luthier.features.bins import Bins
from luthier.features.counts import ValueCounts
from luthier.features.fit_bins import BinOptions, make_bins
from luthier.jobs.lab.pairs import splitting
from luthier.jobs.lab.pairs.splitting import (
    AtomPairs,
    Change,
    Constants,
    Learner,
    apart,
    bins_at,
    changed,
    cuts_of,
    fold_of_sentences,
    joined_bins,
)
from luthier.kbest.features import Features
from luthier.tuning.ranking.pairs import PairLoss

pytestmark = pytest.mark.compiled
ATOMS = 24
SMALL = Constants(1.0, 1e-3)


def counts_of(n=ATOMS, name="F"):
    return {name: ValueCounts(np.arange(1.0, n + 1), np.full(n, 5))}


def uniform(n_bins, counts=None):
    return make_bins(counts or counts_of(), (), BinOptions(bins=n_bins), origin={})


def planted(shape, n_pairs=4000, seed=0):
    """Return pairs of hypotheses of four rules each and one other feature, told apart by atoms."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n_pairs, 1 + len(shape)))
    rows[:, 0] = rng.normal(size=n_pairs)
    for sign in (1.0, -1.0):
        for _ in range(4):
            rows[np.arange(n_pairs), 1 + rng.integers(0, len(shape), n_pairs)] += sign
    likely = 1.0 / (1.0 + np.exp(-(rows[:, 1:] @ shape)))
    rows *= np.where(rng.random(n_pairs) < likely, 1.0, -1.0)[:, None]
    atoms = uniform(len(shape), counts_of(len(shape)))
    loss = PairLoss(Features.from_dense(("other", *atoms.names), rows), rng.uniform(0.5, 1.5, n_pairs))
    fold = np.repeat(fold_of_sentences(n_pairs // 10, 4, 1), 10)
    return AtomPairs(loss, atoms, fold), atoms


STEPS = np.repeat([-1.5, 0.0, 2.0], [5, 12, 7])  # edges at atoms 5 and 17


def test_planted_edges_are_found_and_others_are_not():
    pairs, atoms = planted(STEPS)
    learner = Learner(pairs, 4)
    start = learner.fit(cuts_of(uniform(4), atoms), SMALL)
    assert start.cuts == ((0, 6, 12, 18, 24),)
    trace = learner.learn(start)
    assert {5, 17} <= set(trace[-1].cuts[0])
    assert trace[-1].n_bins <= 8
    assert all(after.loss < before.loss for before, after in itertools.pairwise(trace))
    assert trace[-1].loss < learner.fit((tuple(range(25)),), SMALL).loss  # atoms by themselves overfit
    assert trace[-1].loss < learner.fit(((0, 5, 24),), SMALL).loss


def test_alike_neighbours_are_merged_from_fine_bins_on():
    pairs, _ = planted(STEPS, seed=2)
    learner = Learner(pairs, 4)
    trace = learner.learn(learner.fit((tuple(range(25)),), SMALL))
    assert {5, 17} <= set(trace[-1].cuts[0])
    assert trace[-1].n_bins <= 12


def expanded(pairs, fold, weights):
    """Return gradient and second derivatives of the loss left out by differences of the loss."""
    n, step = len(weights), 1e-4
    moves = step * np.eye(n)
    at = lambda w: pairs.loss_left_out(fold, w)  # noqa: E731
    gradient = np.array([(at(weights + m) - at(weights - m)) / (2 * step) for m in moves])
    second = np.array([[(at(weights + a + b) - at(weights + a - b) - at(weights - a + b) + at(weights - a - b))
                        / (4 * step**2) for b in moves] for a in moves])  # fmt: skip
    return gradient, second


def test_derivatives_and_predictions_are_those_by_hand():
    rng = np.random.default_rng(5)
    pairs, _ = planted(rng.normal(size=6), n_pairs=200)
    learner, cuts = Learner(pairs, 4), ((0, 4, 6),)
    here = learner.fit(cuts, Constants(3.0, 0.0))
    predicted = {(c.bins, c.atom): c.gain for c in _all_changes(learner, here)}
    by_hand: dict = {}
    atoms = [pairs.merging(cuts) @ w for w in here.weights]
    parts = [expanded(pairs, fold, atoms[fold]) for fold in range(4)]
    for fold, (gradient, second) in enumerate(parts):
        exact = pairs.derivatives(fold, atoms[fold])
        assert np.allclose(exact[0], gradient, rtol=1e-5, atol=1e-5)
        assert np.allclose(exact[1], second, rtol=1e-3, atol=1e-3)
        rest_g, rest_h = (sum(p[k] for f, p in enumerate(parts) if f != fold) for k in (0, 1))
        whole = np.array([0, 1, 1, 1, 1, 0, 0], float)
        w = atoms[fold][1]
        for atom in (1, 2, 3):  # of the first bin, which has atoms 0 to 3, columns 1 to 4
            right = whole * (np.arange(7) > atom)
            left = whole - right
            # minimise over moves x of the left and y of the right part: the others' loss and c(w + x)² + c(w + y)²,
            # along the line on which the bin's own weight stays at the least of both
            h = np.array([[a @ rest_h @ b for b in (left, right)] for a in (left, right)]) + 6.0 * np.eye(2)
            g = np.array([rest_g @ left, rest_g @ right]) + 6.0 * w
            share = (h @ np.ones(2))[1] / (np.ones(2) @ h @ np.ones(2))
            d = np.array([-share, 1.0 - share])
            step = -(g @ d) / (d @ h @ d)
            move = step * (d[0] * left + d[1] * right)
            gain = -(gradient @ move + 0.5 * move @ second @ move)
            by_hand[(0,), atom] = by_hand.get(((0,), atom), 0.0) + gain
        tail = np.array([0, 0, 0, 0, 0, 1, 1], float)
        sizes = [v @ rest_h @ v + 6.0 for v in (whole, tail)]
        both = [w, atoms[fold][5]]
        mean = (sizes[0] * both[0] + sizes[1] * both[1]) / sum(sizes)
        move = (mean - both[0]) * whole + (mean - both[1]) * tail
        gain = -(gradient @ move + 0.5 * move @ second @ move)
        by_hand[(0, 1), 4] = by_hand.get(((0, 1), 4), 0.0) + gain
    for key, gain in by_hand.items():
        assert predicted[key] == pytest.approx(gain, rel=2e-3, abs=2e-3)


def _all_changes(learner, here):
    """Return what is predicted for all changes, those that lose too."""
    views = learner.views(here)
    spans = [(1, 5), (5, 7)]
    for j, span in enumerate(spans):
        gains = sum(view.split_gains(span) for view in views)
        yield from (Change(g, 0, (j,), span[0] - 1 + 1 + k) for k, g in enumerate(gains))
    yield Change(sum(view.merge_gain(*spans) for view in views), 0, (0, 1), 4)


def test_changes_that_touch_are_made_one_after_another():
    best, touching, other = Change(5.0, 0, (1,), 9), Change(4.0, 0, (0, 1), 6), Change(3.0, 1, (0, 1), 6)
    assert apart([best, touching, other]) == [best, other]
    assert changed(((0, 6, 12), (0, 6, 12)), [best, other]) == ((0, 6, 9, 12), (0, 12))


def test_bins_are_runs_of_atoms():
    counts = counts_of(40)
    coarse, fine = uniform(3, counts), uniform(16, counts)
    atoms = joined_bins([coarse, fine], counts)
    assert {*coarse.features[0].lows} | {*fine.features[0].lows} == {*atoms.features[0].lows}
    for bins in (coarse, fine):
        again = bins_at(cuts_of(bins, atoms), atoms, counts)
        for name in ("names", "lows", "highs", "means", "populations"):
            assert np.array_equal(getattr(again.features[0], name), getattr(bins.features[0], name))
    assert isinstance(atoms, Bins)
    assert dataclasses.replace(atoms, features=atoms.features).names == atoms.names


def test_folds_are_of_like_size_and_of_whole_sentences():
    fold = fold_of_sentences(103, 5, 7)
    assert np.bincount(fold).tolist() == [21, 21, 21, 20, 20]
    assert (fold == fold_of_sentences(103, 5, 7)).all()
    assert (fold != fold_of_sentences(103, 5, 8)).any()


def test_a_search_that_cannot_gain_ends_at_its_start():
    pairs, atoms = planted(np.zeros(ATOMS), seed=3)  # nothing to find
    learner = Learner(pairs, 4)
    start = learner.fit(((0, ATOMS),), SMALL)
    assert learner.learn(start)[-1].n_bins <= 3
    assert splitting.LEAST_PREDICTED > 0
    assert len(atoms.names) == ATOMS
