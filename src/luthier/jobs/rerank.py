"""Hypotheses in the order of their scores as lines of a file: plain text, JSON Lines or a Moses list."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, LuthierWarning, unwarned
from luthier.core.files.io import PACKED, STDIN, open_output
from luthier.kbest.derived import LENGTHS, Derived, with_derived
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import Reranked, in_order_of, n_best, rerank
from luthier.kbest.serving.formula import Formula
from luthier.kbest.weights import Weights, check_sizes, read_weights

Form = Literal["text", "jsonl", "moses"]
FORMS: tuple[Form, ...] = ("text", "jsonl", "moses")
BREAKS = re.compile(r"[\r\n]+")


def form_of(path: str, given: str | None = None) -> Form:
    """Return the given form, or the one that a name's ending says: .jsonl, .moses or .nbest, else text."""
    if given is not None:
        if given not in FORMS:
            raise LuthierError(f"expected the form {', '.join(FORMS)}, found {given!r}")
        return given
    plain = Path(path).with_suffix("") if path.endswith(PACKED) else Path(path)
    if plain.suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    return "moses" if plain.suffix in (".moses", ".nbest") else "text"


@dataclasses.dataclass(frozen=True, eq=False)
class Ranked:
    """The best hypotheses of each sentence: rows of a pool, best first, with the weights, (D,), and their scores.

    ``rows[offsets[i]:offsets[i+1]]`` are those of sentence i.
    """

    pool: Pool
    rows: Int64
    offsets: Int64
    weights: Float64
    scores: Float64

    def lines(self, form: Form) -> Iterator[bytes | memoryview]:
        """Yield the bytes of lines in one of the forms."""
        if form == "jsonl":
            from luthier.kbest.writers.jsonl import contribution_lines

            best = self.pool.arranged(self.rows, self.offsets)
            yield from contribution_lines(best, self.weights, self.scores)
        elif form == "moses":
            from luthier.kbest.storage.writer import TOTAL, moses_lines

            best = self.pool.arranged(self.rows, self.offsets)
            yield from moses_lines(dataclasses.replace(best, columns={**best.columns, TOTAL: self.scores}))
        else:
            yield "".join(f"{BREAKS.sub(' ', text)}\n" for text in self.first_texts()).encode("utf-8")

    def first_texts(self) -> Iterator[str]:
        """Yield the best text of each sentence, '' where there is none."""
        rows, texts = self.rows.tolist(), self.pool.texts
        for first, stop in itertools.pairwise(self.offsets.tolist()):
            yield texts[rows[first]] if stop > first else ""


def n_broken(ranked: Ranked) -> int:
    """Return how many of the best texts hold a line break."""
    firsts = ranked.rows[ranked.offsets[:-1][np.diff(ranked.offsets) > 0]]
    if not np.isin(ranked.pool.texts.take(firsts).data, np.array([10, 13], dtype=np.uint8)).any():
        return 0
    return sum(BREAKS.search(text) is not None for text in ranked.first_texts())


# Re-ranking from lists to files: weights in, the best of each list out, an account of what changed.


@dataclasses.dataclass(frozen=True)
class RerankOptions:
    """How many hypotheses of each sentence are written, in which form (None: by each name's ending), and how.

    With `strict` a weight of a feature that the lists lack is an error.
    """

    n: int = 1
    form: str | None = None
    strict: bool = False
    threads: int = 1


def rerank_files(
    pools: Iterable[Pool], weights: Sequence[str], outputs: Sequence[str], options: RerankOptions
) -> list[Reranked]:
    """Write the best hypotheses by each file of weights; return a report of each.

    `pools` are the lists, perhaps one stretch after another: one at a time is held. A file appears only when all of
    it is written, and weights that do not belong to the lists are refused before that.
    """
    forms = [form_of(path, options.form) for path in outputs]
    if options.n > 1 and "text" in forms:
        raise LuthierError("a text has one line for each sentence: several hypotheses need the form jsonl or moses")
    read = {path: read_weights(path) for path in weights}
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open_output(path)) for path in outputs]
        named = zip(weights, outputs, files, forms, strict=True)
        tallies = [_Tally(path, read[path], output, file, form) for path, output, file, form in named]
        names: dict[str, None] = {}
        formulas = _formulas(read)
        for raw in pools:
            pool = with_derived(raw, formulas)
            if not names:
                _refuse(read, pool, strict=options.strict and isinstance(pools, Sequence))
            names.update(dict.fromkeys(pool.features.names))
            _take(pool, tallies, options)
        for path, values in read.items():
            values.vector(list(names), source=path, strict=options.strict)  # says what does not match
    _warn(tallies)
    return [tally.row() for tally in tallies]


