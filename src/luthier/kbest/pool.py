"""The pool: K-best lists of many sentences in one frozen, columnar structure."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, all_finite, frozen
from luthier.core.errors import LuthierError
from luthier.core.html import as_table
from luthier.core.segments import (
    check_offsets,
    check_rows,
    counts_in_segments,
    offsets_from_counts,
    rows_of_segments,
)
from luthier.corpus.texts import RepeatedTexts, Texts, Tokens
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features

COUNTS = "counts"  # in the provenance: the column that says how often each hypothesis was drawn
INTEGER_IDS = "integer_ids"  # in the provenance: True where all sentence ids came as numbers, else those that did
MOST_SHOWN = 8  # features in a notebook


@dataclasses.dataclass(frozen=True, eq=False)
class References:
    """References of N sentences, any number each.

    Attributes
    ----------
    offsets : (N+1,) int64
        Sentence i has the references ``offsets[i]:offsets[i+1]``.
    texts, tokens
        Raw, and as ids in the pool's vocabulary.
    """

    offsets: Int64
    texts: Texts
    tokens: Tokens

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        check_offsets(self.offsets, len(self.texts), "references")
        if len(self.tokens) != len(self.texts):
            raise LuthierError(f"expected tokens of {len(self.texts)} references, found {len(self.tokens)}")

    def of(self, sentence: int) -> list[str]:
        """Return the references of one sentence."""
        return [self.texts[r] for r in range(self.offsets[sentence], self.offsets[sentence + 1])]

    def take(self, sentences: npt.ArrayLike) -> References:
        """Return the references of the chosen sentences."""
        sentences = np.asarray(sentences, dtype=np.int64)
        check_rows(sentences, len(self.offsets) - 1)
        rows = rows_of_segments(self.offsets, sentences)
        counts = self.offsets[sentences + 1] - self.offsets[sentences]
        return References(offsets_from_counts(counts), self.texts.take(rows), self.tokens.take(rows))


@dataclasses.dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics of one metric for M hypotheses: `names` of S columns, `values` (M, S)."""

    names: tuple[str, ...]
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise LuthierError(f"expected (M, {len(self.names)}) statistics, found shape {values.shape}")
        if values.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
            raise LuthierError(f"expected int64 or float64 statistics, found {values.dtype}")
        if not all_finite(values):
            raise LuthierError("expected finite statistics, found NaN or an infinity")
        object.__setattr__(self, "values", frozen(values))


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """K-best lists: N sentences, M hypotheses, D features.

    Rows ``offsets[i]:offsets[i+1]`` are the hypotheses of sentence i. All arrays are read-only; what
    changes a pool returns another. Ties are broken towards the lower row, everywhere.

    Attributes
    ----------
    offsets : (N+1,) int64
    features : Features of M rows
    sentence_ids : N texts
    texts : M texts
        Raw, as read.
    tokens : M token sequences
        The same as ids in `vocab`, split at white space.
    vocab : V texts
    references, sources, derivations
        Where given.
    other_keys : M texts
        Members of the JSON objects that rows came from, as they were written (``"url": "…"``), where there were any.
    columns : name → (M,) float64
        Given numbers that are not features: a decoder's total, COMET, latency; NaN where none is given.
    stats : signature of a metric → Statistics
    provenance : JSON-able mapping
        Where the rows came from and what was done to them.
    """

    offsets: Int64
    features: Features
    sentence_ids: Texts
    texts: Texts
    tokens: Tokens
    vocab: Texts
    references: References | None = None
    sources: Texts | None = None
    derivations: Derivations | None = None
    other_keys: RepeatedTexts | None = None
    columns: Mapping[str, Float64] = dataclasses.field(default_factory=dict)
    stats: Mapping[str, Statistics] = dataclasses.field(default_factory=dict)
    provenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        columns = {
            name: frozen(np.ascontiguousarray(column, dtype=np.float64)) for name, column in self.columns.items()
        }
        object.__setattr__(self, "columns", columns)
        self._check()

    def _check(self) -> None:
        """Raise `LuthierError` unless all parts fit one another: kernels trust them."""
        check_offsets(self.offsets, int(self.offsets[-1]) if self.offsets.size else 0, "lists")
        n, m = self.n_sentences, self.n_hypotheses
        lengths: list[tuple[str, int, int]] = [
            ("feature rows", m, len(self.features)),
            ("texts", m, len(self.texts)),
            ("token rows", m, len(self.tokens)),
            ("sentence ids", n, len(self.sentence_ids)),
        ]
        if self.references is not None:
            lengths.append(("sentences with references", n, len(self.references.offsets) - 1))
        if self.sources is not None:
            lengths.append(("sources", n, len(self.sources)))
        if self.derivations is not None:
            lengths.append(("derivations", m, len(self.derivations.offsets) - 1))
        if self.other_keys is not None:
            lengths.append(("other keys", m, len(self.other_keys)))
        lengths += [(f"values of column {name!r}", m, len(array)) for name, array in self.columns.items()]
        lengths += [(f"statistics of {name!r}", m, len(part.values)) for name, part in self.stats.items()]
        for what, expected, found in lengths:
            if expected != found:
                raise LuthierError(f"expected {expected} {what}, found {found}")
        for name, array in self.columns.items():
            if array.ndim != 1 or np.isinf(array).any():
                raise LuthierError(f"expected one finite number (or none) for each hypothesis in the column {name!r}")
        for tokens in (self.tokens, None if self.references is None else self.references.tokens):
            if tokens is not None and tokens.n_types > len(self.vocab):
                raise LuthierError(f"expected tokens below {len(self.vocab)}, found {tokens.n_types - 1}")

    def __repr__(self) -> str:
        """Return a short sentence."""
        names = ", ".join(self.features.names[:4]) + (", …" if self.n_features > 4 else "")
        n = 0 if self.references is None else len(self.references.texts)
        parts = [
            _counted(self.n_sentences, "sentence"),
            _counted(self.n_hypotheses, "hypothesis", "hypotheses"),
            _counted(self.n_features, "feature") + (f" ({names})" if names else ""),
            _counted(n, "reference") if n else "no references",
        ]
        if self.columns:
            parts.append(f"columns {', '.join(self.columns)}")
        return f"<Pool: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Return what the lists hold, for a notebook: how much of what, and the first list."""
        filled = np.flatnonzero(self.list_lengths)[:1]
        if not len(filled):
            return as_table(repr(self).strip("<>"), (), ())
        first = self.take_sentences(filled)
        names = first.features.names[:MOST_SHOWN]
        numbers = [first.features.column(name).tolist() for name in names]
        rows = list(zip(first.texts, *numbers, strict=True))
        note = f"the list of sentence {first.sentence_ids[0]}"
        return as_table(repr(self).strip("<>"), ("hypothesis", *names), rows, note=note)

    @property
    def n_sentences(self) -> int:
        """How many sentences, N, counting those without hypotheses."""
        return len(self.offsets) - 1

    @property
    def n_hypotheses(self) -> int:
        """How many hypotheses, M."""
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        """How many features, D."""
        return self.features.n_features

    @property
    def list_lengths(self) -> Int64:
        """Number of hypotheses of each sentence, (N,)."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def scores(self, weights: Float64) -> Float64:
        """Return w·h of every hypothesis: (D,) → (M,), or (W, D) → (W, M)."""
        return self.features.scores(weights)

    def take(self, rows: npt.ArrayLike) -> Pool:
        """Return the pool of the chosen rows (ascending); all sentences stay, some perhaps empty."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, self.n_hypotheses)
        if np.any(np.diff(rows) <= 0):
            raise LuthierError("rows must ascend: hypotheses keep their order within a sentence")
        offsets = offsets_from_counts(counts_in_segments(self.offsets, rows))
        return self._with_rows(rows, offsets)

    def take_sentences(self, sentences: npt.ArrayLike) -> Pool:
        """Return the pool of the chosen sentences, in the order given."""
        sentences = np.asarray(sentences, dtype=np.int64)
        check_rows(sentences, self.n_sentences)
        rows = rows_of_segments(self.offsets, sentences)
        offsets = offsets_from_counts(self.list_lengths[sentences])
        return self._with_rows(
            rows,
            offsets,
            sentence_ids=self.sentence_ids.take(sentences),
            references=None if self.references is None else self.references.take(sentences),
            sources=None if self.sources is None else self.sources.take(sentences),
        )

    def _with_rows(self, rows: Int64, offsets: Int64, **more: Any) -> Pool:
        return dataclasses.replace(
            self,
            **more,
            offsets=offsets,
            features=self.features.take(rows),
            texts=self.texts.take(rows),
            tokens=self.tokens.take(rows),
            derivations=None if self.derivations is None else self.derivations.take(rows),
            other_keys=None if self.other_keys is None else self.other_keys.take(rows),
            columns={name: column[rows] for name, column in self.columns.items()},
            stats={name: Statistics(part.names, part.values[rows]) for name, part in self.stats.items()},
        )

    def arranged(self, rows: npt.ArrayLike, offsets: Int64) -> Pool:
        """Return the chosen rows in the order given; rows ``offsets[i]:offsets[i+1]`` of them are sentence i."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, self.n_hypotheses)
        return self._with_rows(rows, offsets)

    def with_features(self, features: Features | Mapping[str, npt.ArrayLike]) -> Pool:
        """Return the pool with other features of the same rows, or with more of them by name, (M,) each."""
        if isinstance(features, Mapping):
            made = {name: self._numbers(name, values) for name, values in features.items()}
            return dataclasses.replace(self, features=self.features.with_columns(made))
        return dataclasses.replace(self, features=features)

    def with_columns(self, columns: Mapping[str, npt.ArrayLike]) -> Pool:
        """Return the pool with more columns by name, (M,) each: scores of hypotheses that are no features."""
        made = {name: self._numbers(name, values) for name, values in columns.items()}
        return dataclasses.replace(self, columns={**self.columns, **made})

    def _numbers(self, name: str, values: npt.ArrayLike) -> Float64:
        try:
            found = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise LuthierError(f"expected numbers as {name!r}, found something else") from None
        if found.shape != (self.n_hypotheses,):
            what = f"{self.n_hypotheses:,} numbers as {name!r}, one for each hypothesis"
            raise LuthierError(f"expected {what}, found the shape {found.shape}")
        if not np.isfinite(found).all():
            row = int(np.flatnonzero(~np.isfinite(found))[0])
            raise LuthierError(f"expected finite numbers as {name!r}, found {found[row]} in row {row}")
        return found

    def with_stats(self, signature: str, names: Sequence[str], values: npt.NDArray[Any]) -> Pool:
        """Return the pool with the statistics of one more metric, (M, S)."""
        return dataclasses.replace(self, stats={**self.stats, signature: Statistics(tuple(names), values)})

    def noting(self, operation: str, **details: Any) -> Pool:
        """Return the pool with one more line in its provenance."""
        done = [*self.provenance.get("operations", []), {"operation": operation, **details}]
        return dataclasses.replace(self, provenance={**self.provenance, "operations": done})

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return every array of the pool by a dotted name, in a fixed order."""
        return dict(_named_arrays(self))

    def digest(self) -> str:
        """Return a hash of names and content, by which results say which pool made them."""
        state = hashlib.blake2b(digest_size=16)
        for name, array in _named_arrays(self):
            if name.startswith("stats."):  # derived: computing a score does not make another pool
                continue
            state.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
            state.update(np.ascontiguousarray(array).data)
        local = () if self.derivations is None else self.derivations.features.names
        named = (self.features.names, sorted(self.features.costs), local)
        state.update(json.dumps(named).encode())
        if self.features.groups:  # a pool without them keeps the digest it had before there were any
            state.update(json.dumps([(group.name, group.columns) for group in self.features.groups]).encode())
        return state.hexdigest()


