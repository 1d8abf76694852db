"""What single hypotheses are worth: by themselves, or to the corpus."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.landscape.list_problem import ListProblem

GAIN_KINDS = ("corpus", "sentence")


def hypothesis_gains(problem: ListProblem, weights: Float64, kind: str) -> Float64:
    """Return a gain for every hypothesis, (M,): that of its sentence alone, or its part in the corpus's."""
    return problem.sentence_gains if kind == "sentence" else corpus_gains(problem, weights)


def corpus_gains(problem: ListProblem, weights: Float64) -> Float64:
    """Return what each hypothesis would add to the corpus's gain beside the present selections, (M,).

    To first order, N · ∇gain(Σ) · x for statistics x and their sum Σ over what `weights` select: points, on
    the scale of sentence gains, up to a constant that is the same for all. Unlike sentence gains they
    need no smoothing, and know whether the corpus as a whole is too short or too long. The slopes of the
    gain are differences over about one sentence's statistics to both sides, which rounds off the corner
    where a brevity penalty begins.
    """
    stats = problem.stats
    selected = problem.select(weights)
    total = stats[selected].sum(axis=0).astype(np.float64)  # (S,)
    step = np.where(total == 0, 1.0, np.abs(total)) / (len(selected) + 1)
    above, below = total + np.diag(step), np.maximum(total - np.diag(step), np.minimum(total, 0.0))
    rise = problem.gain_of_sums(above) - problem.gain_of_sums(below)
    slopes = len(selected) * rise / np.diag(above - below)
    gains = np.zeros(len(stats))
    for column, slope in zip(stats.T, slopes, strict=True):  # in a fixed order, unlike a matrix product
        gains += column * slope
    return flat(gains)
