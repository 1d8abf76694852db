"""Bins learned with their weights: splits and merges that lower the loss of pairs left out, by folds of sentences.

Bins are runs of atoms, fine bins that are never cut. A round fits the weights on all folds but one, expands the loss of
the fold left out to second order in the weights of atoms, and predicts what every split of a bin and every merge of two
neighbours would do to it. The most promising changes, of which no two touch, are made together and fitted; if the loss
of all folds does not fall, half as many are tried.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.rng import make_rng
from luthier.features.bins import Bins, FeatureBins, bin_names
from luthier.features.fit_bins import Counts
from luthier.kbest.features import Features
from luthier.kbest.groups import FeatureGroup
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.ranking.pairs import PairLoss

from .fixed import GAMMA
from .penalty_path import fit_lnr

MOST_ROUNDS = 60
TOLERANCE = 1e-7  # of a fit, as a share of its objective
LEAST_PREDICTED = 0.5  # by which a change lowers the loss left out, in nats, to be tried at all

Cuts = tuple[tuple[int, ...], ...]  # of each feature, the atoms at which bins begin, and their number


def joined_bins(parts: Sequence[Bins], counts: Counts) -> Bins:
    """Return bins that begin wherever those of a part do: each part's bins are runs of them."""
    features = []
    for own in zip(*(bins.features for bins in parts), strict=True):
        seen = counts[own[0].feature].values
        starts = np.unique(np.concatenate([np.searchsorted(seen, one.lows) for one in own]))
        features.append(cut_at(own[0].feature, np.append(starts, len(seen)), counts))
    return dataclasses.replace(parts[0], features=tuple(features))


def cut_at(feature: str, starts: Int64, counts: Counts) -> FeatureBins:
    """Return bins of a feature that begin at some of its values, (K+1,) with the number of values at the end."""
    seen = counts[feature]
    lows, highs = seen.values[starts[:-1]], seen.values[starts[1:] - 1]
    populations = np.add.reduceat(seen.counts, starts[:-1])
    means = np.clip(np.add.reduceat(seen.values * seen.counts, starts[:-1]) / populations, lows, highs)
    ideal = populations.sum() / len(populations)
    error = float(np.abs(populations - ideal).mean() / ideal)
    names, size = bin_names(feature, lows, highs), len(populations)
    return FeatureBins(feature, names, lows, highs, means, populations, populations, len(seen.values), size, error)


def cuts_of(bins: Bins, atoms: Bins) -> Cuts:
    """Return where bins begin among atoms."""
    pairs = zip(bins.features, atoms.features, strict=True)
    return tuple((*np.searchsorted(fine.lows, own.lows).tolist(), len(fine)) for own, fine in pairs)


def bins_at(cuts: Cuts, atoms: Bins, counts: Counts) -> Bins:
    """Return the bins that begin at some atoms."""
    features = []
    for cut, fine in zip(cuts, atoms.features, strict=True):
        first = np.searchsorted(counts[fine.feature].values, fine.lows)
        starts = np.append(first[list(cut[:-1])], len(counts[fine.feature].values))
        features.append(cut_at(fine.feature, starts, counts))
    return dataclasses.replace(atoms, features=tuple(features))


def fold_of_sentences(n_sentences: int, folds: int, seed: int) -> Int64:
    """Return the fold of each sentence, folds of like size at random."""
    return np.asarray(make_rng(seed).permutation(n_sentences) % folds)