def pool_of(pool: object) -> Pool:
    """Return what should be a pool, or say that it is none, and what makes one."""
    if not isinstance(pool, Pool):
        raise LuthierError(
            f"expected a Pool, found {type(pool).__name__}. hint: luthier.read_pool makes one of files, "
            "luthier.pool_from_frame of a data frame"
        )
    return pool


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _named_arrays(pool: Pool) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    yield "offsets", pool.offsets
    yield from _of_features("features", pool.features)
    yield from _of_texts("sentence_ids", pool.sentence_ids)
    yield from _of_texts("texts", pool.texts)
    yield from _of_tokens("tokens", pool.tokens)
    yield from _of_texts("vocab", pool.vocab)
    if pool.references is not None:
        yield "references.offsets", pool.references.offsets
        yield from _of_texts("references.texts", pool.references.texts)
        yield from _of_tokens("references.tokens", pool.references.tokens)
    if pool.sources is not None:
        yield from _of_texts("sources", pool.sources)
    if pool.derivations is not None:
        yield "derivations.offsets", pool.derivations.offsets
        yield "derivations.rules", pool.derivations.rules
        if pool.derivations.tree is not None:
            yield "derivations.parents", pool.derivations.tree.parents
            yield "derivations.spans", pool.derivations.tree.spans
        yield from _of_texts("derivations.texts", pool.derivations.texts)
        yield from _of_features("derivations.features", pool.derivations.features)
    if pool.other_keys is not None:
        yield "other_keys.ids", pool.other_keys.ids
        yield from _of_texts("other_keys.texts", pool.other_keys.texts)
    for name, column in pool.columns.items():
        yield f"columns.{name}", column
    for signature, statistics in pool.stats.items():
        yield f"stats.{signature}", statistics.values


def _of_texts(name: str, texts: Texts) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    return ((f"{name}.offsets", texts.offsets), (f"{name}.data", texts.data))


def _of_tokens(name: str, tokens: Tokens) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    return ((f"{name}.offsets", tokens.offsets), (f"{name}.ids", tokens.ids))


def _of_features(name: str, features: Features) -> Sequence[tuple[str, npt.NDArray[Any]]]:
    parts = ("dense", "indptr", "indices", "values")
    return tuple((f"{name}.{part}", getattr(features, part)) for part in parts)
