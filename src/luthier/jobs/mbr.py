"""Minimum Bayes risk: ``luthier.mbr`` adds expected utilities to a pool, or selects by one of them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import checked, path_of
from luthier.features.consensus.evidence import Evidence, list_weights
from luthier.features.consensus.mbr import (
    Consensus,
    Selection,
    UtilityFeature,
    check_one_way,
    expected_utilities,
    first_of_best,
    matrix_utilities,
    select_by,
)
from luthier.features.consensus.pairs import PairScorer, scored_utilities, select_by_scorer
from luthier.features.consensus.rover import rover as vote
from luthier.features.consensus.utilities import Utility
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, cores, pool_at, weighted
from luthier.jobs.score_with import pair_scorer
from luthier.kbest.pool import Pool
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.scorers._scorer import Scorer

OPERATION = "mbr"
# What a damaged file of matrices can raise.
UNREADABLE = (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)
AnyMatrices = Mapping[str, AnyPath | Mapping[str, Float64]]


@checked
def mbr(
    pool: AnyPool,
    utility: str | Metric | Sequence[str | Metric] = (),
    *,
    select: str | Metric | None = None,
    evidence: AnyPool | None = None,
    first: int | None = None,
    counts: str | None = None,
    posterior: AnyWeights | None = None,
    temperature: float | Sequence[float] = (),
    leave_self_out: bool = False,
    matrix: AnyMatrices | None = None,
    score_with: Mapping[str, str | Scorer] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    cache: AnyPath | None = None,
    aggregate: bool = False,
    prune: bool = False,
    rover: bool = False,
    threads: int | None = None,
) -> Consensus:
    """Score every hypothesis by its agreement with the evidence: minimum Bayes risk as features, or as a selection.

    Parameters
    ----------
    pool
        Lists, or where they are.
    utility
        Metrics: each adds a feature ``mbr_NAME``, the mean sentence score with the evidence as references. More is
        better: error rates are negated.
    select
        A metric, or the name of a matrix or scorer given, by which one hypothesis of each list is selected instead.
    evidence, first
        Another pool of the same sentences to compare with (default: the lists themselves); only the first so many of
        each list.
    counts, posterior, temperature
        How much evidence counts: by a column of whole numbers, or by softmax(w·h / τ) at fixed weights w, for one or
        more values of τ (default: 1). Otherwise each hypothesis counts once.
    leave_self_out
        Compare a hypothesis with the others only.
    matrix
        Scores of pairs from elsewhere by name: a ``.npz`` file or a mapping with a matrix for each sentence id, a row
        for each hypothesis, a column for each of the evidence, more is better.
    score_with
        Scorers of pairs by name: what `luthier.score_with` takes. Each is given a hypothesis with one text of the
        evidence as its only reference; more is better.
    bounds
        The lowest and the highest score of such a scorer, by name, so that pruning can leave pairs unscored.
    cache
        File that keeps the answers of scorers, so that no pair is scored twice; default: none.
    aggregate
        Compare with the mean n-gram counts of the evidence (chrF and BLEU), in time linear in the texts.
    prune
        With `select`: leave out candidates that limits rule out. The selection is the same.
    rover
        Vote in a confusion network of each list instead.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> lists = pool_from_frame({"id": [0, 0, 0], "hyp": ["a cat", "a dog", "a cat sat"], "lm": [1.0, 2, 3]})
    >>> mbr(lists, "wer").pool.features.column("mbr_wer").round(1).tolist()
    [-27.8, -38.9, -50.0]
    >>> mbr(lists, select="wer").texts
    ['a cat']
    """
    specs = [utility] if isinstance(utility, str | Metric) else list(utility)
    others = {**(matrix or {}), **(score_with or {})}
    specs = [spec for spec in specs if not (isinstance(spec, str) and spec in others)]
    _check_request(specs, select, others, prune=prune, rover=rover, aggregate=aggregate)
    lists = pool_at(pool, counts=counts or "")
    grid = tuple(np.atleast_1d(np.asarray(temperature, dtype=np.float64)).tolist())
    if grid and posterior is None:
        raise LuthierError("a temperature is of a posterior. hint: give its weights too (`posterior`)")
    shown = None if evidence is None else pool_at(evidence, counts=counts or "")
    shown, weights = _posterior(lists, shown, posterior)
    settings = Evidence(shown, first, counts, weights, grid or (1.0,), leave_self_out)
    if rover:
        return Consensus(lists, (), vote(lists, settings), None, "rover")
    outside = _Outside(lists, settings, score_with or {}, bounds or {}, cache)
    if isinstance(select, str) and select in others:
        found = outside.selection(select, (matrix or {}).get(select), prune=prune)
        return Consensus(lists, (), _texts(found, lists), found, select)
    if select is not None:
        metric = as_metric(select)
        found = select_by(lists, Utility.of(metric), settings, prune=prune, aggregate=aggregate, threads=cores(threads))
        return Consensus(lists, (), _texts(found, lists), found, metric.name)
    metrics = {label_of(spec): as_metric(spec) for spec in specs}
    if len(metrics) < len(specs):
        raise LuthierError("two utilities have one name. hint: name each once")
    utilities = [Utility.of(metric) for metric in metrics.values()]
    values = expected_utilities(lists, utilities, settings, aggregate=aggregate, threads=cores(threads))
    columns = dict(zip(metrics, values, strict=True))
    for name in others:
        columns[label_of(name)] = outside.utilities(name, (matrix or {}).get(name))
    if len(columns) < len(metrics) + len(matrix or {}) + len(score_with or {}):
        raise LuthierError("two utilities have one name. hint: name each once")
    specs_of = {label: metric.spec for label, metric in metrics.items()}
    specs_of |= {label_of(name): "scorer" for name in score_with or {}}
    return _with_utilities(lists, columns, specs_of, grid)


@dataclasses.dataclass(frozen=True)
class _Outside:
    """Utilities from elsewhere: matrices of scores, or scorers of pairs."""

    lists: Pool
    evidence: Evidence
    scorers: Mapping[str, str | Scorer]
    bounds: Mapping[str, tuple[float, float]]
    cache: AnyPath | None

    def __post_init__(self) -> None:
        unknown = [name for name in self.bounds if name not in self.scorers]
        if unknown:
            known = ", ".join(self.scorers) or "none"
            raise LuthierError(f"bounds are of scorers, and none is called {unknown[0]!r}. known: {known}")

    def _scorer(self, name: str) -> PairScorer:
        cache = None if self.cache is None else path_of(self.cache, "a file of answers")
        return pair_scorer(name, self.scorers[name], self.lists, bounds=self.bounds.get(name), cache=cache)

    def utilities(self, name: str, matrix: AnyPath | Mapping[str, Float64] | None) -> Float64:
        """Return the expected utility of every hypothesis, (M, T)."""
        if matrix is None:
            return scored_utilities(self.lists, self._scorer(name), self.evidence)
        with _matrices(matrix) as matrices:
            return matrix_utilities(self.lists, matrices, self.evidence)

    def selection(self, name: str, matrix: AnyPath | Mapping[str, Float64] | None, *, prune: bool) -> Selection:
        """Return the hypothesis of each sentence with the highest one."""
        if matrix is None:
            return select_by_scorer(self.lists, self._scorer(name), self.evidence, prune=prune)
        if prune:
            raise LuthierError(f"all pairs of the matrix {name!r} are scored already: there is nothing to leave out")
        check_one_way(self.evidence, prune=False)
        shown = list_weights(self.lists, self.evidence)[1]
        pairs = int((self.lists.list_lengths * np.diff(shown)).sum())
        return first_of_best(self.lists, self.utilities(name, matrix)[:, 0], pairs, pairs)


def _texts(found: Selection, lists: Pool) -> list[str]:
    return [lists.texts[row] if row >= 0 else "" for row in found.rows.tolist()]


def label_of(spec: str | Metric) -> str:
    """Return a name for a utility that can stand in a feature's: ``bleu(order=2)`` is ``bleu_order_2``."""
    text = spec if isinstance(spec, str) else spec.name
    return re.sub(r"[^\w.+]+", "_", text.strip()).strip("_")


