"""What a search over boxes has proven."""

from __future__ import annotations

import dataclasses
from typing import Any

from luthier.core.arrays import Float64
from luthier.metrics.base import Metric


@dataclasses.dataclass(frozen=True, eq=False)
class Certificate:
    """The best weights found, and a limit that no weights of the space exceed.

    Attributes
    ----------
    weights : (D,)
    gain : float
        Of a re-rank with these weights.
    bound : float
        No weights of the space have a higher gain.
    gap : float
        What was asked for: the search ends when `bound` is no more above `gain`.
    boxes : int
        How many boxes were looked at.
    n_open, open_share
        Boxes that may still hold more than the gap allows, and their share of the space's volume.
    whole : bool
        Whether the space has no window.
    everything : bool
        Whether it has no window and moves every weight that matters and is not fixed: then the bound is global.
    limited : bool
        Whether limits on weights cut the space, or fix a weight that matters.
    ties : bool
        Whether the bound counts weights at which a list hangs on a tie, or on the last digits.
    stopped : bool
        Whether somebody stopped the search.
    metric : Metric
    """

    weights: Float64
    gain: float
    bound: float
    gap: float
    boxes: int
    n_open: int
    open_share: float
    whole: bool
    everything: bool
    limited: bool
    ties: bool
    stopped: bool
    metric: Metric

    @property
    def complete(self) -> bool:
        """Whether the gap was closed."""
        return self.bound <= self.gain + self.gap

    @property
    def distance(self) -> float:
        """How far the weights are from the best there are, at most."""
        return self.bound - self.gain

    @property
    def score(self) -> float:
        """The metric's score at the weights."""
        return self.gain if self.metric.higher_is_better else -self.gain

    @property
    def score_bound(self) -> float:
        """The bound as a score."""
        return self.bound if self.metric.higher_is_better else -self.bound

    @property
    def line(self) -> str:
        """How far it is, in one line."""
        return (
            f"{self.boxes:,} boxes: best {self.score:.4f}, bound {self.score_bound:.4f}, at most {self.distance:.4f} "
            f"to gain, {self.n_open:,} boxes open ({100 * self.open_share:.3g} % of the space)"
        )

    @property
    def sentence(self) -> str:
        """What is proven, in one sentence."""
        said = f"at most {self.distance:.4g} below the best {self.where}, proven by {self.boxes:,} boxes"
        if self.complete:
            return said
        if not self.n_open:
            return f"{said}; {self.end}"
        return f"{said}; {self.end}, {self.n_open:,} boxes are open ({100 * self.open_share:.3g} % of the space)"

    @property
    def where(self) -> str:
        """Of what the best is meant."""
        where = "in the window"
        if self.whole:
            all_of_them = "within the bounds" if self.limited else "there are"
            where = f"of all weights {all_of_them if self.everything else 'along the axes'}"
        return where if self.ties else f"{where}, ties aside"

    @property
    def end(self) -> str:
        """Why the search ended."""
        if self.complete:
            return f"closed to a gap of {self.gap:g}"
        if not self.n_open:
            return "not closed: what is left hangs on ties"
        return "stopped" if self.stopped else "not closed within the limit"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values."""
        return {
            "metric": self.metric.signature,
            "score": self.score,
            "bound": self.score_bound,
            "distance": self.distance,
            "gap": self.gap,
            "complete": self.complete,
            "boxes": self.boxes,
            "open_boxes": self.n_open,
            "open_share": self.open_share,
            "whole": self.whole,
            "global": self.everything,
            "ties": self.ties,
            "weights": self.weights.tolist(),
        }


@dataclasses.dataclass(frozen=True)
class Proof:
    """What a search proves of weights that somebody else found: their distance from the best is no larger.

    `bound` is a score. `better` is the score that the search met on the way, where it is better. `where` says of what
    the best is meant.
    """

    bound: float
    distance: float
    boxes: int
    better: float | None
    where: str

    @classmethod
    def of(cls, found: Certificate, gain: float) -> Proof:
        """Return what a certificate says of weights with this gain, from which its search began."""
        better = found.score if found.gain > gain else None
        return cls(found.score_bound, found.bound - gain, found.boxes, better, found.where)

    @property
    def sentence(self) -> str:
        """What is proven, in one sentence."""
        said = f"at most {self.distance:.4g} below the best {self.where}, proven by {self.boxes:,} boxes"
        return said if self.better is None else f"{said}; {self.better:.6g} was met on the way"
