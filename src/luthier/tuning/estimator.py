"""Tuning for people who arrive with arrays: an estimator in the shape of scikit-learn's.

Rows of X are hypotheses, y is what each is worth (more is better), groups say which sentence each belongs
to. scikit-learn is needed for this file only: ``pip install scikit-learn``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.landscape.problem import Problem
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run

WORTH = "worth"


class LinearTuner(BaseEstimator):  # type: ignore[misc]
    """Weights w that make the best row of each group, by ``X @ w``, worth as much as possible on average.

    Parameters
    ----------
    method : str
        A tuner's name; see ``luthier tuners``.
    options : mapping, optional
        Parameters of the tuner.
    restarts, seed
        Further runs from random starts, and the start of all randomness.
    group_column : int, optional
        The column of X that holds the groups, for tools that pass X and y only; it is no feature.

    Attributes
    ----------
    coef_ : (D,)
        The weights.
    result_ : Result
        How they were found; its gains are in per cent of the range of y.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    >>> fitted = LinearTuner("random").fit(X, [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    >>> fitted.score(X, [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    1.0
    """

    def __init__(
        self,
        method: str = "mert",
        options: Mapping[str, Any] | None = None,
        restarts: int = 0,
        seed: int = 0,
        group_column: int | None = None,
    ) -> None:
        self.method = method
        self.options = options
        self.restarts = restarts
        self.seed = seed
        self.group_column = group_column

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> LinearTuner:
        """Find the weights; return the estimator."""
        features, labels = self._split(X, groups)
        worth = np.asarray(y, dtype=np.float64)
        if worth.shape != (len(features),) or not np.isfinite(worth).all():
            raise LuthierError(f"expected {len(features)} finite values in y, found shape {worth.shape}")
        order, offsets = _grouped(labels)
        spread = float(np.ptp(worth)) or 1.0
        percent = 100.0 * (worth - worth.min()) / spread  # the scale that the tuners' constants are made for
        problem = Problem.make(_pool(features[order], percent[order], offsets), load_metric(f"column:{WORTH}"))
        chosen = tuner(self.method, **dict(self.options or {}))
        self.result_ = run(chosen, problem, None, RunOptions(seed=self.seed, restarts=self.restarts))
        self.coef_ = np.array(self.result_.weights)
        self.n_features_in_ = np.asarray(X).shape[1]
        return self

    def predict(self, X: npt.ArrayLike) -> Float64:
        """Return the score of every row, w·x, (M,)."""
        features, _ = self._split(X, np.zeros(len(np.asarray(X))))
        scores: Float64 = features @ self.coef_
        return scores

    def select(self, X: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Int64:
        """Return the row that wins in each group, ties to the lowest; groups in the order they appear."""
        features, labels = self._split(X, groups)
        order, offsets = _grouped(labels)
        scores = features[order] @ self.coef_
        winners = [start + int(np.argmax(scores[start:stop])) for start, stop in itertools.pairwise(offsets)]
        rows: Int64 = order[winners]
        return rows

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> float:
        """Return the mean worth of the winners."""
        return float(np.mean(np.asarray(y, dtype=np.float64)[self.select(X, groups)]))

    def _split(self, X: npt.ArrayLike, groups: npt.ArrayLike | None) -> tuple[Float64, npt.NDArray[Any]]:
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or not np.isfinite(table).all():
            raise LuthierError(f"expected a table of finite numbers, found shape {table.shape}")
        if self.group_column is not None:
            return np.delete(table, self.group_column, axis=1), table[:, self.group_column]
        if groups is None:
            raise LuthierError("expected groups: which sentence does each row belong to? hint: or set group_column")
        labels = np.asarray(groups)
        if labels.shape != (len(table),):
            raise LuthierError(f"expected {len(table)} groups, found shape {labels.shape}")
        return table, labels


def _grouped(labels: npt.NDArray[Any]) -> tuple[Int64, Int64]:
    """Return the rows ordered by group (groups as they first appear), and the offsets of the groups."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    numbers = rank[inverse.reshape(-1)]
    return np.argsort(numbers, kind="stable"), offsets_from_counts(np.bincount(numbers))


def _pool(features: Float64, worth: Float64, offsets: Int64) -> Pool:
    n, m = len(offsets) - 1, len(features)
    nothing = Texts(np.zeros(m + 1, np.int64), np.zeros(0, np.uint8))
    return Pool(
        offsets=offsets,
        features=Features.from_dense([f"x{d}" for d in range(features.shape[1])], features),
        sentence_ids=Texts.from_strings(str(i) for i in range(n)),
        texts=nothing,
        tokens=Tokens(np.zeros(m + 1, np.int64), np.zeros(0, np.int32)),
        vocab=Texts.from_strings([]),
        columns={WORTH: worth},
    )