class AtomPairs:
    """Differences of pairs by atoms, (P, O + A): the other features first, then atoms feature after feature.

    Parameters
    ----------
    loss : of all pairs, with a column for each atom
    atoms : the fine bins
    fold : (P,), that of each pair
    """

    def __init__(self, loss: PairLoss, atoms: Bins, fold: Int64) -> None:
        rows = loss.rows
        self.counts, self.fold, self.n_others = loss.counts, fold, rows.n_features - len(atoms.names)
        assert rows.names[self.n_others :] == atoms.names
        shape = (len(rows), rows.n_features - rows.n_dense)
        parts = [sparse.csr_array(rows.dense), sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=shape)]
        self.rows = sparse.csr_array(sparse.hstack(parts))

    def merging(self, cuts: Cuts) -> sparse.csr_array:
        """Return the matrix from weights of others and bins to weights of others and atoms, of 0 and 1."""
        columns, width = [np.arange(self.n_others)], self.n_others
        for cut in cuts:
            columns.append(width + np.repeat(np.arange(len(cut) - 1), np.diff(cut)))
            width += len(cut) - 1
        flat = np.concatenate(columns)
        return sparse.csr_array((np.ones(len(flat)), (np.arange(len(flat)), flat)), shape=(len(flat), width))

    def fit(self, cuts: Cuts, rows: Int64, constants: Constants, start: Float64 | None = None) -> Float64:
        """Return the weights of others and bins that some pairs have with LNR."""
        merged = sparse.csr_array(self.rows[rows] @ self.merging(cuts))
        merged.sort_indices()
        names = [f"w{d}" for d in range(merged.shape[1])]
        table = Features(tuple(names), np.zeros((len(rows), 0)), merged.indptr, merged.indices, merged.data)
        first, groups = self.n_others, []
        for k, cut in enumerate(cuts):
            groups.append(FeatureGroup(f"f{k}", tuple(names[first : first + len(cut) - 1])))
            first += len(cut) - 1
        penalty = Neighbours.of(tuple(groups), names, kind="lnr", strength=constants.beta, gamma=GAMMA)
        loss, begin = PairLoss(table, self.counts[rows]), np.zeros(len(names)) if start is None else start
        return fit_lnr(loss, constants.ridge, penalty, begin, tolerance=TOLERANCE).weights

    def loss_left_out(self, fold: int, weights: Float64) -> float:
        """Return the loss of the pairs of a fold, by atoms' weights."""
        own = np.flatnonzero(self.fold == fold)
        return 2.0 * float(self.counts[own] @ np.logaddexp(0.0, -(self.rows[own] @ weights)))

    def derivatives(self, fold: int, weights: Float64) -> tuple[Float64, Float64]:
        """Return gradient and second derivatives of that loss by atoms' weights."""
        own = np.flatnonzero(self.fold == fold)
        rows, counts = self.rows[own], self.counts[own]
        margins = rows @ weights
        chance = 0.5 * (1.0 - np.tanh(0.5 * margins))  # of the wrong order
        gradient = rows.T @ (-2.0 * counts * chance)
        curved = rows.multiply((2.0 * counts * chance * (1.0 - chance))[:, None])
        return gradient, (rows.T @ sparse.csr_array(curved)).toarray()


class Constants(NamedTuple):
    """The weights of the squared length and of LNR."""

    ridge: float
    beta: float


class FoldFit(NamedTuple):
    """Bins with what they come to by folds: the loss left out, and the weights of each fold."""

    cuts: Cuts
    constants: Constants
    loss: float
    weights: tuple[Float64, ...]

    @property
    def n_bins(self) -> int:
        """How many bins there are, of all features."""
        return sum(len(cut) - 1 for cut in self.cuts)


class Change(NamedTuple):
    """A split of a bin at an atom, or a merge at the atom where the second bin begins; what it gains as predicted."""

    gain: float
    feature: int
    bins: tuple[int, ...]
    atom: int

    @property
    def splits(self) -> bool:
        """Whether a bin is split, rather than two merged."""
        return len(self.bins) == 1


class Learner:
    """The pairs by atoms, and folds of them."""

    def __init__(self, pairs: AtomPairs, folds: int) -> None:
        self.pairs, self.folds = pairs, folds

    def fit(self, cuts: Cuts, constants: Constants, before: FoldFit | None = None) -> FoldFit:
        """Return what bins come to, from the weights of bins before."""
        weights, total = [], 0.0
        merging = self.pairs.merging(cuts)
        for fold in range(self.folds):
            start = None
            if before is not None:  # the mean of atoms' weights
                wide = self.pairs.merging(before.cuts) @ before.weights[fold]
                start = (merging.T @ wide) / merging.sum(axis=0)
            weights.append(self.pairs.fit(cuts, np.flatnonzero(self.pairs.fold != fold), constants, start))
            total += self.pairs.loss_left_out(fold, merging @ weights[-1])
        return FoldFit(cuts, constants, total, tuple(weights))

    def choose(self, cuts: Cuts, grid: Sequence[Constants]) -> FoldFit:
        """Return what bins come to with the constants that leave the least loss out."""
        found: list[FoldFit] = []
        for constants in grid:
            found.append(self.fit(cuts, constants, found[-1] if found else None))
        return min(found, key=lambda fit: fit.loss)

    def learn(self, start: FoldFit) -> list[FoldFit]:
        """Return what was accepted, round after round, the start first; the loss left out falls."""
        here, trace = start, [start]
        for _ in range(MOST_ROUNDS):
            changes = apart(self.changes(here))
            taken = len(changes)
            while taken:
                there = self.fit(changed(here.cuts, changes[:taken]), here.constants, here)
                if there.loss < here.loss:
                    break
                taken //= 2
            if not taken:
                break
            here = there
            trace.append(here)
        return trace

    def changes(self, here: FoldFit) -> list[Change]:
        """Return the splits that are predicted to lower the loss left out, and the merges that do not raise it."""
        views = self.views(here)
        found: list[Change] = []
        first = self.pairs.n_others
        for feature, cut in enumerate(here.cuts):
            spans = [(first + a, first + b) for a, b in itertools.pairwise(cut)]
            for j, span in enumerate(spans):
                gains = np.sum([view.split_gains(span) for view in views], axis=0).tolist()
                splits = [Change(gain, feature, (j,), span[0] - first + 1 + k) for k, gain in enumerate(gains)]
                found += [split for split in splits if split.gain > LEAST_PREDICTED]
            for j, (left, right) in enumerate(itertools.pairwise(spans)):
                gain = math.fsum(view.merge_gain(left, right) for view in views)
                found += [Change(gain, feature, (j, j + 1), right[0] - first)] if gain >= 0.0 else []
            first += cut[-1]
        return sorted(found, key=lambda change: -change.gain)

    def views(self, here: FoldFit) -> list[FoldView]:
        """Return what each fold knows of its own loss and of the others'."""
        merging = self.pairs.merging(here.cuts)
        atoms = [merging @ weights for weights in here.weights]
        parts = [self.pairs.derivatives(fold, own) for fold, own in enumerate(atoms)]
        whole = [np.sum([part[k] for part in parts], axis=0) for k in (0, 1)]
        ridge = 2.0 * here.constants.ridge
        return [
            FoldView(own, *part, ridge, (whole[0] - part[0], whole[1] - part[1]))
            for own, part in zip(atoms, parts, strict=True)
        ]


