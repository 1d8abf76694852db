"""Which sentences of two pools are the same, by their texts: unseen sentences must be unseen."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, excerpt
from luthier.core.rng import make_rng
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool


def fingerprints(pool: Pool, kind: str | None = None) -> list[bytes]:
    """Return a fingerprint of each sentence: of its source, else of its references, else of its hypotheses.

    `kind` says which of the three (``source``, ``references``, ``hypotheses``), where two pools are to be compared.
    """
    texts, offsets = _texts(pool, kind or kind_of(pool))
    data, spans = texts.data, texts.offsets
    found = []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        # lengths too: "a b" and "c" are not "a" and "b c"
        sizes = (spans[first : last + 1] - spans[first]).tobytes()
        found.append(hashlib.blake2b(data[spans[first] : spans[last]].tobytes() + sizes, digest_size=16).digest())
    return found


def kind_of(*pools: Pool) -> str:
    """Return by which texts the sentences of these pools can be told apart."""
    if all(pool.sources is not None for pool in pools):
        return "source"
    return "references" if all(pool.references is not None for pool in pools) else "hypotheses"


def overlap_note(tuning: Iterable[Pool], heldout: Pool) -> str:
    """Say how many held-out sentences are among the tuning sentences, with one of them; nothing where none is.

    The tuning sentences may be in several pools of one kind, the parts of one, which are opened one after another.
    """
    kind, known = "", set[bytes]()
    for part in tuning:
        kind = kind or kind_of(part, heldout)
        known.update(fingerprints(part, kind))
    twice = [i for i, key in enumerate(fingerprints(heldout, kind)) if key in known]
    if not twice:
        return ""
    texts, offsets = _texts(heldout, kind)
    first = texts[int(offsets[twice[0]])] if offsets[twice[0]] < offsets[twice[0] + 1] else ""
    return (
        f"{len(twice)} of {heldout.n_sentences} held-out sentences are tuning sentences too, by their {kind}: "
        f"they are not unseen, and flatter. The first is {excerpt(first.encode())}"
    )


def _texts(pool: Pool, kind: str) -> tuple[Texts, Int64]:
    """Return the texts of a kind, and which are those of each sentence."""
    if kind == "source" and pool.sources is not None:
        return pool.sources, np.arange(pool.n_sentences + 1)
    if kind == "references" and pool.references is not None:
        return pool.references.texts, pool.references.offsets
    return pool.texts, pool.offsets


# Cross-validation: which sentences are in which fold, and what the folds came to.
#
# The weights of a fold are tuned on all others, so that every sentence is re-ranked by weights that have not seen it.


@dataclasses.dataclass(frozen=True)
class CrossMetric:
    """What weights tuned for one metric do to another, every sentence re-ranked by weights that have not seen it.

    Attributes
    ----------
    baseline, tuned : the scores of the best baseline of each fold, and of the tuned weights
    interval : of their difference, by paired bootstrap over sentences
    """

    metric: str
    higher_is_better: bool | None
    baseline: float
    tuned: float
    interval: tuple[float, float]

    @property
    def verdict(self) -> str:
        """Return which way it went; that it cannot be told where the interval holds 0."""
        low, high = self.interval
        if low <= 0 <= high:
            return "cannot be told"
        if self.higher_is_better is None:
            return "rises" if low > 0 else "falls"
        return "better" if (low > 0) == self.higher_is_better else "worse"


@dataclasses.dataclass(frozen=True)
class Rival:
    """What needs no tuning, on the same sentences: its score, and what tuned weights add to it, with an interval."""

    name: str
    score: float
    difference: float
    interval: tuple[float, float]


@dataclasses.dataclass(frozen=True, eq=False)
class CrossValidation:
    """What folds came to.

    Attributes
    ----------
    folds : (N,)
        The fold of each sentence.
    by : str
        The column that keeps sentences together; empty if there is none.
    score, interval
        One score of all sentences' statistics, each re-ranked by the weights of its fold; its bootstrap interval.
    baseline, difference, difference_interval
        The same of the best baseline of each fold, chosen on the sentences that were tuned on; and `score` less that.
    rivals : the first of each list, and the best scorer alone of each fold
    optimistic : float
        The score of the answer, which was tuned on all sentences, on these.
    names : of D features
    weights : (F, D)
        Of each fold, each of the size of the answer.
    others : of each further metric, what the tuned weights do to it on the same unseen sentences
    tried : by tuner
        The cross-validated score of each that folds chose from; empty where there was no choice.
    """

    folds: Int64
    by: str
    score: float
    interval: tuple[float, float]
    baseline: float
    difference: float
    difference_interval: tuple[float, float]
    rivals: tuple[Rival, ...]
    optimistic: float
    names: tuple[str, ...]
    answer: Float64
    weights: Float64
    others: tuple[CrossMetric, ...] = ()
    tried: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return len(self.weights)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        spread = self.weights.std(axis=0, ddof=1)
        return {
            "folds": self.n_folds,
            "by": self.by or None,
            "sizes": np.bincount(self.folds, minlength=self.n_folds).tolist(),
            "score": self.score,
            "interval": list(self.interval),
            "optimistic_score": self.optimistic,
            "baseline_score": self.baseline,
            "difference": self.difference,
            "difference_interval": list(self.difference_interval),
            "other_metrics": [dataclasses.asdict(other) for other in self.others],
            "tuners_tried": dict(self.tried),
            "rivals": [dataclasses.asdict(rival) for rival in self.rivals],
            "weights": {
                name: {
                    "answer": float(self.answer[d]),
                    "mean": float(self.weights[:, d].mean()),
                    "deviation": float(spread[d]),
                    "folds": self.weights[:, d].tolist(),
                }
                for d, name in enumerate(self.names)
            },
        }


def folds_of(pool: Pool, n_folds: int, *, by: str = "", seed: int = 0) -> Int64:
    """Return the fold of each sentence, (N,): equal sentences, and those of one document, are in the same.

    A document is what has one number in the column `by`; without a column each sentence is its own. Documents that
    share a sentence of equal texts count as one. The largest come first, those of one size in random order, each into
    the fold that has the fewest sentences.
    """
    if n_folds < 2:
        raise LuthierError(f"expected at least 2 folds, found {n_folds}")
    groups = _numbered(fingerprints(pool))
    if by:
        groups = _joined(groups, _documents(pool, by))
    sizes = np.bincount(groups)
    if len(sizes) < n_folds:
        what = f"values of {by!r} that share no sentence" if by else "different sentences"
        raise LuthierError(f"expected at least {n_folds} {what} for as many folds, found {len(sizes)}")
    order = make_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]  # the largest first, so that folds are even
    fold_of, filled = np.empty(len(sizes), np.int64), np.zeros(n_folds, np.int64)
    for group in order.tolist():
        fold = int(np.argmin(filled))
        fold_of[group] = fold
        filled[fold] += sizes[group]
    return fold_of[groups]


def _documents(pool: Pool, by: str) -> Int64:
    """Return the document of each sentence, (N,), numbered from 0."""
    if by not in pool.columns:
        known = ", ".join(pool.columns) or "none"
        raise LuthierError(f"expected a column of the lists to fold by, found {by!r}. hint: the columns are {known}")
    column, starts = pool.columns[by], pool.offsets[:-1]
    low, high = np.minimum.reduceat(column, starts), np.maximum.reduceat(column, starts)
    wrong = np.flatnonzero(~((low == high) & np.isfinite(low)))
    if len(wrong):
        raise LuthierError(
            f"expected one number of {by!r} for all hypotheses of a sentence, found others in sentence "
            f"{pool.sentence_ids[int(wrong[0])]} ({len(wrong)} such)"
        )
    return np.unique(low, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _joined(sentences: Int64, documents: Int64) -> Int64:
    """Return the group of each place, (N,): places of one sentence or of one document are in one group."""
    n_sentences, n_documents = int(sentences.max()) + 1, int(documents.max()) + 1
    size = n_sentences + n_documents
    from scipy import sparse  # a quarter of a second that a command without folds need not spend
    from scipy.sparse import csgraph

    links = sparse.coo_array((np.ones(len(sentences)), (sentences, n_sentences + documents)), shape=(size, size))
    groups = csgraph.connected_components(links, directed=False)[1][sentences]
    return np.unique(groups, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _numbered(keys: list[bytes]) -> Int64:
    """Return a number for each key, the same for equal ones, (N,)."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