def needed_features(weights: Sequence[str], added: Sequence[str]) -> dict[str, float | None]:
    """Return the features that every hypothesis must have, and what each counts where it is missing.

    They are those of the files of weights and of formulas: the weights' own, and those that are `added` as well.
    """
    needed: dict[str, float | None] = {}
    more = {item.name: item.formula.text for item in map(Derived.parse, added)}
    for found in map(read_weights, weights):
        formulas = {**found.derived, **more}
        used = (name for text in formulas.values() for name in Formula(text).names if name not in LENGTHS)
        for name in (*found, *used):
            if name not in formulas:
                needed.setdefault(name, found.missing.get(name))
    return needed


def _formulas(read: dict[str, Weights]) -> dict[str, str]:
    """Return the formulas that come with weights; those of one name must agree."""
    found: dict[str, str] = {}
    for path, values in read.items():
        for name, formula in values.derived.items():
            if found.setdefault(name, formula) != formula:
                raise LuthierError(f"{path}: the feature {name!r} has another formula than with the weights before")
    return found


def _refuse(read: dict[str, Weights], pool: Pool, *, strict: bool) -> None:
    """Raise where weights do not belong to the lists; what else there is to say is said in the end."""
    with unwarned():
        for path, values in read.items():
            values.vector(pool.features.names, source=path, strict=strict)


def _take(raw: Pool, tallies: Sequence[_Tally], options: RerankOptions) -> None:
    """Give each file of weights its choices; those with one order of features are scored together."""
    ordered: dict[tuple[str, ...], tuple[Pool, list[_Tally]]] = {}
    for tally in tallies:
        pool = in_order_of(raw, tally.values)
        ordered.setdefault(pool.features.names, (pool, []))[1].append(tally)
    for pool, some in ordered.values():
        _take_together(pool, some, options)


def _take_together(pool: Pool, tallies: Sequence[_Tally], options: RerankOptions) -> None:
    vectors = np.array([[tally.values.get(name, 0.0) for name in pool.features.names] for tally in tallies])
    if options.n > 1:
        selections = None
    elif len(vectors) == 1:  # a kernel less to load than for many
        selections = rerank(pool, vectors[0])[None]
    else:
        selections = rerank(pool, vectors, threads=options.threads)
    for k, (tally, vector) in enumerate(zip(tallies, vectors, strict=True)):
        if selections is None:
            check_sizes(vector, pool.features.largest)
            rows, offsets = n_best(pool, pool.scores(vector), options.n)
        else:
            filled = selections[k] >= 0
            rows, offsets = selections[k][filled], np.concatenate([[0], np.cumsum(filled)])
        tally.add(Ranked(pool, rows, offsets, vector, pool.features.take(rows).scores(vector)))


def _warn(tallies: Sequence[_Tally]) -> None:
    empty = tallies[0].empty
    if empty:
        what = "empty lines" if "text" in [tally.form for tally in tallies] else "no lines"
        warnings.warn(f"{empty} sentences have no hypotheses: {what}", LuthierWarning, stacklevel=3)
    broken = max(tally.broken for tally in tallies)
    if broken:
        told = f"{broken} texts hold line breaks, written as blanks. hint: the form jsonl keeps them (`to` jsonl)"
        warnings.warn(told, LuthierWarning, stacklevel=3)


@dataclasses.dataclass
class _Tally:
    """What one file of weights selects, counted while it is written."""

    path: str
    values: Weights
    output: str
    file: BinaryIO
    form: Form
    sentences: int = 0
    empty: int = 0
    broken: int = 0
    not_first: int = 0
    score: float = 0.0
    words: int = 0

    def add(self, ranked: Ranked) -> None:
        """Write and count one stretch."""
        for part in ranked.lines(self.form):
            self.file.write(part)
        if self.output == STDIN:
            self.file.flush()
        pool, first = ranked.pool, ranked.offsets[:-1][np.diff(ranked.offsets) > 0]
        filled, best = pool.list_lengths > 0, ranked.rows[first]
        self.sentences += pool.n_sentences
        self.empty += int(np.count_nonzero(~filled))
        self.broken += n_broken(ranked) if self.form == "text" else 0
        self.not_first += int(np.count_nonzero(best != pool.offsets[:-1][filled]))
        # one after another, so that it does not matter where stretches end
        self.score = float(np.cumsum(np.append(self.score, ranked.scores[first]))[-1])
        self.words += int(pool.tokens.lengths[best].sum())

    def row(self) -> Reranked:
        """Return the account."""
        n = self.sentences - self.empty
        means = (self.score / n, self.words / n) if n else (None, None)
        return Reranked(self.path, self.output, self.sentences, self.not_first, *means)