class FoldView(NamedTuple):
    """What one fold knows: atoms' weights that the others have, and derivatives of losses by them.

    Attributes
    ----------
    weights : (D,)
    gradient, second : (D,), (D, D)
        Of the loss left out.
    ridge : float
        What the ridge curves by.
    rest : the same of the others' losses
        Each at the weights that were fitted without it, so that it is computed once: changes are ranked by it, and
        accepted by a fit.
    """

    weights: Float64
    gradient: Float64
    second: Float64
    ridge: float
    rest: tuple[Float64, Float64]

    def split_gains(self, span: tuple[int, int]) -> Float64:
        """Return what splits of a bin at each of its inner atoms lower the loss left out by.

        The right part moves by d = right − share · whole, so that the bin's own weight stays where the others have
        it; the step along d is Newton's for the others' loss and the ridge.
        """
        weight, ridge = float(self.weights[span[0]]), self.ridge
        g_r, h_rr, h_r1, g_1, h_11 = _tails(span, *self.rest)
        share = (h_r1 + ridge) / (h_11 + 2.0 * ridge)
        slope = g_r - share * g_1 + ridge * weight * (1.0 - 2.0 * share)
        curve = h_rr - 2.0 * share * h_r1 + share**2 * h_11 + ridge * ((1.0 - share) ** 2 + share**2)
        step = -slope / curve
        g_r, h_rr, h_r1, g_1, h_11 = _tails(span, self.gradient, self.second)
        along, bent = g_r - share * g_1, h_rr - 2.0 * share * h_r1 + share**2 * h_11
        return np.asarray(-(along * step + 0.5 * bent * step**2))

    def merge_gain(self, left: tuple[int, int], right: tuple[int, int]) -> float:
        """Return what a merge lowers the loss left out by: both bins move to where the others have the two."""
        spans = slice(*left), slice(*right)
        sizes = np.array([float(self.rest[1][s, s].sum()) + self.ridge for s in spans])
        own = np.array([self.weights[s.start] for s in spans])
        moves = sizes @ own / sizes.sum() - own
        gradient = np.array([self.gradient[s].sum() for s in spans])
        second = np.array([[self.second[s, t].sum() for t in spans] for s in spans])
        return -float(gradient @ moves + 0.5 * moves @ second @ moves)


def _tails(span: tuple[int, int], gradient: Float64, second: Float64) -> tuple[Float64, Float64, Float64, float, float]:
    """Return g·r, rᵀHr and rᵀH1 for the right part r from each inner atom of a bin on, and g·1 and 1ᵀH1 of the bin."""
    inside = slice(*span)
    g, h = gradient[inside], second[inside, inside]
    right = h[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]  # sums over rows from i and columns from j on
    return g[::-1].cumsum()[::-1][1:], np.diag(right)[1:], right[1:, 0], float(g.sum()), float(right[0, 0])


def apart(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, the best first, of which no two touch the same bin."""
    taken: set[tuple[int, int]] = set()
    kept = []
    for change in changes:
        bins = {(change.feature, j) for j in change.bins}
        if not bins & taken:
            taken |= bins
            kept.append(change)
    return kept


def changed(cuts: Cuts, changes: Sequence[Change]) -> Cuts:
    """Return where bins begin after some changes."""
    places = [set(cut) for cut in cuts]
    for change in changes:
        (places[change.feature].add if change.splits else places[change.feature].discard)(change.atom)
    return tuple(tuple(sorted(own)) for own in places)
