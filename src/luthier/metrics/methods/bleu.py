"""BLEU: n-gram precision with a penalty for short output (Papineni et al., 2002)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Bool, Float64
from luthier.core.params import param
from luthier.corpus.tokenizers import TOKENIZERS
from luthier.metrics.base import Metric, Stats, difference_slopes, ratio
from luthier.metrics.batch import Batch
from luthier.metrics.majorant import NEVER, SUM_ROUNDING, Majorant, Majorants, between, flat_limit
from luthier.metrics.ngrams import REFERENCE_LENGTHS, add_matches, reference_lengths, write_totals

LOG_100 = math.log(100.0)


class _Line:
    """A line under construction: slopes, a constant, and the sizes of all that it is made of."""

    def __init__(self, low: Float64, high: Float64) -> None:
        self.low, self.high = low, high
        self.slopes, self.constant, self.size = np.zeros(len(low)), 0.0, 0.0

    def add(self, constant: float, *slopes: tuple[int, float]) -> None:
        """Add a constant, and slopes of statistics by their places."""
        self.constant += constant
        self.size += abs(constant)
        for place, slope in slopes:
            self.slopes[place] += slope
            self.size += abs(slope) * max(abs(self.low[place]), abs(self.high[place]))

    def at(self, sums: Float64) -> float:
        """Return the height of the line over sums."""
        return self.constant + float(self.slopes @ sums)


@dataclasses.dataclass(frozen=True)
class BleuLimits:
    """What the limits of a BLEU depend on; statistics are lengths, then matches, then totals of each order.

    Attributes
    ----------
    order : int
    smoothing : str
    value : float
        What the smoothing puts in the place of no match, or adds.
    effective : bool
        Whether orders without n-grams are left out.
    """

    order: int
    smoothing: str
    value: float
    effective: bool

    def upper(self, points: Float64, lows: Float64, highs: Float64) -> Majorants:
        """Return limits of log BLEU, touching it near the points; (B, S) each.

        A statistic of counts is a whole number, so a total above 0 is 1 at least; without n-grams BLEU is 0, and
        nothing needs to be shown.
        """
        from luthier.metrics import _bleu_limit_kernels as kernels

        n, count = self.order, len(points)
        more = self.value if self.smoothing in ("add-k", "plus-one") else 0.0
        instead = {"exp": 0.5, "floor": self.value}.get(self.smoothing, 0.0)
        slopes, constants, sizes = np.empty(points.shape), np.empty(count), np.empty(count)
        kernels.lines_above_bleu(n, instead, more, points, lows, highs, slopes, constants, sizes)
        never = np.isnan(constants)
        slopes[never] = 0.0
        constants = np.where(never, NEVER, constants + LOG_100 + SUM_ROUNDING * (sizes + LOG_100))
        logarithmic = np.ones(count, np.bool_)
        if self.effective:
            unknown = lows[:, 2 + n :].min(axis=1) < 1.0
            slopes[unknown], logarithmic[unknown] = 0.0, False
            constants[unknown] = 100.0 * max(1.0, self.value if self.smoothing == "floor" else 1.0)
        ones = np.ones(count)
        return Majorants(slopes, constants, logarithmic, np.zeros(count), ones, ones.copy())

    def lower(self, point: Float64, low: Float64, high: Float64) -> Majorant:
        """Return a limit of −BLEU, touching it near the point; (S,) each: chords and tangents change places."""
        n = self.order
        if low[0] < 1.0 or low[2:].min() < 1.0:
            return flat_limit(len(low), 0.0)
        line, share = _Line(low, high), 1.0 / n
        for k in range(n):
            more = self.value if k and self.smoothing in ("add-k", "plus-one") else 0.0
            left, right = low[2 + k] + more, high[2 + k] + more
            steep = (math.log(right) - math.log(left)) / (right - left) if right > left else 0.0
            line.add(share * math.log(left))
            line.add(share * steep * (more - left), (2 + k, share * steep))
            place = 2 + n + k
            q = between(point[place], low[place], high[place]) + more
            line.add(-share * math.log(q))
            line.add(share * (1.0 - more / q), (place, -share / q))
        ends = [min(0.0, 1.0 - float(high[1]) / float(c)) for c in (low[0], high[0])]
        steep = (ends[1] - ends[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
        line.add(ends[0] - steep * low[0], (0, steep))
        line.add(LOG_100)
        # a logarithm that is high − low times as wrong as its ends is wrong by less than what is taken off here
        line.constant -= 4 * SUM_ROUNDING * line.size
        here = line.at(np.clip(point, low, high))
        factor = math.exp(here)
        constant = -factor * (1.0 + line.constant - here)
        size = factor * (1.0 + line.size + abs(here))
        return Majorant(-factor * line.slopes, constant + SUM_ROUNDING * size)


SMOOTHINGS = ("none", "floor", "add-k", "exp", "plus-one")
# What Chen and Cherry found to work; sacrebleu has the same.
DEFAULT_VALUES = {"floor": 0.1, "add-k": 1.0}


@dataclasses.dataclass(frozen=True)
class Method(Metric):
    r"""BLEU of order n: :math:`100 \cdot BP \cdot \exp(\frac{1}{n} \sum_k \log (m_k / t_k))`.

    Here m_k are the matched k-grams, clipped by the largest count in any reference, t_k all k-grams, and
    BP = min(1, exp(1 − r/c)) for a hypothesis length c and a reference length r.

    Smoothings: ``floor`` puts a small value in the place of no match, ``add-k`` adds it to matches and
    totals of orders above 1, ``exp`` halves the precision with every order without match; these are as
    sacrebleu has them. ``plus-one`` is ``add-k`` with 1, but leaves out the orders that a short sentence
    cannot have instead of scoring them 1.
    """

    variants: ClassVar[dict[str, dict[str, Any]]] = {
        "nist": {"reference_length": "shortest"},
        "ibm": {"reference_length": "closest"},
        "mean": {"reference_length": "mean"},
    }

    order: int = param(4, low=1, high=16, help="longest n-grams")
    reference_length: str = param(
        "closest", choices=REFERENCE_LENGTHS, help="which of several references gives the length"
    )
    smoothing: str = param("exp", choices=SMOOTHINGS, help="smoothing of corpus scores")
    smoothing_value: float | None = param(None, low=0.0, help="value of floor (0.1) and add-k (1)")
    effective_order: bool = param(False, help="leave out orders that the hypotheses do not have")
    sentence_smoothing: str = param(
        "plus-one", choices=SMOOTHINGS, help="smoothing of sentence scores, which have effective order"
    )
    tokenizer: str = param("none", choices=TOKENIZERS, help="tokenizer of raw text")
    lowercase: bool = param(False, help="ignore case")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Lengths, then matches, then totals of each order."""
        orders = range(1, self.order + 1)
        return (
            "hyp_len",
            "ref_len",
            *(f"matches_{n}" for n in orders),
            *(f"totals_{n}" for n in orders),
        )

    def stats(self, batch: Batch) -> Stats:
        """Return the statistics of every hypothesis, (M, 2 + 2n), int64 unless the length is a mean."""
        hyps, refs = batch.tokens(self.tokenizer, lowercase=self.lowercase)
        out = np.zeros((batch.n_hypotheses, len(self.stat_names)), dtype=np.int64)
        add_matches(batch, hyps, refs, order=self.order, merged=True, out=out, left=2)
        out[:, 0] = hyps.lengths
        write_totals(hyps, order=self.order, out=out, left=2 + self.order)
        lengths = reference_lengths(batch, hyps, refs, self.reference_length)
        if lengths.dtype != out.dtype:
            out = out.astype(lengths.dtype)
        out[:, 1] = lengths
        return out

    def score(self, stats: Stats) -> Float64:
        """Return BLEU of (sums of) statistics."""
        return self._bleu(stats, self.smoothing, effective_order=self.effective_order)

    def sentence_score(self, stats: Stats) -> Float64:
        """Return BLEU of single sentences, by `sentence_smoothing` and with effective order."""
        return self._bleu(stats, self.sentence_smoothing, effective_order=True)

    def slopes(self, sums: Float64) -> Float64 | None:
        """Return the slopes by lengths, matches and totals, (S,), where every order has matches."""
        return self.smooth_score(sums, 0.0)[1] if self._is_plain(sums) else None

    def smooth_score(self, sums: Float64, sharpness: float) -> tuple[float, Float64]:
        """Return the score with a smooth brevity penalty, and its slopes, (S,).

        With log b = −softplus(κ·(r/c − 1))/κ + Σ_k log(m_k/t_k)/n, ∂ log b is 1/(n·m_k) by the matches,
        −1/(n·t_k) by the totals, and by the lengths what the first term gives. That term is min(0, 1 − r/c) for
        κ → ∞, which is what a `sharpness` κ of 0 means; a search that ends where output is just long enough, as
        good ones do, needs it smooth [rosti2011]. Smoothing for orders without match changes nothing where every
        m_k > 0; other smoothings are differentiated by differences.
        """
        if not self._is_plain(sums):
            return float(self.score(sums)), difference_slopes(self.score, sums)
        value, n = float(self.score(sums)), self.order
        c, r = sums[:2]
        x = r / c - 1.0
        slope = float(x > 0)
        if sharpness:
            value *= float(np.exp(max(0.0, x) - np.logaddexp(0.0, sharpness * x) / sharpness))
            slope = float(np.exp(-np.logaddexp(0.0, -sharpness * x)))
        logs = [slope * r / c**2, -slope / c], 1.0 / (n * sums[2 : 2 + n]), -1.0 / (n * sums[2 + n :])
        return value, value * np.concatenate(logs)

    def majorant(self, point: Float64, low: Float64, high: Float64, *, sign: float = 1.0) -> Majorant:
        """Return a limit of sign · BLEU for all sums between low and high."""
        if sign > 0:
            return self._limits.upper(*(np.ascontiguousarray(part[None], np.float64) for part in (point, low, high)))[0]
        return self._limits.lower(point, low, high)

    def majorants(self, points: Float64, lows: Float64, highs: Float64, *, sign: float = 1.0) -> Majorants:
        """Return limits of sign · BLEU for several ranges of sums."""
        if sign > 0:
            return self._limits.upper(points, lows, highs)
        return super().majorants(points, lows, highs, sign=sign)

    @property
    def _limits(self) -> BleuLimits:
        effective = self.effective_order or self.smoothing == "plus-one"
        return BleuLimits(self.order, self.smoothing, self.smoothing_value_of(self.smoothing), effective=effective)

    def smoothing_value_of(self, smoothing: str) -> float:
        """Return what a smoothing adds, or puts in the place of no match."""
        value = DEFAULT_VALUES.get(smoothing, 1.0)
        return self.smoothing_value if self.smoothing_value is not None and smoothing in DEFAULT_VALUES else value

    def _is_plain(self, sums: Float64) -> bool:
        """Return whether no smoothing of precisions has a part in the score of sums, (S,)."""
        return self.smoothing in ("none", "floor", "exp") and bool(sums[2:].min() > 0.0)

    def _bleu(self, stats: Stats, smoothing: str, *, effective_order: bool) -> Float64:
        # Statistics first: each is then one stretch of memory, over which NumPy is fastest.
        checked = self.check_stats(stats)
        values = np.ascontiguousarray(checked.transpose(-1, *range(checked.ndim - 1)), dtype=np.float64)
        hyp_len, ref_len = values[0], values[1]
        matches, totals = values[2 : 2 + self.order], values[2 + self.order :]  # (n, ...)
        if smoothing in ("none", "floor", "exp") and values.size and values.min() > 0.0:
            # no smoothing has a part, no order is missing: the same operations without what asks for that
            logs = np.log(matches / totals).sum(axis=0) / self.order
            return np.asarray(100.0 * np.exp(np.minimum(1.0 - ref_len / hyp_len, 0.0) + logs))
        matched = np.any(matches > 0, axis=0)
        value = self.smoothing_value_of(smoothing)
        if smoothing in ("add-k", "plus-one"):
            more = np.full_like(totals, value)
            more[0] = 0.0
            if smoothing == "plus-one":
                more[totals == 0] = 0.0
            matches, totals = matches + more, totals + more
        # An order behind one without n-grams is not reached; it counts as 0, or not at all.
        reached = np.logical_and.accumulate(totals > 0, axis=0)
        numerators = _without_zeros(matches, reached, smoothing, value)
        precisions = np.divide(numerators, totals, out=np.zeros_like(totals), where=reached)
        with np.errstate(divide="ignore"):
            logs = np.log(precisions)
        orders: Any = self.order
        if effective_order or smoothing == "plus-one":
            orders = np.maximum(reached.sum(axis=0), 1)
            logs[~reached] = 0.0
        # Exp of −inf is 0: no output has no brevity credit, and no match no precision.
        gap = np.where(hyp_len > 0, 1.0 - ratio(ref_len, hyp_len), -np.inf)
        logs = np.minimum(gap, 0.0) + logs.sum(axis=0) / orders
        return np.where(matched, 100.0 * np.exp(logs), 0.0)


def _without_zeros(matches: Float64, reached: Bool, smoothing: str, value: float) -> Float64:
    """Return the matches with something in the place of none where the smoothing says so, (n, ...)."""
    missing = (matches == 0) & reached
    if smoothing not in ("floor", "exp") or not missing.any():
        return matches
    stand_in = value if smoothing == "floor" else 0.5 ** np.cumsum(missing, axis=0)
    return np.where(missing, stand_in, matches)
