"""chrF and chrF++: F-score of character (and word) n-grams (Popović, 2015, 2017)."""

from __future__ import annotations

import dataclasses
import math
import string
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64, Int32
from luthier.core.params import ParameterError, param
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner
from luthier.metrics import _chrf_kernels as kernels
from luthier.metrics.base import Metric, Stats, ratio
from luthier.metrics.batch import Batch, Numbered
from luthier.metrics.majorant import SUM_ROUNDING, Majorant, between, flat_limit
from luthier.metrics.ngrams import add_matches, pair_blocks


@dataclasses.dataclass(frozen=True)
class ChrfLimits:
    """What the limits of chrF depend on; statistics are n-grams of hypothesis, of reference, and matched, by order.

    Attributes
    ----------
    factor : float
        β².
    separate : bool
        Whether the mean over the orders is that of F-scores, instead of that of precisions and recalls.
    epsilon : float
        What represents a share of nothing.
    """

    factor: float
    separate: bool
    epsilon: float

    def upper(self, point: Float64, low: Float64, high: Float64) -> Majorant:
        """Return a limit of chrF, touching it near the point; (S,) each.

        F = (1 + β²)PR/(β²P + R) is concave and homogeneous, so F ≤ F_P·P + F_R·R with the slopes at any (P₀, R₀).
        A share m/h is at most m₁/h + (m − m₁)/h₁ with m₁ lowest and h₁ lowest, or m₁ highest and h₁ highest; 1/h is
        below its chord.
        """
        orders = self._orders(low, high)
        if orders is None:
            return flat_limit(len(low), 100.0 * (1 + SUM_ROUNDING))
        slopes, constant, size = np.zeros(len(low)), 0.0, 0.0
        n_orders = len(low) // 3 if self.separate else max(len(orders), 1)
        shares = [_share_lines(point, low, high, k) for k in orders]
        groups = [[lines] for lines in shares] if self.separate else [shares] if shares else []
        for group in groups:
            tangent = self._tangent(*np.array([[line.here for line in lines] for lines in group]).mean(axis=0))
            for lines in group:
                for steep, line in zip(tangent, lines, strict=True):
                    weight = 100.0 * steep / n_orders
                    slopes[line.places[0]] += weight * line.slopes[0]
                    slopes[line.places[1]] += weight * line.slopes[1]
                    constant += weight * line.constant
                    size += weight * line.size
        if self.separate:
            constant += 100.0 * self.epsilon
        return Majorant(slopes, constant + SUM_ROUNDING * (size + abs(constant)))

    def lower(self, low: Float64, high: Float64) -> Majorant:
        """Return a limit of −chrF, which is least where matches are fewest and n-grams most; (S,) each."""
        orders = self._orders(low, high)
        if orders is None:
            return flat_limit(len(low), 0.0)
        pairs = [(low[3 * k + 2] / high[3 * k], low[3 * k + 2] / high[3 * k + 1]) for k in orders]
        if self.separate:
            score = math.fsum(self._mean(*pair) for pair in pairs) / (len(low) // 3)
        else:
            score = self._mean(*np.array(pairs).mean(axis=0)) if pairs else 0.0
        return flat_limit(len(low), -100.0 * score * (1 - SUM_ROUNDING))

    def _orders(self, low: Float64, high: Float64) -> list[int] | None:
        """Return the orders that count, or None where that depends on the selection."""
        sides = np.arange(0, len(low), 3)
        sure = (low[sides] >= 1.0) & (low[sides + 1] >= 1.0)
        never = (high[sides] < 1.0) | (high[sides + 1] < 1.0)
        return None if not np.all(sure | never) else np.flatnonzero(sure).tolist()

    def _mean(self, precision: float, recall: float) -> float:
        below = self.factor * precision + recall
        return (1 + self.factor) * precision * recall / below if below > 0 else 0.0

    def _tangent(self, precision: float, recall: float) -> tuple[float, float]:
        """Return the slopes of F; where both are 0, those at (1, 1), since any tangent plane is a limit."""
        if precision + recall <= 0:
            precision = recall = 1.0
        below = (self.factor * precision + recall) ** 2
        ahead = 1 + self.factor
        return ahead * recall**2 / below, ahead * self.factor * precision**2 / below


@dataclasses.dataclass(frozen=True)
class _ShareLine:
    """constant + slopes·(m, h) ≥ m/h, at `places` of the statistics, and the share at the point."""

    places: tuple[int, int]
    slopes: tuple[float, float]
    constant: float
    size: float
    here: float


def _share_lines(point: Float64, low: Float64, high: Float64, k: int) -> tuple[_ShareLine, _ShareLine]:
    """Return lines above precision and recall of an order."""
    matches = 3 * k + 2
    return _share_line(point, low, high, (matches, 3 * k)), _share_line(point, low, high, (matches, 3 * k + 1))


def _share_line(point: Float64, low: Float64, high: Float64, places: tuple[int, int]) -> _ShareLine:
    (m_low, m_high), (left, right) = ((float(low[i]), float(high[i])) for i in places)
    m, h = (between(float(point[i]), float(low[i]), float(high[i])) for i in places)
    found = []
    for base, divisor in ((m_low, left), (m_high, right)):
        # the chord of 1/h: 1/left + 1/right − h/(left·right)
        constant = base * (1.0 / left + 1.0 / right) - base / divisor if right > left else base / left - base / divisor
        slope = -base / (left * right) if right > left else 0.0
        found.append((constant + m / divisor + slope * h, constant, (1.0 / divisor, slope), base))
    _, constant, slopes, base = min(found)
    size = base * (2.0 / left + 1.0 / right) + m_high * slopes[0] + abs(slopes[1]) * right
    return _ShareLine(places, slopes, constant, size, m / h)


EPSILON = 1e-16  # precision or recall of an order without n-grams, as chrF++.py has it


@dataclasses.dataclass(frozen=True)
class Method(Metric):
    r"""chrF: :math:`100 (1 + \beta^2) P R / (\beta^2 P + R)`, P and R averaged over the orders.

    P is the share of the hypothesis' n-grams found in the reference, R that of the reference's found in
    the hypothesis. If there are several references, the one with the best score
    counts. Settings are those of sacrebleu; `word_order` 2 is chrF++.
    """

    variants: ClassVar[dict[str, dict[str, Any]]] = {"pp": {"word_order": 2}}

    char_order: int = param(6, low=0, high=16, help="longest character n-grams")
    word_order: int = param(0, low=0, high=16, help="longest word n-grams; 2 is chrF++")
    beta: float = param(2.0, low=0.0, help="weight of recall against precision")
    whitespace: bool = param(False, help="count white space as characters")
    lowercase: bool = param(False, help="ignore case")
    eps_smoothing: bool = param(False, help="smooth as chrF++.py does, without effective order")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.char_order + self.word_order == 0:
            raise ParameterError("chrf needs a 'char_order' or a 'word_order' of at least 1, got 0 and 0")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order: n-grams of the hypothesis, of the reference, and matched."""
        orders = [f"char_{n + 1}" for n in range(self.char_order)]
        orders += [f"word_{n + 1}" for n in range(self.word_order)]
        return tuple(f"{what}_{order}" for order in orders for what in ("hyp", "ref", "matches"))

    def stats(self, batch: Batch) -> Stats:
        """Return the statistics of every hypothesis with its best reference, (M, 3 orders) int64."""
        chars, words = self.levels(batch)
        levels = [(chars, self.char_order), (words, self.word_order)]
        out = np.zeros((batch.n_hypotheses, len(self.stat_names)), dtype=np.int64)
        for block, n_pairs in pair_blocks(batch):
            matches = np.zeros((n_pairs, self.char_order + self.word_order), dtype=np.int64)
            left = 0
            for (hyps, refs), order in levels:
                if order:
                    add_matches(block, hyps, refs, order=order, merged=False, out=matches, left=left)
                left += order
            kernels.choose_references(
                kernels.Side(block.offsets, chars[0].offsets, words[0].offsets),
                kernels.Side(block.ref_offsets, chars[1].offsets, words[1].offsets),
                self.char_order,
                matches,
                float(self.beta**2),
                self.eps_smoothing,
                EPSILON,
                out,
            )
        return out

    def levels(self, batch: Batch) -> tuple[tuple[Tokens, Tokens], tuple[Tokens, Tokens]]:
        """Return the characters of hypotheses and references, and their words if they are counted."""
        chars = batch.characters("keep" if self.whitespace else "drop", lowercase=self.lowercase)
        return chars, _split_words(batch.numbered(lowercase=self.lowercase)) if self.word_order else chars

    def score(self, stats: Stats) -> Float64:
        """Return chrF of (sums of) statistics."""
        stats = self.check_stats(stats).astype(np.float64)
        hyp, ref, matches = stats[..., 0::3], stats[..., 1::3], stats[..., 2::3]  # (..., orders)
        precision, recall = ratio(matches, hyp, EPSILON), ratio(matches, ref, EPSILON)
        factor = self.beta**2
        if self.eps_smoothing:
            below = factor * precision + recall
            f_scores = ratio((1 + factor) * precision * recall, below, EPSILON)
            return np.asarray(100.0 * f_scores.mean(axis=-1))
        effective = (hyp > 0) & (ref > 0)
        orders = effective.sum(axis=-1)
        precision = ratio(np.where(effective, precision, 0.0).sum(axis=-1), orders)
        recall = ratio(np.where(effective, recall, 0.0).sum(axis=-1), orders)
        return 100.0 * ratio((1 + factor) * precision * recall, factor * precision + recall)

    def majorant(self, point: Float64, low: Float64, high: Float64, *, sign: float = 1.0) -> Majorant:
        """Return a limit of sign · chrF for all sums between low and high."""
        limits = ChrfLimits(self.beta**2, separate=self.eps_smoothing, epsilon=EPSILON)
        return limits.upper(point, low, high) if sign > 0 else limits.lower(low, high)


def _split_words(numbered: Numbered) -> tuple[Tokens, Tokens]:
    """Return the words with a punctuation mark split off the end, or else off the beginning.

    As in sacrebleu, at most one mark is split off a word: ``(hi)`` becomes ``(hi`` and ``)``.
    """
    interner = Interner()
    halves = [_halves(word) for word in numbered.vocab]
    firsts = interner.intern_texts(Texts.from_strings(first for first, _ in halves))
    seconds = interner.intern_texts(Texts.from_strings(second for _, second in halves))
    seconds[[not second for _, second in halves]] = -1
    return tuple(_expand(tokens, firsts, seconds) for tokens in (numbered.hyps, numbered.refs))  # type: ignore[return-value]


def _halves(word: str) -> tuple[str, str]:
    if len(word) > 1 and word[-1] in string.punctuation:
        return word[:-1], word[-1]
    if len(word) > 1 and word[0] in string.punctuation:
        return word[0], word[1:]
    return word, ""


def _expand(tokens: Tokens, firsts: Int32, seconds: Int32) -> Tokens:
    offsets = np.empty(len(tokens) + 1, dtype=np.int64)
    ids = np.empty(2 * len(tokens.ids), dtype=np.int32)
    used = kernels.split_words(tokens.ids, tokens.offsets, firsts, seconds, offsets, ids)
    return Tokens(offsets, ids[:used])