def _check_request(
    specs: Sequence[Any], select: Any, others: Mapping[str, Any], *, prune: bool, rover: bool, aggregate: bool
) -> None:
    if select is not None and others and set(others) != {select}:
        raise LuthierError(
            f"expected a selection by the one matrix or scorer that is given ({', '.join(others)}), found {select!r}"
        )
    wanted = [bool(specs or (others and select is None)), select is not None, rover]
    if sum(wanted) != 1:
        raise LuthierError(
            f"expected features to add or one text of each list to find, found {sum(wanted) or 'none'} of these jobs. "
            "hint: give `utility`, `select` or `rover`"
        )
    if prune and select is None:
        raise LuthierError("pruning leaves out candidates that cannot be selected. hint: give `select`")
    if aggregate and (rover or (others and not specs)):
        raise LuthierError("only metrics with n-grams have aggregated references: chrF and BLEU")


def _posterior(lists: Pool, shown: Pool | None, posterior: AnyWeights | None) -> tuple[Pool | None, Float64 | None]:
    """Return the evidence with the features that come with weights, and the weights in its order."""
    if posterior is None:
        return shown, None
    pool, weights = weighted(lists if shown is None else shown, posterior)
    assert weights is not None
    made = {step.get("name") for step in pool.provenance.get("operations", []) if step.get("operation") == OPERATION}
    for name, value in zip(pool.features.names, weights, strict=True):
        if value and name in made:
            raise LuthierError(f"a posterior is of model features, and {name!r} is a utility. hint: give it no weight")
    return (None if shown is None and pool is lists else pool), weights


