"""Tuning for people who arrive with arrays: an estimator in the shape of scikit-learn's.

Rows of X are hypotheses, y is what each is worth (more is better) or its statistics under a metric, groups say which
sentence each belongs to. scikit-learn is needed for this file only: ``pip install scikit-learn``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import Interrupted, LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run

MEAN, WORTH = "mean", "worth"


class LinearTuner(BaseEstimator):  # type: ignore[misc]
    """Weights w that make the best row of each group, by ``X @ w``, worth as much as possible.

    Parameters
    ----------
    method : str
        A tuner's name; see ``luthier list tuners``.
    options : mapping, optional
        Parameters of the tuner.
    metric : str
        ``mean``: y is one number per row, and the mean over the groups' winners counts. Otherwise a metric of this
        package such as ``wer`` or ``bleu``; y then has a column for each of its statistics, which are summed over the
        winners before they are scored.
    bounds : mapping, optional
        Limits ``(low, high)`` of some weights, by the name of the column or by its number.
    restarts, seed
        Further runs from random starts, and the start of all randomness.
    group_column : int or str, optional
        The column of X that holds the groups, for tools that pass X and y only; it is no feature.

    Attributes
    ----------
    coef_ : (D,)
        The weights.
    result_ : Result
        How they were found; with the mean, its gains are in per cent of the range of y.
    n_features_in_, feature_names_in_
        As scikit-learn has them: a table with other columns, or in another order, is refused.

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
        group_column: int | str | None = None,
        *,
        metric: str = MEAN,
        bounds: Mapping[str | int, tuple[float, float]] | None = None,
    ) -> None:
        self.method = method
        self.options = options
        self.restarts = restarts
        self.seed = seed
        self.group_column = group_column
        self.metric = metric
        self.bounds = bounds

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> LinearTuner:
        """Find the weights; return the estimator.

        `sample_weight` says how much a group counts; it is the same for all rows of a group.
        """
        features, labels = self._split(X, groups, reset=True)
        order, offsets = _grouped(labels)
        stats, metric = self._statistics(y, len(features))
        stats = stats * _weight_of_groups(sample_weight, order, offsets)[:, None]
        names = self._names(features.shape[1])
        pool = _pool(names, features[order], offsets)
        problem = ListProblem(pool, metric, frozen(np.ascontiguousarray(stats[order])), self._limits(names))
        chosen = tuner(self.method, **dict(self.options or {}))
        self.result_ = run(chosen, problem, None, RunOptions(seed=self.seed, restarts=self.restarts))
        self.coef_ = np.array(self.result_.weights)
        if self.result_.interrupted:
            raise Interrupted(self.result_)
        return self

    def predict(self, X: npt.ArrayLike) -> Float64:
        """Return the score of every row, w·x, (M,)."""
        features, _ = self._split(X, np.zeros(len(X)), reset=False)  # type: ignore[arg-type]
        scores: Float64 = features @ self.coef_
        return scores

    def select(self, X: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Int64:
        """Return the row that wins in each group, ties to the lowest; groups in the order they appear."""
        features, labels = self._split(X, groups, reset=False)
        order, offsets = _grouped(labels)
        scores = features[order] @ self.coef_
        winners = [start + int(np.argmax(scores[start:stop])) for start, stop in itertools.pairwise(offsets)]
        rows: Int64 = order[winners]
        return rows

    def score(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean worth of the winners, or their gain under the metric: the score, more being better."""
        rows = self.select(X, groups)
        self._statistics(y, len(X))  # type: ignore[arg-type]  # raises what there is to say about y
        weights = np.ones(len(rows)) if sample_weight is None else _numbers(sample_weight, "as weights")[rows]
        if self.metric == MEAN:
            return float(np.average(np.asarray(y, dtype=np.float64)[rows], weights=weights))
        metric = load_metric(self.metric)
        sums = (metric.check_stats(np.asarray(y))[rows] * weights[:, None]).sum(axis=0)
        return float(metric.gain(metric.score(sums)))

    def _statistics(self, y: npt.ArrayLike, n_rows: int) -> tuple[Float64, Metric]:
        """Return the statistics of every row, (M, S), and what scores their sum."""
        given = _numbers(y, "in y")
        if self.metric != MEAN:
            metric = load_metric(self.metric)
            if given.ndim != 2 or len(given) != n_rows or not np.isfinite(given).all():
                raise LuthierError(f"expected {n_rows} rows of finite statistics in y, found shape {given.shape}")
            return metric.check_stats(given), metric
        if given.shape != (n_rows,) or not np.isfinite(given).all():
            raise LuthierError(f"expected {n_rows} finite values in y, found shape {given.shape}")
        spread = float(np.ptp(given)) or 1.0
        percent = 100.0 * (given - given.min()) / spread  # the scale that the tuners' constants are made for
        return np.column_stack([percent, np.ones(n_rows)]), load_metric(f"column:{WORTH}")

    def _names(self, n_features: int) -> tuple[str, ...]:
        """Return the names of the columns that are features; x0, x1 … where they have none."""
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            return tuple(f"x{d}" for d in range(n_features))
        return tuple(str(name) for name in np.delete(given, [] if self.group_column is None else self._group_at()))

    def _limits(self, names: tuple[str, ...]) -> Bounds:
        by_name = {names[key] if isinstance(key, int) else key: limits for key, limits in (self.bounds or {}).items()}
        return Bounds.from_names(names, by_name)

    def _group_at(self) -> int:
        """Return the number of the column that holds the groups."""
        if isinstance(self.group_column, str):
            names = [str(name) for name in getattr(self, "feature_names_in_", ())]
            if self.group_column not in names:
                raise LuthierError(
                    f"expected a column {self.group_column!r} of groups, found {', '.join(names) or 'no names'}"
                )
            return names.index(self.group_column)
        n = self.n_features_in_
        if not isinstance(self.group_column, int | np.integer) or not -n <= self.group_column < n:
            raise LuthierError(
                f"expected the name or number of one of {n} columns as group_column, found {self.group_column!r}"
            )
        return int(self.group_column)

    def _split(self, X: Any, groups: npt.ArrayLike | None, *, reset: bool) -> tuple[Float64, npt.NDArray[Any]]:
        if not reset:
            check_is_fitted(self)
        validate_data(self, X, reset=reset, skip_check_array=True)  # names and number of columns, in its own words
        if self.group_column is None:
            table, labels = X, groups
        elif hasattr(X, "iloc"):
            at = self._group_at()
            table, labels = X.drop(columns=X.columns[at]), X.iloc[:, at]
        else:
            table, labels = np.delete(np.asarray(X), self._group_at(), axis=1), np.asarray(X)[:, self._group_at()]
        features = _numbers(table, "in a table")
        if features.ndim != 2 or not len(features) or not np.isfinite(features).all():
            raise LuthierError(f"expected a table of finite numbers, found shape {features.shape}")
        if labels is None:
            raise LuthierError("expected groups: which sentence does each row belong to? hint: or set group_column")
        found = np.asarray(labels)
        if found.shape != (len(features),):
            raise LuthierError(f"expected {len(features)} groups, found shape {found.shape}")
        return features, found


def _numbers(given: Any, where: str) -> Float64:
    """Return an array of numbers, or say that there are others."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise LuthierError(f"expected numbers {where}, found something else: {error}") from None


def _weight_of_groups(sample_weight: npt.ArrayLike | None, order: Int64, offsets: Int64) -> Float64:
    """Return the weight of every row, (M,), if it is one for each group; 1 where none is given."""
    if sample_weight is None:
        return np.ones(len(order))
    weights = _numbers(sample_weight, "as sample weights")
    if weights.shape != (len(order),) or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise LuthierError(f"expected {len(order)} weights of 0 or more, not all 0, found shape {weights.shape}")
    own = weights[order]
    first = np.repeat(own[offsets[:-1]], np.diff(offsets))
    if not np.array_equal(own, first):
        raise LuthierError("expected one sample weight for all rows of a group, found several")
    return weights


def _grouped(labels: npt.NDArray[Any]) -> tuple[Int64, Int64]:
    """Return the rows ordered by group (groups as they first appear), and the offsets of the groups."""
    try:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    except TypeError:
        raise LuthierError("expected groups of one type, texts or numbers, found several types") from None
    rank = np.argsort(np.argsort(first))
    numbers = rank[inverse.reshape(-1)]
    return np.argsort(numbers, kind="stable"), offsets_from_counts(np.bincount(numbers))


def _pool(names: tuple[str, ...], features: Float64, offsets: Int64) -> Pool:
    n, m = len(offsets) - 1, len(features)
    nothing = Texts(np.zeros(m + 1, np.int64), np.zeros(0, np.uint8))
    return Pool(
        offsets=offsets,
        features=Features.from_dense(names, features),
        sentence_ids=Texts.from_strings(str(i) for i in range(n)),
        texts=nothing,
        tokens=Tokens(np.zeros(m + 1, np.int64), np.zeros(0, np.int32)),
        vocab=Texts.from_strings([]),
    )
