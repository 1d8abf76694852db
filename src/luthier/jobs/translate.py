"""Translating lines as they come: the best translation, several of them, by consensus, and why one won."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError, unwarned
from luthier.corpus.texts import Texts
from luthier.decoding.decoded import Decoded
from luthier.decoding.decoder import Decoder
from luthier.decoding.models import weight_vector
from luthier.decoding.trace import DerivationTree
from luthier.jobs.mbr import mbr
from luthier.jobs.trained_model import TranslationModel
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric

MOST_BEST, MOST_LISTED = 1000, 10_000
TIE = 1e-12
COMPARED, TOLD = 50, 3  # translations that an explanation compares, and changes of weights that it tells


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is wanted of each line.

    Attributes
    ----------
    best : how many translations
    explain : whether to say why the first won
    mbr : a metric by which the one that agrees most with the K best is chosen; None for the best score
    k : how many that are
    """

    best: int = 1
    explain: bool = False
    mbr: Metric | None = None
    k: int = 100

    def __post_init__(self) -> None:
        for name, most in (("best", MOST_BEST), ("k", MOST_LISTED)):
            if not 1 <= getattr(self, name) <= most:
                raise LuthierError(f"expected `{name}` from 1 to {most:,}, found {getattr(self, name):,}")
        if self.mbr is not None and (self.explain or self.best > 1):
            raise LuthierError("a choice by consensus is one translation, which no single derivation explains")

    @classmethod
    def of(cls, *, best: int = 1, explain: bool = False, mbr: str | None = None, k: int = 100) -> Wanted:
        """Return what options say; the metric is named."""
        return cls(best, explain, None if mbr is None else load_metric(mbr), k)


