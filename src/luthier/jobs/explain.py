"""Why a hypothesis won: ``luthier.explain`` takes one list apart at given weights."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.params import checked
from luthier.jobs.opening import AnyPool, AnyWeights, weighted
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.explanation import SentenceExplanation, explanation_of
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric


@dataclasses.dataclass(frozen=True)
class Flip:
    """The change of one weight, all others as they are, beyond which another text wins.

    `effect` is the change times the feature's spread within lists, by which changes of different weights compare.
    """

    feature: str
    change: float
    effect: float
    text: str


@dataclasses.dataclass(frozen=True)
class Ranked:
    """A hypothesis of the list: its number in the list from 0, its text, w·h, and the metric of it alone."""

    hypothesis: int
    text: str
    score: float
    metric_score: float


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation(Shown):
    """The list of one sentence at given weights.

    Attributes
    ----------
    sentence, sentence_id
        The sentence's number in the pool, from 0, and its id.
    metric : str
        The signature of the metric of `metric_score`.
    hypotheses : tuple of Ranked
        By falling score; ties go to the one that stands first in the list.
    contributions : tuple of mappings
        What scores are made of, w·h of each feature by name: of the winner, and of the first with other words.
    second : int or None
        The place of that one among the hypotheses; None if all have the same words.
    oracle : int
        The place of the best hypothesis by the metric.
    flips : tuple of Flip
        The least change of each weight that overturns the winner, up and down; the least effect first.
    """

    sentence: int
    sentence_id: str
    metric: str
    hypotheses: tuple[Ranked, ...]
    contributions: tuple[dict[str, float], ...]
    second: int | None
    oracle: int
    flips: tuple[Flip, ...]

    @property
    def winner(self) -> Ranked:
        """The selected hypothesis."""
        return self.hypotheses[0]

    @property
    def gap(self) -> float | None:
        """By how much the winner leads the first hypothesis with other words."""
        return None if self.second is None else self.winner.score - self.hypotheses[self.second].score

    @property
    def smallest_flip(self) -> Flip | None:
        """The change of the least effect that overturns the winner; None if no single weight does."""
        return self.flips[0] if self.flips else None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        flip = self.smallest_flip
        return {**dataclasses.asdict(self), "gap": self.gap, "flip": None if flip is None else dataclasses.asdict(flip)}


@checked
def explain(
    pool: AnyPool, sentence: int | str, weights: AnyWeights | None = None, *, metric: str | Metric = "bleu"
) -> Explanation:
    """Explain why a hypothesis of a sentence won at given weights, and what would overturn it.

    Parameters
    ----------
    pool
        Lists, or where they are.
    sentence
        Its number in the pool, from 0, or its id as a text.
    weights
        By name, a vector or a file (default: 1 for each feature, −1 for costs).
    metric
        A metric or its name, by which the hypotheses of the list are judged.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0], "hyp": ["a", "b"], "lm": [-1.0, -2], "tm": [-3.0, -1], "q": [0.2, 0.5]}
    >>> found = explain(pool_from_frame(frame, columns=["q"]), 0, {"lm": 1.0, "tm": 1.0}, metric="column:q")
    >>> found.winner.text, found.gap, found.contributions[0]
    ('b', 1.0, {'lm': -2.0, 'tm': -1.0})
    >>> found.smallest_flip
    Flip(feature='lm', change=1.0, effect=0.5, text='a')
    """
    lists, vector = weighted(pool, weights)
    number = _number(lists.sentence_ids, lists.n_sentences, sentence)
    if not lists.list_lengths[number]:
        raise LuthierError(f"sentence {number} has no hypotheses. hint: take another one")
    problem = ListProblem.of(lists, as_metric(metric))
    vector = lists.features.signs if vector is None else vector
    found = explanation_of(
        problem, vector, int(np.count_nonzero(lists.list_lengths[:number]))
    )  # empty lists are left out
    return _explanation(problem, found, number)


def _number(ids: Any, n_sentences: int, sentence: int | str) -> int:
    """Return the number of a sentence in the pool."""
    if isinstance(sentence, str):
        known = [str(one) for one in ids]
        if sentence not in known:
            raise LuthierError(f"expected the id of a sentence, found {sentence!r}. hint: ids begin with {known[:3]}")
        return known.index(sentence)
    if isinstance(sentence, bool) or not isinstance(sentence, int | np.integer) or not 0 <= sentence < n_sentences:
        raise LuthierError(f"expected a sentence from 0 to {n_sentences - 1}, or its id, found {sentence!r}")
    return int(sentence)


def _explanation(problem: ListProblem, found: SentenceExplanation, number: int) -> Explanation:
    pool, names = problem.pool, problem.names
    first = int(problem.offsets[found.sentence])
    ranked = zip(found.rows.tolist(), found.scores.tolist(), found.metric_scores.tolist(), strict=True)
    return Explanation(
        sentence=number,
        sentence_id=pool.sentence_ids[found.sentence],
        metric=problem.metric.signature,
        hypotheses=tuple(Ranked(row - first, pool.texts[row], score, own) for row, score, own in ranked),
        contributions=tuple(dict(zip(names, row, strict=True)) for row in found.contributions.tolist()),
        second=found.second,
        oracle=found.oracle,
        flips=tuple(
            Flip(names[item.feature], item.change, item.effect, pool.texts[item.row]) for item in found.overturns
        ),
    )
