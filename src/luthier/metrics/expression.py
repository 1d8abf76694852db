"""Several metrics side by side, and weighted sums of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.metrics.base import Metric, Rate, Stats
from luthier.metrics.batch import Batch
from luthier.metrics.majorant import SUM_ROUNDING, Majorant


@dataclasses.dataclass(frozen=True)
class SideBySide(Metric):
    """Several metrics at once: the statistics of the `parts` side by side."""

    parts: tuple[Metric, ...]

    @property
    def stat_names(self) -> tuple[str, ...]:
        """``part.statistic``; if several parts have one name, the second is ``part2``, and so on."""
        parts = zip(self.labels(), self.parts, strict=True)
        return tuple(f"{label}.{name}" for label, part in parts for name in part.stat_names)

    def stats(self, batch: Batch) -> Stats:
        """Return the statistics of all parts side by side, (M, S); float64 if those of any part are."""
        return np.concatenate([part.stats(batch) for part in self.parts], axis=1)

    def labels(self) -> list[str]:
        """Return a name for each part; if several have one name, the second is ``part2``, and so on."""
        met: dict[str, int] = {}
        labels = []
        for part in self.parts:
            met[part.name] = met.get(part.name, 0) + 1
            labels.append(part.name + (str(met[part.name]) if met[part.name] > 1 else ""))
        return labels

    def own(self, stats: Stats) -> Iterator[tuple[Metric, Stats]]:
        """Yield each part with its own statistics, (..., S)."""
        stats, left = self.check_stats(stats), 0
        for part in self.parts:
            right = left + len(part.stat_names)
            yield part, stats[..., left:right]
            left = right

    def part_scores(self, sums: Stats) -> dict[str, float]:
        """Return the score of each part, of summed statistics, (S,), by its label."""
        return {label: float(part.score(own)) for label, (part, own) in zip(self.labels(), self.own(sums), strict=True)}


@dataclasses.dataclass(frozen=True)
class Expression(SideBySide):
    """constant + Σ coefficients[k] · parts[k].

    Attributes
    ----------
    parts, coefficients
        Metrics, and as many finite numbers other than 0.
    constant
    maximize
        The direction of improvement. None: that of the parts, if all of them pull the sum the same way.
    """

    coefficients: tuple[float, ...]
    constant: float = 0.0
    maximize: bool | None = None

    def __post_init__(self) -> None:
        if not self.parts or len(self.parts) != len(self.coefficients):
            raise LuthierError(
                f"expected one coefficient for each of one or more metrics, found {len(self.coefficients)} "
                f"for {len(self.parts)}"
            )
        numbers = np.array([*self.coefficients, self.constant])
        if not np.isfinite(numbers).all() or 0.0 in self.coefficients:
            raise LuthierError(f"expected finite coefficients other than 0, found {self.coefficients}")
        if self.maximize is None and self._common_direction() is None:
            raise LuthierError(
                f"the parts of {self.formula!r} pull in different directions ({self._directions()}), so it "
                "is not clear what is better. hint: say whether to minimize or to maximize it"
            )

    @property
    def higher_is_better(self) -> bool:
        """As `maximize` says, otherwise as all parts do."""
        return bool(self._common_direction() if self.maximize is None else self.maximize)

    def score(self, stats: Stats) -> Float64:
        """Return the weighted sum of the parts' scores."""
        return self._sum([part.score(own) for part, own in self.own(stats)])

    @property
    def rates(self) -> tuple[Rate, ...] | None:
        """The rates of all parts, if every part is a sum of rates."""
        rates: list[Rate] = []
        for label, part, c in zip(self.labels(), self.parts, self.coefficients, strict=True):
            if part.rates is None:
                return None
            rates += [Rate(f"{label}.{r.numerator}", f"{label}.{r.denominator}", c * r.factor) for r in part.rates]
        return tuple(rates)

    def slopes(self, sums: Float64) -> Float64 | None:
        """Return the slopes of the parts side by side, (S,), if every part has them."""
        slopes = [part.slopes(own) for part, own in self.own(sums)]
        if any(own is None for own in slopes):
            return None
        return np.concatenate([c * own for c, own in zip(self.coefficients, slopes, strict=True) if own is not None])

    def smooth_score(self, sums: Float64, sharpness: float) -> tuple[float, Float64]:
        """Return the weighted sum of the parts' smooth scores, and their slopes side by side, (S,)."""
        found = [part.smooth_score(own, sharpness) for part, own in self.own(sums)]
        slopes = np.concatenate([c * own for c, (_, own) in zip(self.coefficients, found, strict=True)])
        return float(self._sum([np.asarray(score) for score, _ in found])), slopes

    def majorant(self, point: Float64, low: Float64, high: Float64, *, sign: float = 1.0) -> Majorant | None:
        """Return the sum of the parts' limits as lines, if every part has one; a minus takes the limit of −score."""
        slopes, constant, size, left = [], sign * self.constant, abs(self.constant), 0
        for part, c in zip(self.parts, self.coefficients, strict=True):
            own = slice(left, left + len(part.stat_names))
            found = part.majorant(point[own], low[own], high[own], sign=float(np.sign(sign * c)))
            if found is None:
                return None
            line = found.line(low[own], high[own])
            slopes.append(abs(c) * line.slopes)
            constant += abs(c) * line.constant
            size += abs(c * line.constant) + float(np.abs(slopes[-1]) @ np.maximum(np.abs(low[own]), np.abs(high[own])))
            left = own.stop
        return Majorant(np.concatenate(slopes), constant + SUM_ROUNDING * size)

    def sentence_score(self, stats: Stats) -> Float64:
        """Return the weighted sum of the parts' sentence scores."""
        return self._sum([part.sentence_score(own) for part, own in self.own(stats)])

    @property
    def name(self) -> str:
        """The formula without parameters: ``0.5*ter - 0.5*bleu``."""
        return self._formula([part.name for part in self.parts])

    @property
    def formula(self) -> str:
        """The formula with all parameters of the parts."""
        return self._formula([part.spec for part in self.parts])

    @property
    def spec(self) -> str:
        """The formula, and the direction where it was said."""
        if self.maximize is None:
            return self.formula
        return f"{'maximize' if self.maximize else 'minimize'}({self.formula})"

    def _sum(self, scores: list[Float64]) -> Float64:
        total: Any = self.constant
        for coefficient, score in zip(self.coefficients, scores, strict=True):
            total = total + coefficient * score
        return np.asarray(total)

    def _formula(self, names: list[str]) -> str:
        text = ""
        for name, c in zip(names, self.coefficients, strict=True):
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + (name if abs(c) == 1 else f"{abs(c)!r}*{name}")
        if self.constant:
            text += f" {'-' if self.constant < 0 else '+'} {abs(self.constant)!r}"
        return text

    def _pulls(self) -> list[bool | None]:
        """Return for each part whether its improvement raises the sum; None where it has no direction."""
        return [
            None if part.higher_is_better is None else part.higher_is_better == (c > 0)
            for part, c in zip(self.parts, self.coefficients, strict=True)
        ]

    def _common_direction(self) -> bool | None:
        pulls = set(self._pulls())
        return pulls.pop() if len(pulls) == 1 else None

    def _directions(self) -> str:
        words = {True: "up", False: "down", None: "neither way"}
        names = (part.name for part in self.parts)
        return ", ".join(f"{name} {words[pull]}" for name, pull in zip(names, self._pulls(), strict=True))