@dataclasses.dataclass(frozen=True)
class UsedRule:
    """One use of a rule in a derivation.

    Attributes
    ----------
    depth : how many uses stand above it
    first, last : the source words it covers, first:last
    source : those words
    rule : the rule
    score : what its own features are worth; what language models say is not in it
    features : those of its features that are not 0
    """

    depth: int
    first: int
    last: int
    source: str
    rule: str
    score: float
    features: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Flip:
    """A weight that, at another value, has another translation win: the best of its list beyond that value."""

    feature: str
    weight: float
    at: float
    text: str


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a translation won.

    Attributes
    ----------
    words : the source as the model sees it
    score : w·h of the translation
    rules : from the goal down
    contributions : weight · value of each feature of the translation that is not 0
    rival, margin : the best other translation, and by how much it lost; "" and None where there is none
    differences : the contributions that decided, winner − rival, the largest first
    flips : what would have won with another value of one weight, the smallest change first
    """

    words: str
    score: float
    rules: tuple[UsedRule, ...]
    contributions: Mapping[str, float]
    rival: str
    margin: float | None
    differences: Mapping[str, float]
    flips: tuple[Flip, ...]

    def text(self) -> str:
        """Return it as lines of text."""
        lines = [f"source   {self.words}", f"score    {self.score:.4f}"]
        if self.margin is not None:
            decided = ", ".join(f"{name} {value:+.4f}" for name, value in list(self.differences.items())[:6])
            lines += [f"second   {self.rival}", f"margin   {self.margin:.4f} = {decided}"]
        lines += [
            f"would win with {one.feature} {one.at:.4g} in place of {one.weight:.4g}: {one.text}"
            for one in self.flips[:TOLD]
        ]
        parts = sorted(self.contributions.items(), key=lambda item: -abs(item[1]))
        lines.append("sum of   " + ", ".join(f"{name} {value:+.4f}" for name, value in parts))
        for use in self.rules:
            lines.append(f"{'  ' * use.depth}{use.first}:{use.last}  {use.rule}  [{use.source}]  {use.score:+.4f}")
            shown = ", ".join(f"{name} {value:.4g}" for name, value in use.features.items())
            lines += [f"{'  ' * use.depth}     {shown}"] if shown else []
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Answer:
    """A line translated: its translations with their scores, the best first; why, where that was asked for."""

    best: tuple[tuple[str, float], ...]
    explanation: Explanation | None = None

    @property
    def text(self) -> str:
        """The translation."""
        return self.best[0][0]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        found: dict[str, Any] = {"translation": self.text}
        if len(self.best) > 1:
            found["best"] = [{"text": text, "score": score} for text, score in self.best]
        if self.explanation is not None:
            found["explanation"] = {**dataclasses.asdict(self.explanation), "text": self.explanation.text()}
        return found


def answer(model: TranslationModel, lines: Texts, wanted: Wanted, *, threads: int = 1) -> list[Answer]:
    """Return the answers to lines; rules are looked up for all of them at once."""
    if wanted.best == 1 and not wanted.explain:
        found = model.restored(translated(model, lines, wanted, threads=threads), lines)
        return [Answer(((text, 0.0),)) for text in found]
    sentences = model.source_lines(lines)
    decoder = model.decoder(model.grammar(sentences, threads=threads))
    k = max(wanted.best, COMPARED if wanted.explain else 1)
    decoded = decoder.decode(sentences, model.weights, k=k, unique=True, derivations=False, threads=threads)
    pool = decoded.pool
    with unwarned():
        weights = model.weights.vector(pool.features.names)
    scores = pool.features.scores(weights)
    counts = np.diff(pool.offsets)
    texts = model.restored(pool.texts, Texts.from_strings(np.repeat(np.array(list(lines), object), counts)))
    answers = []
    for row, first in enumerate(pool.offsets[:-1].tolist()):
        rows = range(first, first + int(counts[row]))
        listed = tuple((texts[i], float(scores[i])) for i in rows[: wanted.best]) or (("", 0.0),)
        told = _explained(decoder, decoded, row, weights, texts, scores) if wanted.explain and len(rows) else None
        answers.append(Answer(listed, told))
    return answers


def translated(model: TranslationModel, lines: Texts, wanted: Wanted, *, threads: int = 1) -> Texts:
    """Return one translation of each line as the model made it, before it becomes ordinary text."""
    if wanted.mbr is None:
        return model.translated(lines, threads=threads)
    sentences = model.source_lines(lines)
    decoder = model.decoder(model.grammar(sentences, threads=threads))
    decoded = decoder.decode(sentences, model.weights, k=wanted.k, unique=True, derivations=False, threads=threads)
    with unwarned():
        chosen = mbr(decoded.pool, select=wanted.mbr, posterior=model.weights, threads=threads).texts
    return Texts.from_strings(chosen or [])


def _explained(
    decoder: Decoder, decoded: Decoded, row: int, weights: Float64, texts: Texts, scores: Float64
) -> Explanation:
    """Return why the first of a list won."""
    pool, first, table = decoded.pool, int(decoded.pool.offsets[row]), decoded.table
    best, names = decoded.firsts[row], pool.features.names
    tree = DerivationTree(decoder.grammar, table, best.rules, best.parents, best.spans)
    words = pool.sources[row] if pool.sources is not None else ""
    listed = np.array([_values(pool.features, i) for i in range(first, int(pool.offsets[row + 1]))])
    own = _nonzero(names, weights * listed[0])
    rival, margin, differences = "", None, {}
    if len(listed) > 1:
        rival, margin = texts[first + 1], float(scores[first] - scores[first + 1])
        apart = weights * (listed[0] - listed[1])
        differences = dict(sorted(_nonzero(names, apart).items(), key=lambda item: -abs(item[1])))
    flips = tuple(
        Flip(names[f], float(weights[f]), at, texts[first + i])
        for f, at, i in _nearest_flips(listed, weights, scores[first : first + len(listed)])
    )
    of_rules = weight_vector(dict(zip(names, weights.tolist(), strict=True)), table.names, quiet=True)
    worth = table.rule_scores(of_rules)
    uses = []
    for depth, (a, b), rule in zip(tree.depths(), tree.spans.tolist(), tree.rules.tolist(), strict=True):
        values = _nonzero(table.features.names, _values(table.features, rule))
        source = " ".join(words.split()[a:b])
        uses.append(UsedRule(depth, a, b, source, table.texts[rule], float(worth[rule]), values))
    return Explanation(words, float(scores[first]), tuple(uses), own, rival, margin, differences, flips)


def _nearest_flips(values: Float64, weights: Float64, scores: Float64) -> list[tuple[int, float, int]]:
    """Return features, the nearest value of each one's weight beyond which the first row does not win, and who does.

    `values` are (K, D), the winner first. Up and down are told apart; the order is that of the change as a share of the
    weight.
    """
    found = []
    apart, behind = values[1:] - values[0], scores[0] - scores[1:]
    for feature in range(len(weights)):
        for rows in (np.flatnonzero(apart[:, feature] > 0), np.flatnonzero(apart[:, feature] < 0)):
            if len(rows):
                changes = behind[rows] / apart[rows, feature]
                least = np.abs(changes).min()
                tied = rows[np.abs(changes) <= least + TIE]  # of these the steepest wins beyond
                row = int(tied[np.argmax(np.abs(apart[tied, feature]))])
                found.append((feature, float(weights[feature] + behind[row] / apart[row, feature]), row + 1))
    return sorted(found, key=lambda one: _share(weights[one[0]], one[1]))


def _share(weight: float, at: float) -> float:
    return abs(at - weight) / abs(weight) if weight else math.inf


def _values(features: Any, row: int) -> Float64:
    """Return the values of all features of a row, (D,)."""
    found = np.zeros(features.n_features)
    found[: features.n_dense] = features.dense[row]
    span = slice(int(features.indptr[row]), int(features.indptr[row + 1]))
    found[features.n_dense + features.indices[span]] = features.values[span]
    return found


def _nonzero(names: Iterable[str], values: Float64) -> dict[str, float]:
    return {name: value for name, value in zip(names, values.tolist(), strict=True) if value}


# A stream: each line is answered before the next is read.


def translate_lines(model: TranslationModel, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the translation of each line as it comes."""
    return (found.text for found in answer_lines(model, lines, Wanted()))


def answer_lines(model: TranslationModel, lines: Iterable[bytes], wanted: Wanted) -> Iterator[Answer]:
    """Yield the answer to each line as it comes; an empty line is answered by an empty one.

    Raises
    ------
    InputError
        At a line that is no UTF-8; those before it are answered.
    """
    for number, raw in enumerate(lines, start=1):
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                expected="text in UTF-8", found=f"the byte {raw[error.start]:#04x}", path="standard input", line=number
            ) from None
        yield answer(model, Texts.from_strings([line]), wanted)[0] if line.strip() else Answer((("", 0.0),))