@contextlib.contextmanager
def _matrices(source: AnyPath | Mapping[str, Float64]) -> Iterator[Callable[[str], Float64]]:
    """Yield a function from a sentence's id to its matrix; one of a file is read when it is asked for."""
    if isinstance(source, Mapping):
        yield functools.partial(_matrix, source, "the matrices")
        return
    where = str(source)
    with contextlib.ExitStack() as stack:
        try:
            found = np.load(stack.enter_context(Path(source).open("rb")), allow_pickle=False)
        except UNREADABLE as error:
            what = str(error).partition(". ")[0]  # NumPy goes on with how to read pickles
            raise LuthierError(f"{where}: expected a .npz file of matrices, found: {what}") from None
        if not isinstance(found, Mapping):
            raise LuthierError(f"{where}: expected a .npz file with a matrix for each sentence, found one array")
        yield functools.partial(_matrix, found, where)


def _matrix(found: Mapping[str, Any], where: str, name: str) -> Float64:
    if name not in found:
        raise LuthierError(f"{where}: expected a matrix of the sentence {name!r}, found none")
    try:
        return np.asarray(found[name], dtype=np.float64)
    except (*UNREADABLE, TypeError) as error:
        raise LuthierError(f"{where}: expected numbers for the sentence {name!r}, found {error}") from None


def _with_utilities(
    lists: Pool, columns: Mapping[str, Float64], specs: Mapping[str, str], grid: Sequence[float]
) -> Consensus:
    features, pool = [], lists
    for label, values in columns.items():
        for t in range(values.shape[1]):
            name = f"mbr_{label}" + (f"_t{grid[t]:g}" if len(grid) > 1 else "")
            if name in pool.features.names:
                raise LuthierError(f"there is a feature {name!r} already. hint: leave this utility out")
            column = np.ascontiguousarray(values[:, t])
            pool = pool.with_features({name: column})
            pool = pool.noting(OPERATION, name=name, utility=specs.get(label, "matrix"))
            ends = (float(f(column)) if len(column) else 0.0 for f in (np.min, np.mean, np.max))
            features.append(UtilityFeature(name, specs.get(label, "matrix"), *ends))
    return Consensus(pool, tuple(features), None, None, "")
